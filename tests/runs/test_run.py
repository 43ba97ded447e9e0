"""The run folder: whole files or none, no foreign file touched, damage told by name."""

import copy
import csv
import io
import json
import os
import sys
from pathlib import Path

import pytest
import torch

from novakind.config import Config, Objective, as_tables
from novakind.disk import csv_bytes, write_atomic
from novakind.errors import UserError
from novakind.modality.pixels import ImageViews
from novakind.runs.folder import Run, flatten
from novakind.toml import to_toml

SETTINGS = {"data": {"data": "photos", "kind": "image", "digest": "abc"}} | as_tables(Config(3, views=ImageViews()))


def begun(path: Path) -> Run:
    """A run with files of every kind."""
    run = Run.claim(path)
    run.settle(SETTINGS)
    run.log({"epoch": 1})
    run.checkpoint({"epochs": 1})
    (path / "store").mkdir()
    (path / "store" / "rows.bin").write_bytes(b"rows")
    return run


def names(path: Path) -> set[str]:
    return {child.name for child in path.iterdir()}


@pytest.mark.parametrize("earlier", [None, b"earlier"])
def test_an_atomic_write_is_whole_or_absent(tmp_path, monkeypatch, earlier):
    file = tmp_path / "file.json"
    if earlier is not None:
        file.write_bytes(earlier)
    with monkeypatch.context() as patch:  # the power fails before the rename
        patch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError("power")))
        with pytest.raises(UserError, match="power"):
            write_atomic(file, b"later")
    assert names(tmp_path) == ({"file.json"} if earlier else set())
    assert (file.read_bytes() if file.exists() else None) == earlier
    write_atomic(file, b"later")
    assert file.read_bytes() == b"later"
    assert names(tmp_path) == {"file.json"}


def test_a_run_is_claimed_settled_and_claimed_again(tmp_path):
    run = begun(tmp_path / "deep" / "er" / "run")
    before = run.config_file.read_bytes()
    again = Run.claim(run.path)
    again.settle(SETTINGS)
    assert run.config_file.read_bytes() == before
    assert flatten(again.settings()) == flatten(SETTINGS)
    assert names(run.path) == {"config.toml", "metrics.jsonl", "state.pt", "store"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"novel": 4}, "with novel = 3, not 4"),
        ({"prior": "1/2,'x'\n"}, """with prior = 'uniform', not "1/2,'x'\\\\n\""""),
        ({"objective.kl": 5.0}, "with objective.kl = 2.0, not 5.0"),
        ({"data.digest": "xyz"}, "with other data"),
        ({"data.digest": "xyz", "batch": 64, "seed": 7}, "with batch = 256, not 64"),
        ({"added": 1}, "with added = None, not 1"),
    ],
)
def test_other_settings_are_refused_and_the_first_is_named(tmp_path, change, told):
    run, other = begun(tmp_path / "run"), copy.deepcopy(SETTINGS)
    for dotted, value in change.items():
        *above, name = dotted.split(".")
        (other[above[0]] if above else other)[name] = value
    with pytest.raises(UserError, match=f"was begun {told}: give another folder with --out, or --fresh"):
        run.settle(other)
    assert flatten(run.settings()) == flatten(SETTINGS)


def test_a_setting_that_did_not_exist_then_is_as_by_default(tmp_path):
    run = begun(tmp_path / "run")
    with pytest.raises(UserError, match="was begun with flips = False, not True"):
        run.settle(SETTINGS | {"data": SETTINGS["data"] | {"reading": {"flips": True}}})
    run.settle(SETTINGS | {"data": SETTINGS["data"] | {"reading": {"flips": False}}})


def test_settings_hold_any_path(tmp_path):
    odd = SETTINGS | {"data": {"data": os.fsdecode(b"caf\xe9\n\"'"), "digest": "abc"}}
    run = Run.claim(tmp_path / "run")
    run.settle(odd)
    Run.claim(tmp_path / "run").settle(odd)
    assert run.settings()["data"] == odd["data"]


def test_fresh_removes_the_run_and_nothing_else(tmp_path):
    run = begun(tmp_path / "run")
    (run.path / "my notes.txt").write_text("keep")
    again = Run.claim(run.path)
    again.clear()
    again.settle(SETTINGS | {"novel": 9})
    assert names(run.path) == {"config.toml", "my notes.txt", "store"}
    assert run.settings()["novel"] == 9


@pytest.mark.parametrize("name", ["thesis.tex", "config.toml", "photos/1.png"])
def test_a_folder_of_someone_elses_files_is_refused_and_left_alone(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text('title = "not a run"')
    with pytest.raises(UserError, match="holds other files than a run: give a new or empty folder with --out"):
        Run.claim(tmp_path)
    assert (tmp_path / name).read_text() == 'title = "not a run"'


def test_a_folder_with_a_store_or_hidden_files_alone_is_taken(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / ".DS_Store").touch()
    (tmp_path / ".config.toml.part").touch()  # killed while it wrote its settings
    Run.claim(tmp_path).settle(SETTINGS)
    assert not (tmp_path / ".config.toml.part").exists()


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match=r"cannot be written \(.+\): .+ --out"):
            Run.claim(path)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="permissions do not stop this user")
def test_a_folder_without_permission(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(UserError, match="cannot be written"):
        Run.claim(tmp_path / "locked" / "run")


def test_no_run_and_damaged_settings_are_told(tmp_path):
    with pytest.raises(UserError, match=r"is no run folder, it has no config\.toml: give a folder that novakind"):
        Run(tmp_path).settings()
    for content in (b"novel = = 3", b"novel = 3\nnovel = 4", b'prior = "cut o', b"\xff\xfe\x00"):
        (tmp_path / "config.toml").write_bytes(content)
        with pytest.raises(UserError, match=r"config\.toml is damaged \(.+\): give --fresh"):
            Run(tmp_path).settings()


STATE = {
    "epochs": 3,
    "planned": 9,
    "model": {"weight": torch.arange(12.0).view(3, 4)},
    "kept": {"weight": torch.arange(12.0).view(3, 4)},
    "optimizer": {"state": {0: {"momentum": torch.ones(3)}}, "param_groups": [{"lr": 0.1, "params": [0]}]},
}


def saved_bytes() -> bytes:
    buffer = io.BytesIO()
    torch.save(STATE, buffer)
    return buffer.getvalue()


def test_a_checkpoint_comes_back(tmp_path):
    run = Run.claim(tmp_path)
    assert run.restore() is None
    run.checkpoint(STATE)
    saved = run.restore()
    assert saved["epochs"] == 3
    assert torch.equal(saved["model"]["weight"], STATE["model"]["weight"])
    assert saved["optimizer"]["param_groups"] == STATE["optimizer"]["param_groups"]
    assert names(tmp_path) == {"state.pt"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        bytes(1000),
        b"\x80\x02.",  # a pickle of nothing
        b"\x80\x02}q\x00(X\x01\x00\x00\x00aK\x01",  # a pickle cut off
        saved_bytes()[:-1],
        saved_bytes()[: len(saved_bytes()) // 2],
        saved_bytes()[:10],
        b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.",  # a pickle that would run a command
    ],
    ids=["empty", "garbage", "zeros", "nothing", "half a pickle", "one byte short", "half", "ten bytes", "a command"],
)
def test_a_damaged_checkpoint_is_named(tmp_path, content):
    (tmp_path / "state.pt").write_bytes(content)
    with pytest.raises(UserError, match=r"state\.pt is damaged \(.*\): delete it to train again") as caught:
        Run(tmp_path).restore()
    assert "\n" not in str(caught.value)


def test_the_history_ends_with_the_checkpoint(tmp_path):
    run = Run.claim(tmp_path)
    assert run.history(0) == []
    lines = [{"epoch": epoch, "seconds": 0.1, "loss/kl": 1 / epoch, "stage": "größer\u2028"} for epoch in range(1, 6)]
    for line in lines:
        run.log(line)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 6, "los')  # killed while it wrote
    assert run.history(3) == lines[:3]
    run.log(lines[3])
    assert run.history(4) == lines[:4]
    assert (tmp_path / "metrics.jsonl").read_text().count("\n") == 4
    assert run.history(0) == []


def test_tables_and_json_are_written(tmp_path):
    run = Run.claim(tmp_path)
    rows = [["a,b", 'say "hi"'], ["line\nbreak", "ü🦊"], [os.fsdecode(b"caf\xe9"), 1.5]]
    run.write_csv("table.csv", ["path", "label"], rows)
    text = (tmp_path / "table.csv").read_text(encoding="utf-8", errors="surrogateescape")
    assert list(csv.reader(io.StringIO(text)))[1:] == [[str(cell) for cell in row] for row in rows]
    assert csv_bytes(["path"], []) == b"path\n"
    run.write_json("results.json", {"kind": [1, None, "ü"]})
    assert json.loads((tmp_path / "results.json").read_text()) == {"kind": [1, None, "ü"]}
    assert names(tmp_path) == {"table.csv", "results.json"}


def test_flatten_names_with_dots():
    assert flatten({"a": 1, "b": {"c": {"d": 2}, "e": []}}) == {"a": 1, "b.c.d": 2, "b.e": []}
    assert to_toml({"b": {"c": {"d": 2}}}).strip() == "[b.c]\nd = 2"
    assert flatten(as_tables(Config(objective=Objective(kl=7))))["objective.kl"] == 7
