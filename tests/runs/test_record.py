"""A run folder that was damaged, or changed by somebody: one sentence with a way out, from every verb that reads it."""

import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import QUICK, picture, refused
from safetensors.torch import load_file, save_file

from novakind.app.cli import main
from novakind.errors import UserError
from novakind.model import load_model
from novakind.runs.discovery import Discovery
from novakind.runs.record import read_history, read_results, read_state

WORDS = ["discover", "photos", "--novel", "2", *QUICK, "--out", "run"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("whole")
    before = Path.cwd()
    os.chdir(root)
    try:
        for number in range(60):
            name = ("dark", "bright", "unlabeled", "unlabeled")[number % 4]
            picture(root / "photos" / name / f"{number}.png", 20 + 60 * (number % 4), number)
        assert main(WORDS) == 0
    finally:
        os.chdir(before)
    return root


@pytest.fixture
def run(whole, tmp_path, monkeypatch) -> Path:
    shutil.copytree(whole, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return Path("run")


def rewritten(file: Path, change) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


RESULTS = {
    "a list": lambda file: file.write_text("[]"),
    "deep": lambda file: file.write_text("[" * 100_000),
    "a huge number": lambda file: file.write_text('{"known": ' + "9" * 5000 + "}"),
    "no classes": lambda file: rewritten(file, lambda found: found.pop("classes")),
    "classes no list": lambda file: rewritten(file, lambda found: found.update(classes="abcd")),
    "a class no text": lambda file: rewritten(file, lambda found: found.update(classes=[1, 2, 3, 4])),
    "a class half a sign": lambda file: rewritten(file, lambda found: found["classes"].append("\ud800")),
    "a metric half a sign": lambda file: rewritten(file, lambda found: found.update(metrics={"\ud800": 1.0})),
    "a class twice": lambda file: rewritten(file, lambda found: found.update(classes=["a", "a", "b", "c"])),
    "too many known": lambda file: rewritten(file, lambda found: found.update(known=99)),
    "known no number": lambda file: rewritten(file, lambda found: found.update(known=True)),
    "metrics no table": lambda file: rewritten(file, lambda found: found.update(metrics=[1])),
    "a metric no number": lambda file: rewritten(file, lambda found: found.update(metrics={"a": "b"})),
    "warnings no list": lambda file: rewritten(file, lambda found: found.update(warnings={"a": 1})),
    "a pipe": lambda file: (file.unlink(), os.mkfifo(file)),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
    "a device": lambda file: (file.unlink(), file.symlink_to("/dev/zero")),
}


@pytest.mark.parametrize("damage", RESULTS)
def test_results_that_were_changed_are_refused(run, capsys, damage):
    RESULTS[damage](run / "results.json")
    for verb in (["export", "run", "--out", "out.csv"], ["report", "run"]):
        assert "run its novakind discover again" in refused(capsys, *verb)
    if damage != "a folder":
        assert main(WORDS) == 0  # the way out


ROWS = {
    "a number out of range": ("id", "7"),
    "a number below 0": ("id", "-1"),
    "a number that is none": ("id", "one"),
    "a huge number": ("id", "9" * 30),
    "another name": ("category", "somebody"),
    "no probability": ("probability", "nan"),
    "too probable": ("probability", "1.5"),
    "another split": ("split", "exam"),
    "an unknown label": ("label", "somebody"),
}


@pytest.mark.parametrize("damage", ROWS)
def test_predictions_that_were_changed_are_refused(run, capsys, damage):
    file = run / "predictions.csv"
    header, first, *rest = file.read_text().splitlines()
    cells = first.split(",")
    cells[header.split(",").index(ROWS[damage][0])] = ROWS[damage][1]
    file.write_text("\n".join([header, ",".join(cells), *rest]))
    assert "predictions.csv is damaged" in refused(capsys, "export", "run", "--out", "out.csv")


def test_arrays_that_do_not_agree_are_refused(run, capsys):
    with np.load(run / "embeddings.npz") as arrays:
        embedding, logp = arrays["embedding"], arrays["logp"]
    changed = {
        "one row less": {"embedding": embedding[1:], "logp": logp},
        "one class less": {"embedding": embedding, "logp": logp[:, 1:]},
        "objects": {"embedding": embedding.astype(object), "logp": logp},
        "words": {"embedding": embedding.astype(str), "logp": logp},
        "one dimension": {"embedding": embedding[:, 0], "logp": logp},
        "no vector": {"embedding": embedding * np.nan, "logp": logp},
        "too far": {"embedding": np.full_like(embedding, 1e30), "logp": logp},
        "no column": {"embedding": embedding[:, :0], "logp": logp},
        "no logarithm": {"embedding": embedding, "logp": logp + 5},
        "no number": {"embedding": embedding, "logp": logp * np.nan},
        "nothing": {},
    }
    for arrays in changed.values():
        np.savez(run / "embeddings.npz", **arrays)
        assert "run its novakind discover again" in refused(capsys, "export", "run", "--out", "out.csv")


SETTINGS = {
    "no TOML": lambda text: "= = =",
    "binary": lambda text: "\0\1\2",
    "empty": lambda text: "",
    "data no table": lambda text: "data = 5\n",
    "val out of range": lambda text: text.replace("val = ", "val = 7 #"),
    "test out of range": lambda text: text.replace("test = ", "test = -3.0 #"),
    "a list for a kind": lambda text: text.replace('kind = "image"', "kind = [1]"),
    "a strange setting": lambda text: text.replace("[data]", "[data]\nstrange = 1"),
    "size no number": lambda text: text.replace("size = ", 'size = "x" #'),
}


@pytest.mark.parametrize("damage", SETTINGS)
def test_settings_that_were_changed_are_refused_and_fresh_helps(run, capsys, damage):
    """The advice that is given is then followed."""
    config = run / "config.toml"
    config.write_text(SETTINGS[damage](config.read_text()))
    assert "--fresh" in refused(capsys, "report", "run") or damage == "empty"
    code = main(WORDS)
    printed = capsys.readouterr().err
    assert code == 0 or "--fresh" in printed
    assert "Traceback" not in printed
    assert main([*WORDS, "--fresh"]) == 0
    assert main(["report", "run"]) == 0


def test_a_folder_that_is_nobodys_run_is_still_refused(run, capsys):
    (run / "config.toml").write_text("")
    (run / "thesis.txt").write_text("years of work")
    assert "holds other files than a run" in refused(capsys, *WORDS, "--fresh")
    assert (run / "thesis.txt").exists()
    assert (run / "state.pt").exists()


def damaged_states(state):
    yield {**state, "epochs": -1}
    yield {**state, "epochs": "two"}
    yield {**state, "epochs": 99}
    yield {**state, "planned": 0}
    yield {**state, "planned": 10**12}
    yield {**state, "model": {}}
    yield {**state, "model": [1, 2]}
    yield {**state, "kept": {name: tensor[:1] for name, tensor in state["kept"].items() if tensor.ndim}}
    yield {**state, "optimizer": {}}
    yield {**state, "optimizer": {"state": {}, "param_groups": []}}
    yield {key: value for key, value in state.items() if key != "planned"}
    yield [state]
    yield 5


def test_checkpoints_that_were_changed_are_refused(run, capsys):
    file = run / "state.pt"
    state = read_state(file)
    assert state is not None
    for changed in damaged_states(state):
        torch.save(changed, file)
        sentence = refused(capsys, *WORDS)
        assert "state.pt" in sentence
        assert "delete it" in sentence
    file.unlink()
    assert main(WORDS) == 0


LINES = {
    "no JSON": b"garbage\n",
    "a list": b"[1]\n",
    "another epoch": b'{"epoch": 7, "seconds": 1.0, "stage": "discover"}\n',
    "no seconds": b'{"epoch": 1, "stage": "discover"}\n',
    "seconds below 0": b'{"epoch": 1, "seconds": -1, "stage": "discover"}\n',
    "seconds no number": b'{"epoch": 1, "seconds": "a", "stage": "discover"}\n',
    "nothing": b"",
}


@pytest.mark.parametrize("damage", LINES)
def test_a_history_that_was_changed_is_refused(run, capsys, damage):
    file = run / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([LINES[damage], *lines[1:]]))
    assert "metrics.jsonl is damaged" in refused(capsys, *WORDS)
    assert main([*WORDS, "--fresh"]) == 0


def test_a_torn_last_line_is_no_damage(run):
    with (run / "metrics.jsonl").open("ab") as file:
        file.write(b'{"epoch": 3, "sec')
    assert [line["epoch"] for line in read_history(run / "metrics.jsonl")] == [1, 2]
    assert main(WORDS) == 0


def cards(card):
    yield "no JSON"
    yield []
    yield {key: value for key, value in card.items() if key != "dim"}
    for name, value in {
        "dim": 0,
        "tau": -1.0,
        "known": 99,
        "head": "strange",
        "encoder": "strange",
        "categories": ["a", "\ud800", "b", "c"],
        "modality": {"kind": "smell"},
        "origin": {"name": "hf:somebody/else"},
        "more": 1,
    }.items():
        yield {**card, name: value}
    yield {**card, "categories": ["a", "a", "b", "c"]}
    for name, value in {"size": 10**9, "mean": ["a"], "std": [], "seen": -5}.items():
        yield {**card, "modality": {**card["modality"], name: value}}


def test_cards_that_were_changed_are_refused(run, capsys):
    """Nothing is built, and no memory taken, before the card agrees with the tensors."""
    file = run / "model.safetensors"
    tensors, card = load_file(file), card_of(file)
    for changed in cards(card):
        text = changed if isinstance(changed, str) else json.dumps(changed)
        save_file(tensors, file, {"card": text})
        assert "model.safetensors is damaged" in refused(capsys, "predict", "run", "photos/dark")
    for name in ("embed.weight", "embed.bias"):
        save_file({key: tensor for key, tensor in tensors.items() if key != name}, file, {"card": json.dumps(card)})
        assert "model.safetensors is damaged" in refused(capsys, "predict", "run", "photos/dark")
    save_file({**tensors, "embed.bias": tensors["embed.bias"] * np.nan}, file, {"card": json.dumps(card)})
    assert "no finite number" in refused(capsys, "predict", "run", "photos/dark")
    assert main(WORDS) == 0
    assert main(["predict", "run", "photos/dark"]) == 0


def card_of(file: Path) -> dict:
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["card"])


def test_nothing_that_is_pickled_is_run(run, capsys):
    """Neither by state.pt nor by embeddings.npz."""

    class Trap:
        def __reduce__(self):
            return os.mkdir, ("trapped",)

    torch.save({"epochs": Trap()}, run / "state.pt")
    refused(capsys, *WORDS)
    buffer = io.BytesIO()
    np.savez(buffer, embedding=np.array([Trap()], dtype=object), logp=np.zeros((1, 1)))
    (run / "embeddings.npz").write_bytes(buffer.getvalue())
    refused(capsys, "export", "run", "--out", "out.csv")
    assert not Path("trapped").exists()


def test_what_is_whole_is_read(run):
    assert read_results(run)["known"] == 2
    assert len(Discovery.load(run).paths) == 60
    assert load_model(run / "model.safetensors").card.known == 2
    with pytest.raises(UserError, match=r"has no predictions\.csv"):
        Discovery.load(run / "nothing")
