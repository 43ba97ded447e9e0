"""Exports in the forms of other tools, and the way back: `discover` reads labels, and never a suggestion as one."""

import csv
import json
import shutil
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from runs import HOSTILE
from small import shapes_folder

from novakind.app.cli import main
from novakind.data.files import load
from novakind.data.paths import kind_of, list_items
from novakind.errors import UserError
from novakind.modality.image import Image
from novakind.modality.series import SeriesReading
from novakind.modality.text import Text
from novakind.results import export as exports
from novakind.results.outcome import outcome

QUICK = ["--novel", "2", "--epochs", "1", "--batch", "40", "--quiet"]
FORMS = {"csv": "out.csv", "npz": "out.npz"}


@pytest.fixture(scope="module")
def place(tmp_path_factory, one_thread):
    """A finished run on a folder of pictures."""
    folder = tmp_path_factory.mktemp("forms")
    shapes_folder(folder / "shapes")
    run = ["discover", str(folder / "shapes"), "--preset", "glyphs", "--out", str(folder / "run"), *QUICK]
    assert main(run) == 0
    return folder


@pytest.fixture
def reviewed(place, monkeypatch):
    """What a person made of it: of the first 80 unlabeled items ten confirmed, five ignored."""
    statuses = {}

    def decided(discovery):
        found = outcome(discovery)
        free = [number for number, label in enumerate(discovery.labels) if not label]
        status, category = list(found.status), list(found.category)
        for number in free[:10]:
            status[number], category[number] = "confirmed", HOSTILE
        for number in free[10:15]:
            status[number] = "ignored"
        statuses.update(zip(found.paths, status, strict=True))
        label = [name if said in ("labeled", "confirmed") else "" for name, said in zip(category, status, strict=True)]
        return replace(found, status=status, category=category, label=label, names=(*found.names, HOSTILE))

    monkeypatch.setattr(exports, "outcome", decided)
    return statuses


@pytest.mark.parametrize("form", ["csv", "npz", "imagefolder", "fiftyone", "labelstudio", "folders"])
def test_discover_reads_back_what_is_labeled_and_confirmed_and_nothing_else(place, reviewed, tmp_path, form):
    out = tmp_path / FORMS.get(form, "out")
    more = ["--everything"] if form == "folders" else []
    assert main(["export", str(place / "run"), "--to", form, "--out", str(out), *more]) == 0
    back = load(out, tmp_path / "store")
    labels = [back.classes[number] if number >= 0 else "" for number in back.labels]
    assert kind_of(out) is Image
    assert sorted(back.classes) == sorted([*load(place / "shapes", tmp_path / "other").classes, HOSTILE])
    assert len(back) == len(reviewed) - 5
    assert labels.count(HOSTILE) == 10
    assert labels.count("") == list(reviewed.values()).count("suggested")
    given = load(place / "shapes", tmp_path / "other")
    first = {bytes(row.tobytes()): given.classes[n] if n >= 0 else "" for row, n in zip(given.items, given.labels)}  # noqa: B905
    for row, label in zip(back.items, labels, strict=True):
        assert label in (first[bytes(row.tobytes())], HOSTILE)


@pytest.mark.parametrize("form", ["imagefolder", "fiftyone", "labelstudio", "folders"])
def test_exporting_again_changes_no_file(place, reviewed, tmp_path, form):
    words = ["export", str(place / "run"), "--to", form, "--out", str(tmp_path / "out")]
    assert main(words) == 0
    files = {file: file.read_bytes() for file in (tmp_path / "out").rglob("*") if file.is_file()}
    assert main(words) == 0
    assert {file: file.read_bytes() for file in (tmp_path / "out").rglob("*") if file.is_file()} == files


def test_a_file_that_a_person_moved_between_exported_folders_has_the_label_of_its_folder(place, tmp_path):
    out = tmp_path / "out"
    assert main(["export", str(place / "run"), "--to", "folders", "--out", str(out)]) == 0
    with (out / "categories.csv").open(newline="") as file:
        moved = out / next(csv.DictReader(file))["path"]
    (out / "mine").mkdir()
    moved.rename(out / "mine" / moved.name)
    back = load(out, tmp_path / "store")
    assert back.classes == ("mine",)
    assert back.paths[int(np.flatnonzero(back.labels == 0)[0])] == f"mine/{moved.name}"


def test_a_second_export_after_a_merge_leaves_no_file_in_two_folders(place, tmp_path, monkeypatch):
    out = tmp_path / "out"
    words = ["export", str(place / "run"), "--to", "folders", "--out", str(out)]
    assert main(words) == 0
    (out / "new-1").mkdir(exist_ok=True)
    (out / "new-1" / "own.png").write_bytes(b"a person's own")
    monkeypatch.setattr(
        exports, "outcome", lambda found: replace(outcome(found), category=["all"] * len(found.paths), names=("all",))
    )
    assert main(words) == 0
    assert len(list((out / "all").iterdir())) == 80
    assert [
        file.name for folder in out.iterdir() if folder.is_dir() and folder.name != "all" for file in folder.iterdir()
    ] == ["own.png"]


def test_label_studio_gets_tasks_and_a_config_that_is_xml(place, reviewed, tmp_path):
    out = tmp_path / "out"
    assert main(["export", str(place / "run"), "--to", "labelstudio", "--out", str(out)]) == 0
    tasks = json.loads((out / "tasks.json").read_text())
    config = ElementTree.parse(out / "config.xml").getroot()
    assert HOSTILE in [choice.get("value") for choice in config.iter("Choice")]
    confirmed = [task for task in tasks if task["data"]["status"] == "confirmed"]
    assert confirmed[0]["annotations"][0]["result"][0]["value"]["choices"] == [HOSTILE]
    assert all((out / task["data"]["path"]).is_file() for task in tasks)
    assert all(task["data"]["image"].startswith("/data/local-files/?d=out/data/") for task in tasks)
    suggested = next(task for task in tasks if task["data"]["status"] == "suggested")
    assert 0 < suggested["predictions"][0]["score"] <= 1
    assert "annotations" not in suggested


def test_what_people_annotate_in_label_studio_comes_back_as_labels(place, tmp_path):
    out = tmp_path / "out"
    assert main(["export", str(place / "run"), "--to", "labelstudio", "--out", str(out), "--link"]) == 0
    tasks = json.loads((out / "tasks.json").read_text())
    answer = {"result": [{"type": "choices", "value": {"choices": ["star"]}}]}
    free = [task for task in tasks if "annotations" not in task]
    free[0] |= {"annotations": [answer], "id": 7}
    free[1] |= {"annotations": [answer | {"was_cancelled": True}]}
    (out / "project-export.json").write_text(json.dumps(tasks))
    back = load(out / "project-export.json", tmp_path / "store")
    assert (back.labels == back.classes.index("star")).sum() == 1


def test_two_files_that_differ_in_their_endings_alone_stay_two_for_fiftyone(tmp_path, place):
    copy = tmp_path / "shapes"
    shutil.copytree(place / "shapes", copy)
    first = sorted((copy / "unlabeled").iterdir())[0]
    shutil.copy(sorted((copy / "unlabeled").iterdir())[1], first.with_suffix(".bmp"))
    run = ["discover", str(copy), "--preset", "glyphs", "--out", str(tmp_path / "run"), *QUICK]
    assert main(run) == 0
    assert main(["export", str(tmp_path / "run"), "--to", "fiftyone", "--out", str(tmp_path / "out")]) == 0
    assert len(json.loads((tmp_path / "out" / "labels.json").read_text())["labels"]) == 161
    assert len(load(tmp_path / "out", tmp_path / "store")) == 161


def test_vectors_come_back_from_an_npz(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 8)).astype(np.float32), np.array(["a"] * 30 + ["b"] * 30 + [""] * 60)
    np.savez(tmp_path / "vectors.npz", X=X, y=y)
    assert main(["discover", str(tmp_path / "vectors.npz"), "--out", str(tmp_path / "run"), *QUICK]) == 0
    assert main(["export", str(tmp_path / "run"), "--out", str(tmp_path / "out.npz")]) == 0
    back = load(tmp_path / "out.npz", tmp_path / "store")
    np.testing.assert_array_equal(back.items, X)
    assert back.classes == ("a", "b")
    assert (back.labels < 0).sum() == 60


def test_texts_come_back_from_every_form_that_can_hold_them(tmp_path):
    rows = [
        {"text": f"{word} number {n}", "label": word if n % 2 else ""} for n in range(30) for word in ("sun", "sea")
    ]
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(["discover", str(tmp_path / "said.jsonl"), "--out", str(tmp_path / "run"), *QUICK]) == 0
    for out, form in (("out.csv", "csv"), ("out.npz", "npz"), ("out", "labelstudio")):
        assert main(["export", str(tmp_path / "run"), "--to", form, "--out", str(tmp_path / out)]) == 0
        assert kind_of(tmp_path / out) is Text
        back = list_items(tmp_path / out).arrays
        assert back is not None
        assert back["X"].tolist() == [row["text"] for row in rows]
        assert back["y"].tolist() == [row["label"] for row in rows]


def test_windows_of_recordings_come_back_from_label_studio(tmp_path):
    for folder, pace in (("still", 0.0), ("unlabeled", 5.0)):
        times = np.arange(1500) / 50
        file = tmp_path / "moves" / folder / "0.csv"
        file.parent.mkdir(parents=True)
        np.savetxt(
            file, np.stack([times, np.sin(2 * np.pi * pace * times)], 1), "%.4f", ",", header="time,x", comments=""
        )
    quick = [
        "--novel",
        "1",
        "--epochs",
        "1",
        "--batch",
        "10",
        "--quiet",
        "--window",
        "2s",
        "--out",
        str(tmp_path / "run"),
    ]
    assert main(["discover", str(tmp_path / "moves"), *quick]) == 0
    assert main(["export", str(tmp_path / "run"), "--to", "labelstudio", "--out", str(tmp_path / "out")]) == 0
    back = load(tmp_path / "out", tmp_path / "store", SeriesReading(window="2s"))
    assert back.classes == ("still",)
    assert 2 * (back.labels == 0).sum() == len(back)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "holds no JSON"),
        ("[]", "holds no item"),
        ('{"a": 1}', "neither a list"),
        ("[1]", "no data in task 0"),
        ('[{"data": {"x": 1}}]', "neither a file nor a text"),
        ('[{"data": {"path": "a.png"}}, {"data": {"path": "a.png"}}]', "more than once"),
    ],
)
def test_json_that_is_no_form_is_refused_in_a_sentence(put, tmp_path, content, said):
    with pytest.raises(UserError, match=said):
        load(put(content, "tasks.json"), tmp_path / "store")


@pytest.mark.parametrize("label", ["[1]", "0.5", "true", "NaN", '{"label": [0]}'])
def test_a_label_of_fiftyone_that_is_neither_name_nor_number_is_refused(put, tmp_path, label):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.png").touch()
    with pytest.raises(UserError, match="a name or the number of a class"):
        load(put(f'{{"classes": ["x"], "labels": {{"a": {label}}}}}', "labels.json"), tmp_path / "store")


def test_a_table_whose_rows_are_all_to_be_ignored_is_refused(put, tmp_path):
    with pytest.raises(UserError, match="every row"):
        load(put("path,label,status\na.png,,ignored\n", "a.csv"), tmp_path / "store")
