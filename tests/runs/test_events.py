"""--log tensorboard: the numbers of metrics.jsonl, as TensorBoard reads them."""

import json
import sys

import pytest
from short import QUICK, blobs, fit_until

from novakind.app.cli import main
from novakind.data.split import part
from novakind.runs.folder import Run


def read(folder) -> dict[str, dict[int, object]]:
    """By name, what TensorBoard shows of each step."""
    pytest.importorskip("tensorboard", reason="needs tensorboard, which the extra dev installs")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    shown = EventAccumulator(str(folder))
    shown.Reload()
    tags = shown.Tags()
    found = {name: {one.step: one.value for one in shown.Scalars(name)} for name in tags["scalars"]}
    for name in tags["tensors"]:
        found[name] = {one.step: one.tensor_proto.string_val[0].decode() for one in shown.Tensors(name)}
    return found


def assert_same(folder):
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    shown = read(folder)
    assert shown.keys() == {name for line in lines for name in line} - {"epoch"}
    for line in lines:
        for name, value in line.items():
            if name != "epoch":
                expected = value if isinstance(value, str) else pytest.approx(value, rel=1e-6, nan_ok=True)
                assert shown[name][line["epoch"]] == expected
    assert {step for steps in shown.values() for step in steps} == {line["epoch"] for line in lines}


def test_a_run_that_goes_on_shows_each_epoch_once(tmp_path):
    pytest.importorskip("tensorboard", reason="needs tensorboard, which the extra dev installs")
    from novakind.runs.events import Logged

    collection = blobs()
    split = part(collection, 0.1, 0.2)
    fit_until(3, collection, split, QUICK, Logged(Run.claim(tmp_path / "run")))
    Logged(Run(tmp_path / "run")).log({"epoch": 4, "loss/ce": 1.0})  # an epoch without its checkpoint
    run = Logged(Run(tmp_path / "run"))
    run.history(3)
    run.log({"epoch": 4, "stage": "discover", "loss/ce": 0.5, "warning": "collapsed"})
    assert_same(run.run.path)


def test_a_command_writes_them_and_tells_what_it_needs(tmp_path, monkeypatch, capsys):
    from small import shapes_folder

    shapes_folder(tmp_path / "shapes")
    monkeypatch.chdir(tmp_path)
    words = "discover shapes --novel 2 --epochs 1 --preset glyphs --batch 40 --quiet --log tensorboard --out".split()  # noqa: SIM905
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "tensorboard", None)
        for name in [name for name in sys.modules if name.startswith("tensorboard.")]:
            patch.delitem(sys.modules, name)
        assert main([*words, "without"]) == 2
    assert "pip install 'novakind[tensorboard]'" in capsys.readouterr().err
    pytest.importorskip("tensorboard", reason="needs tensorboard, which the extra dev installs")
    assert main([*words, "run"]) == 0
    assert_same(tmp_path / "run")
