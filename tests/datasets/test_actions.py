"""Data sets of videos in their layouts: official parts, whole groups, and a store apart from the data."""

import os
from pathlib import Path

import numpy as np
import pytest
from footage import evenly, numbered, write_video

from novakind.app.discover import assemble
from novakind.config import Config
from novakind.data.files import quiet
from novakind.data.source import Source
from novakind.data.split import hide, part
from novakind.datasets import DATASETS
from novakind.datasets.gather import gather
from novakind.datasets.stores import store_of
from novakind.datasets.videos import MPSC_ARL, VIDEOS, choose
from novakind.errors import UserError
from novakind.modality.video import Video, VideoReading
from novakind.training.setup import make_sampler

SMALL = VideoReading(16, frames=2, fps=4.0, motion=False)
CLASSES = ("Archery", "HandstandPushups", "YoYo")  # of which a list has written the second in another way
GROUPS, TAKES = 5, 2


def clip(file: Path, number: int) -> None:
    write_video(file, evenly(4, 4), draw=lambda frame: numbered(number + frame, 32, 24))


@pytest.fixture(scope="module")
def videos(tmp_path_factory) -> Path:
    """A data root with a small UCF101 and a small MPSC-ARL, which nothing may write to."""
    root = tmp_path_factory.mktemp("root")
    lists = root / "some" / "ucfTrainTestlist"
    lists.mkdir(parents=True)
    official = ["ApplyLipstick", *reversed(CLASSES)]
    (lists / "classInd.txt").write_text("".join(f"{n} {name}\r\n" for n, name in enumerate(official, 1)))
    names = [
        f"{action}/v_{action.replace('stand', 'Stand')}_g{group:02}_c{take:02}.avi"
        for action in CLASSES
        for group in range(1, GROUPS + 1)
        for take in range(1, TAKES + 1)
    ]
    for number, name in enumerate(names):
        clip(root / "some" / "UCF-101" / name, number)
    for split in (1, 2, 3):
        held = [name for name in names if f"_g{split:02}_" in name]
        rest = [name for name in names if name not in held]
        (lists / f"testlist{split:02}.txt").write_text("\r\n".join(held) + "\r\n")
        (lists / f"trainlist{split:02}.txt").write_text("".join(f"{name} 1\r\n" for name in rest))
    (root / "some" / "UCF-101" / "YoYo" / "v_YoYo_g09_c01.avi").write_bytes(b"")
    (root / "some" / "UCF-101" / "YoYo" / "notes.txt").write_text("not a clip")
    for number, action in enumerate(MPSC_ARL):
        for subject in ("anna", "ben"):
            for take in ("1", "2"):
                for view in ("left", "middle", "right"):
                    clip(root / "mpsc-arl" / action / f"{subject}_{take}_{view}.mp4", number)
        clip(root / "mpsc-arl" / action / "test.mp4", number)  # a name that says nothing
    return root


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch) -> Path:
    """One place for decoded videos, for all tests: most of them find everything decoded."""
    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("NOVAKIND_CACHE", str(folder))
    return folder


def contents(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(file), file.stat().st_mtime_ns) for file in folder.rglob("*"))


@pytest.mark.parametrize(("name", "group"), [("ucf101", 1), ("ucf101-02", 2), ("ucf101-03", 3)])
def test_ucf101_has_its_official_classes_and_parts(videos, name, group):
    before = contents(videos)
    collection = DATASETS[name].load(videos, SMALL, quiet)
    assert contents(videos) == before
    assert collection.name == name
    assert collection.classes == collection.truth_classes == tuple(reversed(CLASSES))  # those that are there
    assert collection.items.shape == (30, 3, 4, 16, 16)
    for path, label, held in zip(collection.paths, collection.labels, collection.official_test, strict=True):
        assert path.split("/")[0] == collection.classes[label]
        assert held == (f"_g{group:02}_" in path)
    assert collection.skipped == (("YoYo/v_YoYo_g09_c01.avi", "empty file"),)
    together = {}
    for path, number in zip(collection.paths, collection.groups["group"], strict=True):
        together.setdefault(number, set()).add(path.rsplit("_", 1)[0])
    assert len(together) == len(CLASSES) * GROUPS
    assert all(len(names) == 1 for names in together.values())


def test_videos_are_decoded_once(videos, cache, monkeypatch):
    first = DATASETS["ucf101"].load(videos, SMALL, quiet)
    monkeypatch.setattr(Video, "read", lambda self, path: pytest.fail("decoded again"))
    again = DATASETS["ucf101-02"].load(videos, SMALL, quiet)  # the same videos, other parts
    np.testing.assert_array_equal(first.items, again.items)
    assert first.digest() != again.digest()
    assert Path(first.items.shards[0].filename).is_relative_to(cache / "stores")
    monkeypatch.undo()
    monkeypatch.setenv("NOVAKIND_CACHE", str(cache))
    before = len(list((cache / "stores").iterdir()))
    other = DATASETS["ucf101"].load(videos, VideoReading(8, frames=2, fps=4.0), quiet)
    assert other.items.shape == (30, 3, 4, 8, 8)
    assert len(list((cache / "stores").iterdir())) == before + 1


def test_as_nothing_is_asked_for():
    assert VIDEOS.keys() <= DATASETS.keys()
    assert choose(VideoReading()) == Video(64, 16, 32, 8.0, motion=True)
    assert choose(VideoReading(frames=4, motion=False)) == Video(64, 4, 8, 8.0)


def test_parts_are_official_and_of_whole_groups(videos):
    collection = hide(DATASETS["ucf101"].load(videos, SMALL, quiet), "2")
    split = part(collection, 0.25, 0.0)
    groups = collection.groups["group"]
    parts = [set(groups[numbers].tolist()) for numbers in (split.train, split.val, split.test)]
    assert [len(each) for each in parts] == [9, 3, 3]  # one of four groups of each class
    assert not parts[0] & parts[1]
    assert sorted(collection.truth[split.val].tolist()) == [0, 0, 1, 1, 2, 2]
    np.testing.assert_array_equal(split.test, np.flatnonzero(collection.official_test))


def test_a_source_hears_of_progress_and_normalises_by_the_training_part(videos, tmp_path, monkeypatch):
    monkeypatch.setenv("NOVAKIND_CACHE", str(tmp_path))
    source = Source("ucf101", reading=SMALL, known="2", data_root=str(videos))
    heard = []
    collection, split = gather(source, tmp_path / "store", 0.25, lambda done, total: heard.append((done, total)))
    assert heard == [(0, 31), (31, 31)]
    assert split.by == "official"
    assert collection.modality == Video(16, 2, 4, 4.0).fitted(collection.items[split.train])
    assert not (tmp_path / "store").exists()


def test_mpsc_arl_names_who_when_and_from_where(videos):
    collection = DATASETS["mpsc-arl"].load(videos, SMALL, quiet)
    assert collection.classes == tuple(MPSC_ARL.values())
    assert len(collection) == 10 * 2 * 2 * 3
    assert collection.official_test is None
    sizes = {name: len(set(numbers)) for name, numbers in collection.groups.items()}
    assert sizes == {"subject": 2, "take": 40, "view": 3}
    for number in range(40):  # three views of one moment
        paths = [path for path, take in zip(collection.paths, collection.groups["take"], strict=True) if take == number]
        assert len(paths) == 3
        assert len({path.rsplit("_", 1)[0] for path in paths}) == 1
    split = part(collection, 0.0, 0.5)
    assert split.by == "subject"
    assert len({collection.paths[number].split("/")[1].split("_")[0] for number in split.test}) == 1
    takes = part(collection, 0.2, 0.2, by="take")
    kinds = [set(collection.groups["take"][numbers]) for numbers in (takes.train, takes.val, takes.test)]
    assert sum(map(len, kinds)) == len(set.union(*kinds)) == 40


def test_another_camera_may_give_the_second_view(videos):
    collection = hide(DATASETS["mpsc-arl"].load(videos, SMALL, quiet), "5")
    split = part(collection, 0.0, 0.0)
    for drawn in make_sampler(collection, split, Config(novel=5, batch=50, pair="take")).epoch(0):
        for item, partner in zip(drawn.unlabeled, drawn.second, strict=True):
            mine, other = (collection.paths[number].rsplit("_", 1) for number in (item, partner))
            assert mine[0] == other[0]
            assert mine[1] != other[1]


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("ucf101", {"window": "3s"}, "--window 3s is for recordings, and ucf101 holds videos: leave it out"),
        ("mpsc-arl", {"gravity": "remove"}, "--gravity remove is for recordings"),
        ("ucf101", {"frames": -3}, "--frames -3 is out of range"),
        ("digits", {"frames": 4}, "--frames 4 is for videos, and digits holds pictures: leave it out"),
    ],
)
def test_readings_that_cannot_be_are_refused(name, option, message):
    with pytest.raises(UserError, match=message):
        assemble(name, "auto", option)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(UserError, match=r"ucf101-02 is not there .* folder UCF-101 in .*--data-root"):
        DATASETS["ucf101-02"].load(tmp_path, SMALL, quiet)
    (tmp_path / "UCF-101" / "Archery").mkdir(parents=True)
    with pytest.raises(UserError, match="folder ucfTrainTestlist"):
        DATASETS["ucf101"].load(tmp_path, SMALL, quiet)
    lists = tmp_path / "ucfTrainTestlist"
    lists.mkdir()
    with pytest.raises(UserError, match=r"classInd\.txt cannot be read \(No such file.*put the official lists there"):
        DATASETS["ucf101"].load(tmp_path, SMALL, quiet)
    (lists / "classInd.txt").write_text("1 Archery\n")
    (lists / "testlist01.txt").write_text("Archery/v_Archery_g01_c01.avi\n")
    with pytest.raises(UserError, match="holds no video of ucf101"):
        DATASETS["ucf101"].load(tmp_path, SMALL, quiet)
    (tmp_path / "UCF-101" / "Archery" / "v_Archery_g01_c01.avi").write_bytes(b"")
    with pytest.raises(UserError, match=r"none of the 1 videos in .* can be read .*empty file"):
        DATASETS["ucf101"].load(tmp_path, SMALL, quiet)
    with pytest.raises(UserError, match="mpsc-arl is not there"):
        DATASETS["mpsc-arl"].load(tmp_path, SMALL, quiet)


def test_a_cache_that_cannot_be_written_is_named(videos, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NOVAKIND_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"cannot be written .*: name a folder for decoded videos by NOVAKIND_CACHE$"):
        DATASETS["ucf101"].load(videos, SMALL, quiet)


def test_without_a_wish_the_cache_is_in_the_home(monkeypatch):
    monkeypatch.setenv("NOVAKIND_CACHE", "")
    monkeypatch.setenv("HOME", os.sep + "somewhere")
    assert store_of(Path("videos"), Video(8)).is_relative_to("/somewhere/.cache/novakind/stores")
