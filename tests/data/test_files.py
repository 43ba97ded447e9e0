"""Recordings on disk through the whole of novakind: cut, sorted, reported, predicted; every flawed file is named."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from novakind import Discoverer
from novakind.app.cli import main
from novakind.app.discover import assemble
from novakind.data.files import load
from novakind.errors import UserError
from novakind.modality.series import SeriesReading, samples
from novakind.objective.metrics import clustering_acc

RATE = 50
PACES = {"still": 0.0, "walk": 2.0, "swing": 0.7, "shake": 5.0}  # Hz; the last two are hidden


def motion(kind: str, seconds: float, seed: int, rate: float = RATE) -> np.ndarray:
    rng = np.random.default_rng(seed)
    times = np.arange(round(seconds * rate))[:, None] / rate
    wave = 3 * np.sin(2 * np.pi * PACES[kind] * times * [1, 1, 2] + rng.uniform(0, 6, 3)) if PACES[kind] else 0
    return wave + np.array([0, 9.8, 0]) + rng.normal(0, 0.2, (len(times), 3))


def write(file: Path, values: np.ndarray, header: str = "time,x,y,z", rate: float = RATE, separator: str = ",") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    table = np.column_stack([np.arange(len(values)) / rate, values])
    lines = [separator.join("" if np.isnan(cell) else f"{cell:.4f}" for cell in row) for row in table]
    text = "\n".join([header, *lines])
    file.write_text(text.replace(".", ",") if separator == ";" else text, encoding="utf-8")


@pytest.fixture
def recordings(tmp_path) -> Path:
    """Two known activities, two hidden ones."""
    root = tmp_path / "data"
    for number, kind in enumerate(PACES):
        for take in range(3):
            folder = kind if number < 2 else "unlabeled"
            write(root / folder / f"{kind}{take}.csv", motion(kind, 40, 10 * number + take))
    return root


def names_of(collection) -> set[str]:
    return {path.split("@")[0] for path in collection.paths}


def test_recordings_are_cut_into_windows(recordings, tmp_path):
    collection = load(recordings, tmp_path / "store", SeriesReading(window="3s", hop="1.5s"))
    assert collection.modality.shape == (3, 150)
    assert collection.modality.settings()["rate"] == 50
    assert len(collection) == 12 * 25
    assert collection.paths[:2] == ("still/still0.csv@0.0s", "still/still0.csv@1.5s")
    assert collection.classes == ("still", "walk")
    assert len(set(collection.groups["file"])) == 12
    np.testing.assert_allclose(collection.items[1].T, motion("still", 40, 0)[75:225], atol=1e-4)
    again = load(recordings, tmp_path / "store", SeriesReading(window="3s", hop="1.5s"))  # from the store
    np.testing.assert_array_equal(again.items, collection.items)
    other = load(recordings, tmp_path / "store", SeriesReading(window="2s", rate=25))  # cut anew
    assert other.modality.shape == (3, 50)


def test_a_file_is_one_item_without_a_window(tmp_path):
    for number in range(9):
        write(tmp_path / "data" / "walk" / f"{number}.csv", motion("walk", 4 + 0.1 * (number - 4), number))
    write(tmp_path / "data" / "unlabeled" / "short.csv", motion("walk", 1.5, 1))
    write(tmp_path / "data" / "unlabeled" / "fine.csv", motion("walk", 4, 1))
    collection = load(tmp_path / "data", tmp_path / "store")
    assert collection.modality.shape == (3, 200)
    assert len(collection) == 10
    assert "walk/3.csv" in collection.paths
    ((name, reason),) = collection.skipped
    assert name == "unlabeled/short.csv"
    assert "1.5 s" in reason


def spoil(root: Path) -> dict[str, str]:
    """Files that cannot be used, with a piece of the reason that is to be given."""
    folder = root / "unlabeled"
    write(folder / "short.csv", motion("walk", 1.2, 1))
    write(folder / "no_z.csv", motion("walk", 10, 1)[:, :2], "time,x,y")
    write(folder / "all_missing.csv", np.full((500, 3), np.nan))
    (folder / "empty.csv").write_text("")
    (folder / "words.csv").write_text("time,x,y,z\nall,of,it,words\n")
    (folder / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9)
    return {
        "short.csv": "1.2 s",
        "no_z.csv": 'no channel "z"',
        "all_missing.csv": "no numbers",
        "empty.csv": "empty",
        "words.csv": "no number",
        "picture.csv": "",
    }


def test_flawed_recordings_are_named_and_stop_nothing(recordings, tmp_path):
    reasons = spoil(recordings)
    collection = load(recordings, tmp_path / "store", SeriesReading(window="3s"))
    skipped = {Path(name).name: reason for name, reason in collection.skipped}
    assert set(skipped) == set(reasons)
    for name, reason in reasons.items():
        assert reason in skipped[name], (name, skipped[name])
        assert "\n" not in skipped[name]
    assert len(names_of(collection)) == 12


def test_odd_recordings_are_read(recordings, tmp_path):
    folder = recordings / "unlabeled"
    write(folder / "german.csv", motion("walk", 10, 1), "Zeit (s);X;Y;Z", separator=";")
    write(folder / "faster.csv", motion("walk", 10, 1, 100), rate=100)
    gap = motion("walk", 20, 1)
    gap[100:105], gap[400:600] = np.nan, np.nan  # a tenth of a second is filled in, four seconds are left out
    write(folder / "gap.csv", gap)
    constant = motion("walk", 10, 1)
    constant[:, 1] = 5.0
    write(folder / "constant.csv", constant)
    collection = load(recordings, tmp_path / "store", SeriesReading(window="3s", hop="1s"))
    assert collection.skipped == ()
    items = {
        name: collection.items[[path.startswith(f"unlabeled/{name}") for path in collection.paths]]
        for name in ("german", "faster", "gap", "constant")
    }
    assert len(items["german"]) == len(items["faster"]) == len(items["constant"]) == 8
    assert 6 <= len(items["gap"]) <= 12
    assert all(np.isfinite(rows).all() for rows in items.values())
    np.testing.assert_allclose(items["german"][0].T, motion("walk", 10, 1)[:150], atol=1e-3)


def test_a_manifest_names_recordings(recordings, tmp_path):
    lines = [
        f"{path.relative_to(recordings)},{'' if 'unlabeled' in path.parts else path.parent.name}"
        for path in sorted(recordings.rglob("*.csv"))
    ]
    (recordings / "list.csv").write_text("\n".join(["path,label", *lines]))
    collection = load(recordings / "list.csv", tmp_path / "store", SeriesReading(window="3s"))
    assert len(names_of(collection)) == 12
    assert collection.classes == ("still", "walk")


def test_series_in_an_npz(tmp_path):
    X = np.stack([motion(kind, 2, seed) for seed in range(10) for kind in PACES])
    np.savez(tmp_path / "series.npz", X=X, y=np.array(["still", "walk", "", ""] * 10))
    collection = load(tmp_path / "series.npz", tmp_path / "store")
    assert collection.modality.shape == (3, 100)
    np.testing.assert_allclose(collection.items[5], X[5].T, rtol=1e-5)
    X[3, 7, 1] = np.nan
    np.savez(tmp_path / "series.npz", X=X, y=np.zeros(40))
    with pytest.raises(UserError, match="1 values that are not finite numbers, the first in row 3"):
        load(tmp_path / "series.npz", tmp_path / "store")


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        (SeriesReading(window="soon"), "--window soon is no length of time: write 3s, 500ms, or 150 for samples"),
        (SeriesReading(window="1.5"), "--window 1.5 is no length of time"),
        (SeriesReading(window="20ms"), "--window 20ms is 1 samples, but at least 8 are needed"),
        (SeriesReading(window="3s", hop="0s"), "--hop 0s is no step forward"),
        (SeriesReading(hop="1s"), "--hop 1s is for recordings that are cut into windows: give --window too"),
        (SeriesReading(window="900s"), "none of the 12 files in .* can be read as recordings"),
    ],
)
def test_readings_that_cannot_be_are_refused(recordings, tmp_path, reading, message):
    with pytest.raises(UserError, match=message):
        load(recordings, tmp_path / "store", reading)


def test_seconds_need_a_rate(tmp_path):
    for kind in ("walk", "unlabeled"):
        file = tmp_path / "data" / kind / "a.csv"
        file.parent.mkdir(parents=True)
        np.savetxt(file, motion("walk", 10, 1), "%.3f", ",")  # neither header nor time
    with pytest.raises(UserError, match="--window 3s needs the samples per second"):
        load(tmp_path / "data", tmp_path / "store", SeriesReading(window="3s"))
    assert len(load(tmp_path / "data", tmp_path / "store", SeriesReading(window="3s", rate=50))) == 2 * 5
    assert len(load(tmp_path / "data", tmp_path / "store", SeriesReading(window="100"))) == 2 * 9


def test_lengths_of_time():
    assert [samples("--window", text, 50) for text in ("3s", "1.5s", "500ms", "150", " 2 s ", ".5s")] == [
        *(150, 75, 25, 150, 100, 25)
    ]


def test_pictures_have_no_window(tmp_path):
    (tmp_path / "data" / "a").mkdir(parents=True)
    (tmp_path / "data" / "a" / "1.png").write_bytes(b"")
    with pytest.raises(UserError, match=r"--window 3s is for recordings, and .*data holds pictures: leave it out"):
        assemble(str(tmp_path / "data"), "auto", {"window": "3s"})


def test_recordings_have_no_size_and_no_negative_rate(recordings):
    with pytest.raises(UserError, match=r"--size 32 is for pictures and videos, and .* holds recordings: leave it out"):
        assemble(str(recordings), "auto", {"size": 32})
    with pytest.raises(UserError, match="--rate -5 is out of range"):
        assemble(str(recordings), "auto", {"window": "3s", "rate": -5})


def test_the_whole_way_of_recordings(recordings, tmp_path, monkeypatch, capsys):
    """discover finds the hidden movements; predict, report and export work on what it wrote."""
    monkeypatch.chdir(tmp_path)
    spoil(recordings)
    command = "discover data --novel 2 --window 2s --hop 1s --epochs 12 --batch 64 --val 0.2 --out run".split()  # noqa: SIM905
    assert main(command) == 0
    with (tmp_path / "run" / "predictions.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["path"].startswith("unlabeled")]
    kinds = np.array([row["path"].split("/")[1][:5] for row in rows])
    found = np.array([row["category"] for row in rows])
    majority = {
        kind: max(set(found[kinds == kind]), key=list(found[kinds == kind]).count) for kind in ("swing", "shake")
    }
    assert set(majority.values()) == {"new-1", "new-2"}
    assert np.mean([majority[kind] == category for kind, category in zip(kinds, found, strict=True)]) > 0.9
    assert len((tmp_path / "run" / "skipped.csv").read_text().splitlines()) == 7
    assert json.loads((tmp_path / "run" / "results.json").read_text())["split"] == "file"

    write(tmp_path / "new.csv", motion("shake", 5, 99))
    capsys.readouterr()
    assert main(["predict", "run", "new.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "path,category,probability"
    assert lines[1].startswith(f"new.csv@0.0s,{majority['shake']}")
    assert len(lines) == 1 + 4
    assert main(["report", "run"]) == 0
    assert "time in seconds" in (tmp_path / "run" / "report.html").read_text()
    assert main(["export", "run", "--out", "sorted"]) == 2
    assert "windows of recordings and only files go into folders: export csv" in capsys.readouterr().err
    assert main(["export", "run", "--out", "sorted.csv"]) == 0


def test_the_example_names_activities(tmp_path):
    example = Path(__file__).parents[2] / "examples" / "sensor_recordings.py"
    assert len(example.read_text().splitlines()) < 100
    for words in (["--make-up"], ["recordings", "--epochs", "25", "--name", "new-1=rowing"]):
        done = subprocess.run(
            [sys.executable, example, *words], cwd=tmp_path, capture_output=True, text=True, check=True
        )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert {line[-1] for line in lines} == {"rowing", "new-2"}
    assert all(line[0] == "unlabeled/evening.csv" for line in lines)


def test_discoverer_takes_series():
    X = np.stack([motion(kind, 2, seed) for seed in range(40) for kind in PACES])
    y = np.tile([0, 1, -1, -1], 40)
    found = Discoverer(n_novel=2, preset="sensors", settings={"batch": 40}, epochs=60, random_state=0).fit(X, y)
    hidden = np.tile([0, 1, 2, 3], 40)[y < 0]
    assert set(found.labels_[y < 0]) == {2, 3}
    assert clustering_acc(hidden - 2, found.labels_[y < 0] - 2) > 0.9
    assert found.predict(X[:4]).shape == (4,)
    with pytest.raises(UserError, match=r"recordings of shape \(3, 50\), but the model was trained on recordings"):
        found.predict(X[:, :50])
