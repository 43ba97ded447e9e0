"""Data sets of body-worn sensors in their official layouts, and splits by person, by recording and by window."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from novakind.app.cli import main
from novakind.data.files import quiet
from novakind.data.source import Source
from novakind.data.split import hide, part, subset
from novakind.datasets import DATASETS
from novakind.datasets.gather import gather
from novakind.datasets.sensors import DAILY, FALLS, MOBIACT, USC_HAD
from novakind.errors import UserError
from novakind.modality.series import SeriesReading


def motion(activity: int, length: int, seed: int, channels: int = 3) -> np.ndarray:
    """Each activity swings at a frequency and height of its own: (length, channels)."""
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0, 2 * np.pi, channels)
    times = np.arange(length)[:, None] / 50
    wave = (1 + activity % 3) * np.sin(2 * np.pi * (0.7 + 0.5 * activity) * times + phase)
    return wave + rng.normal(0, 0.1, (length, channels)) + [9.8, *[0] * (channels - 1)]


@pytest.fixture(scope="module")
def trial_files(tmp_path_factory) -> Path:
    """Small MobiAct and USC-HAD in the layout of the trial files: 6 people, one 12 s trial of each activity."""
    root = tmp_path_factory.mktemp("sensors")
    for file, activities, channels in (
        ("mobiact/mobiact_acc_50hz.npz", 13, 3),
        ("usc-had/usc_had_acc_gyro_50hz.npz", 12, 6),
    ):
        marks = [(activity, subject) for activity in range(activities) for subject in range(1, 7)]
        signal = np.concatenate([motion(a, 600, 100 * a + s, channels) for a, s in marks]).astype(np.float32)
        (root / file).parent.mkdir()
        np.savez(
            root / file,
            signal=signal,
            start=np.arange(len(marks) + 1) * 600,
            activity=np.array([a for a, _ in marks]),
            subject=np.array([s for _, s in marks]),
            trial=np.ones(len(marks), int),
        )
    return root


def test_mobiact_is_its_nine_daily_activities(trial_files):
    collection = DATASETS["mobiact"].load(trial_files, SeriesReading(window="3s", hop="1.5s", rate=50), quiet)
    assert collection.classes == tuple(MOBIACT.values())
    assert len(collection) == 9 * 6 * 7  # falls are left out; 12 s hold seven windows of 3 s, 1.5 s apart
    assert collection.modality.shape == (3, 150)
    assert collection.paths[1] == "standing/1-1@1.5s"
    np.testing.assert_allclose(collection.items[1].T, motion(0, 600, 1)[75:225], rtol=1e-5, atol=1e-5)
    assert set(collection.groups["subject"]) == set(range(1, 7))
    assert len(set(collection.groups["trial"])) == 54


def test_nobody_outweighs_the_others(trial_files):
    """Twelve seconds hold 36 windows of 5 s, 0.2 s apart, of which 24 are taken, evenly, where a benchmark asks."""
    balanced = DATASETS["mobiact"].balanced
    whole = balanced(trial_files, SeriesReading(), quiet)
    assert whole.modality.shape == (3, 125)
    assert len(whole) == 9 * 6 * 24
    finer = balanced(trial_files, SeriesReading(window="4s", hop="100ms"), quiet)
    assert len(finer) == 9 * 6 * 24
    starts = [float(path.split("@")[1][:-1]) for path in finer.paths[:24]]
    assert (starts[0], starts[-1]) == (0.0, 8.0)
    assert max(np.diff(starts)) < 0.45


def test_recordings_are_as_long_as_they_are_unless_a_benchmark_balances_them(trial_files, tmp_path):
    plain, even = (Source("mobiact", known="5", data_root=str(trial_files), balance=one) for one in (False, True))
    assert len(gather(plain, tmp_path, 0.1, quiet)[0]) == 9 * 6 * 8  # 12 s: a window of 5 s each second
    assert len(gather(even, tmp_path, 0.1, quiet)[0]) == 9 * 6 * 24
    with pytest.raises(UserError, match=r"--balance is a protocol of mobiact and usc-had, and digits is neither"):
        gather(Source("digits", known="5", balance=True), tmp_path, 0.1, quiet)


def test_usc_had_has_two_sensors(trial_files):
    collection = DATASETS["usc-had"].load(trial_files, SeriesReading(window="2s", rate=25.0, gravity="remove"), quiet)
    assert collection.classes == USC_HAD
    assert collection.modality.shape == (6, 50)
    assert abs(float(collection.items[:, 0].mean())) < 0.5  # gravity is gone
    assert len(collection) == 12 * 6 * 11  # half a window apart, where no hop is given


def test_published_mobiact(tmp_path):
    folder = tmp_path / "MobiAct_Dataset_v2.0" / "Annotated Data"
    for activity, code in enumerate(MOBIACT):
        (folder / code).mkdir(parents=True)
        signal = motion(activity, 2000, activity)
        times = 1_000_000_000 + np.arange(2000) * 5_000_000
        rows = "".join(
            f"{t},{(t - times[0]) / 1e9:.3f},{x},{y},{z},0,0,0,{code}\n"
            for t, (x, y, z) in zip(times, signal, strict=True)
        )
        header = "timestamp,rel_time,acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z,label\n"
        (folder / code / f"{code}_3_2_annotated.csv").write_text(header + rows)
    collection = DATASETS["mobiact"].load(tmp_path, SeriesReading(window="3s", hop="1.5s", rate=50), quiet)
    assert len(collection) == 9 * 5  # 10 s at 200 Hz, brought to 50 Hz
    assert set(collection.groups["subject"]) == {3}
    assert collection.paths[0] == "standing/3-2@0.0s"


def test_published_usc_had(tmp_path):
    for subject in (1, 12):
        folder = tmp_path / "USC-HAD" / f"Subject{subject}"
        folder.mkdir(parents=True)
        for activity in range(12):
            scipy.io.savemat(folder / f"a{activity + 1}t5.mat", {"sensor_readings": motion(activity, 600, 1, 6)})
    collection = DATASETS["usc-had"].load(tmp_path, SeriesReading(window="3s", hop="1s"), quiet)
    assert len(collection) == 2 * 12 * 4  # 6 s at 100 Hz
    assert set(collection.groups["subject"]) == {1, 12}


def full_data(folder: Path, people: int = 5, length: int = 600) -> None:
    """full_data.mat: a cell for each person, with a struct of activities, each a cell of trials of five rows."""
    folder.mkdir(parents=True)
    cells = np.empty((people, 5), object)
    for person in range(people):
        struct = {}
        for activity, name in enumerate((*DAILY, *FALLS)):
            trials = np.empty((2, 1), object)
            for trial in range(2):
                values = motion(activity, length, 10 * person + trial).T
                extra = np.stack([np.arange(length) * 0.02, np.linalg.norm(values, axis=0)])
                trials[trial, 0] = np.concatenate([values, extra])
            struct[name] = trials
        if person == 1:
            struct["Jumping"][0, 0][:, 10] = np.nan
        cells[person, :] = [struct, "F", 25, 170, 60]
    scipy.io.savemat(folder / "full_data.mat", {"full_data": cells})


def windows(folder: Path, people: int = 5, each: int = 4) -> None:
    """adl_data.mat and its labels: 453 columns, x, y and z of 151 samples end to end."""
    folder.mkdir(parents=True)
    marks = [(a, p, t) for a in range(9) for p in range(people) for t in range(each)]
    rows = [motion(a, 151, 100 * a + 10 * p + t).T.reshape(-1) for a, p, t in marks]
    scipy.io.savemat(folder / "adl_data.mat", {"adl_data": np.stack(rows)})
    scipy.io.savemat(folder / "adl_labels.mat", {"adl_labels": np.array(marks) + 1})


def test_shar_as_recorded(tmp_path):
    full_data(tmp_path / "shar" / "data")
    collection = DATASETS["shar"].load(tmp_path, SeriesReading(), quiet)
    assert collection.classes == DAILY
    assert collection.modality.shape == (3, 90)  # 3 s at 30 Hz
    trials = len(set(collection.groups["trial"]))
    assert trials == 5 * 9 * 2 - 1  # the trial with a missing value is left out
    assert len(collection) == 7 * trials
    assert abs(float(collection.items[:, 0].mean())) < 0.5  # gravity is removed, as in the authors' pipeline


def test_shar_windows_as_published(tmp_path):
    windows(tmp_path / "UniMiB-SHAR" / "data")
    collection = DATASETS["shar-adl"].load(tmp_path, SeriesReading(), quiet)
    assert collection.modality.shape == (3, 151)
    assert len(collection) == 9 * 5 * 4
    np.testing.assert_allclose(collection.items[5].T, motion(0, 151, 11), rtol=1e-5)
    with pytest.raises(UserError, match="shar-adl holds windows that are cut already: leave --window"):
        DATASETS["shar-adl"].load(tmp_path, SeriesReading(window="2s"), quiet)


@pytest.mark.parametrize("name", ["shar", "shar-adl"])
def test_both_layouts_of_shar_go_through_the_whole_command(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (full_data if name == "shar" else windows)(tmp_path / "data" / "shar" / "data")
    command = f"discover {name} --data-root data --known 5 --epochs 2 --batch 40 --out run".split()
    assert main(command) == 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["split"] == "subject"
    assert results["truth_classes"] == list(DAILY)
    assert {"known_acc/test/agnostic", "novel_acc/test/agnostic"} <= set(results["metrics"])
    assert "test items by subject" in capsys.readouterr().out
    assert (tmp_path / "run" / "report.html").stat().st_size > 50_000


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mobiact", r"mobiact is not there \(looked for .*mobiact_acc_50hz\.npz, .*Annotated Data"),
        ("usc-had", r"usc-had is not there"),
        ("shar", r"shar is not there \(looked for .*full_data\.mat"),
        ("shar-fall", r"shar-fall is not there \(looked for .*fall_data\.mat"),
    ],
)
def test_missing_data_sets_are_named(name, message, tmp_path):
    with pytest.raises(UserError, match=message):
        DATASETS[name].load(tmp_path, SeriesReading(), quiet)


def test_damaged_files_are_refused(tmp_path):
    folder = tmp_path / "shar"
    folder.mkdir()
    (folder / "full_data.mat").write_bytes(b"junk" * 100)
    with pytest.raises(UserError, match=r"full_data\.mat cannot be read .*: put the official file there again"):
        DATASETS["shar"].load(tmp_path, SeriesReading(), quiet)
    (tmp_path / "mobiact").mkdir()
    np.savez(tmp_path / "mobiact" / "mobiact_acc_50hz.npz", signal=np.zeros((5, 3)))
    with pytest.raises(UserError, match="has no array activity"):
        DATASETS["mobiact"].load(tmp_path, SeriesReading(), quiet)


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        (SeriesReading(window="1"), "--window 1 is 1 samples, but at least 8 are needed"),
        (SeriesReading(window="3 weeks"), "--window 3 weeks is no length of time"),
        (SeriesReading(window="30s"), "holds no recording of 30s"),
    ],
)
def test_cutting_that_cannot_be_is_refused(trial_files, reading, message):
    with pytest.raises(UserError, match=message):
        DATASETS["mobiact"].load(trial_files, reading, quiet)


@pytest.mark.parametrize("by", ["subject", "trial"])
def test_groups_are_never_torn(trial_files, by):
    collection = hide(DATASETS["mobiact"].load(trial_files, SeriesReading(), quiet), "5")
    split = part(collection, 0.1, 0.3, by=by)
    groups = [set(collection.groups[by][chosen]) for chosen in (split.train, split.val, split.test)]
    assert all(groups)
    assert sum(map(len, groups)) == len(set(collection.groups[by]))
    assert split.by == by
    assert len(split.train) + len(split.val) + len(split.test) == len(collection)


def test_windows_at_random_share_their_recordings(trial_files):
    collection = DATASETS["mobiact"].load(trial_files, SeriesReading(), quiet)
    split = part(collection, 0.0, 0.2, by="random")
    assert set(collection.groups["trial"][split.test]) <= set(collection.groups["trial"][split.train])
    assert split.by == "random"


def test_a_split_that_cannot_be_is_refused(trial_files):
    collection = DATASETS["mobiact"].load(trial_files, SeriesReading(), quiet)
    with pytest.raises(UserError, match="--split day is not to be had here: choose from random, subject, trial"):
        part(collection, 0.1, 0.2, by="day")
    one_person_each = np.flatnonzero(collection.truth % 6 + 1 == collection.groups["subject"])
    with pytest.raises(UserError, match="--split subject leaves no item of class"):
        part(subset(collection, one_person_each), 0.2, 0.3, by="subject")


def test_too_few_groups_are_divided_item_by_item(trial_files):
    """One recording of each class, and one unlabeled: whole recordings cannot be spared, so windows are."""
    collection = hide(DATASETS["mobiact"].load(trial_files, SeriesReading(), quiet), "8")
    chosen = np.flatnonzero(collection.groups["subject"] == 1)
    few = subset(collection, chosen)
    few = replace(few, groups={"file": few.groups["trial"]})
    split = part(few, 0.1, 0.0)
    assert split.by == "random"
    assert set(few.labels[split.train]) == {-1, *range(8)}
    with pytest.raises(UserError, match="--split file leaves no"):
        part(few, 0.1, 0.0, by="file")
