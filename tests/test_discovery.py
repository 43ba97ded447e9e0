import csv
import json
import os
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from novakind.discovery import Discovery, clip, folder_names, replacing, safe_name
from novakind.errors import UserError

HOSTILE = '</script><img src=x onerror="boom()"> & ’quoted’ 🦊'


def write_run(run, paths=None, labels=None, truth=None, names=None, known=2, items=60, seed=0, **results):
    """A finished run folder with blobs as embeddings; category K - 1 gets no item when K is more than the blobs."""
    run.mkdir(parents=True, exist_ok=True)
    names = names or ["cat", "dog", "new-1", "new-2"]
    rng = np.random.default_rng(seed)
    blobs = max(1, len(names) - 1)
    truths = rng.integers(0, blobs, items)
    centres = 4 * np.eye(max(blobs, 3), 6)
    embedding = (centres[truths] + rng.normal(size=(items, 6))).astype(np.float32)
    logits = np.full((items, len(names)), -9.0)
    logits[:, :blobs] = embedding[:, :blobs] + rng.normal(size=(items, blobs))
    logp = (logits - np.logaddexp.reduce(logits, 1, keepdims=True)).astype(np.float32)
    category = logp.argmax(1)
    paths = paths or [f"unlabeled/{i:03d}.png" for i in range(items)]
    labels = labels or [names[t] if t < known and i % 2 else "" for i, t in enumerate(truths)]
    true_names = ["" if truth is None else truth[t] for t in truths]
    with (run / "predictions.csv").open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "split", "label", "truth", "category", "name", "probability"])
        for i in range(items):
            chosen = int(category[i])
            row = [paths[i], "train", labels[i], true_names[i], chosen, names[chosen], float(np.exp(logp[i, chosen]))]
            writer.writerow(row)
    np.savez(run / "embeddings.npz", embedding=embedding, logp=logp)
    defaults = {"metrics": {}, "minutes": 0.4, "warnings": [], "data": "toys", "items": items, "skipped": 2}
    facts = {"classes": names, "known": known, "truth_classes": truth, "version": "0.1.0"}
    (run / "results.json").write_text(json.dumps({**defaults, **facts, **results}), encoding="utf-8")
    return run


def write_files(root, paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"content of {path}")


def test_load_reads_the_table_and_locks_it(tmp_path):
    found = Discovery.load(write_run(tmp_path, truth=["cat", "dog", "owl"]))
    assert found.paths[:2] == ("unlabeled/000.png", "unlabeled/001.png")
    assert found.names == ("cat", "dog", "new-1", "new-2")
    assert found.known == 2
    assert np.allclose(found.probability, np.exp(found.logp).max(1))
    with pytest.raises(FrozenInstanceError):
        found.known = 3  # pyright: ignore
    with pytest.raises(ValueError, match="read-only"):
        found.category[0] = 1


def test_load_names_what_is_missing_or_does_not_agree(tmp_path):
    write_run(tmp_path)
    (tmp_path / "embeddings.npz").rename(tmp_path / "kept.npz")
    with pytest.raises(UserError, match=r"embeddings\.npz.*run the same command"):
        Discovery.load(tmp_path)
    np.savez(tmp_path / "embeddings.npz", embedding=np.zeros((3, 2)), logp=np.zeros((3, 4)))
    with pytest.raises(UserError, match="60 predictions of 4 classes but arrays of shape"):
        Discovery.load(tmp_path)


def test_categories_count_unlabeled_and_labeled_items(tmp_path):
    found = Discovery.load(write_run(tmp_path, truth=["cat", "dog", "owl"]))
    assert [one.id for one in found.categories] == [0, 1, 2, 3]
    assert [one.is_new for one in found.categories] == [False, False, True, True]
    for one in found.categories:
        mine = [i for i in range(60) if found.category[i] == one.id and not found.labels[i]]
        assert one.size == len(mine)
        assert one.labeled == (found.labels.count(one.name) if one.id < 2 else 0)
        if mine:
            assert one.confidence == pytest.approx(np.mean([found.probability[i] for i in mine]))
            truths = [found.truth[i] for i in mine]
            assert one.purity == max(truths.count(name) for name in truths) / len(truths)
            assert truths.count(one.majority) == max(truths.count(name) for name in truths)
    assert sum(one.size for one in found.categories) == found.labels.count("")


def test_an_empty_category_keeps_its_place(tmp_path):
    empty = Discovery.load(write_run(tmp_path)).categories[3]
    assert (empty.name, empty.size, empty.typical, empty.doubtful, empty.majority) == ("new-2", 0, (), (), "")
    assert np.isnan(empty.confidence)


def test_typical_and_doubtful_share_no_item_and_put_unlabeled_first(tmp_path):
    found = Discovery.load(write_run(tmp_path, items=200))
    margin = np.diff(np.sort(np.exp(found.logp), 1)[:, -2:], axis=1)[:, 0]
    for one in found.categories:
        assert not set(one.typical) & set(one.doubtful)
        assert all(found.category[i] == one.id for i in (*one.typical, *one.doubtful))
        for items in (one.typical, one.doubtful):
            bound = [bool(found.labels[i]) for i in items]
            assert bound == sorted(bound)
        free = [i for i in one.doubtful if not found.labels[i]]
        mine = [i for i in range(200) if found.category[i] == one.id and not found.labels[i]]
        assert free == sorted(mine, key=lambda i: margin[i])[: len(free)]


def made(embedding, probability):
    """One new category with these items."""
    count = len(probability)
    logp = np.log(np.stack([np.asarray(probability), 1 - np.asarray(probability)], 1)).astype(np.float32)
    blank = ("",) * count
    paths = tuple(f"{i}.png" for i in range(count))
    zeros = np.zeros(count, dtype=np.int64)
    chances = np.asarray(probability, dtype=np.float64)
    vectors = np.asarray(embedding, dtype=np.float32)
    return Discovery(paths, blank, blank, blank, zeros, chances, vectors, logp, ("new-1", "new-2"), 0, None)


def test_typical_wants_both_a_sure_model_and_a_central_place():
    rng = np.random.default_rng(0)
    embedding = np.array([1.0, 0, 0]) + 0.1 * rng.normal(size=(40, 3))
    probability = np.full(40, 0.95)
    embedding[0] = [-1, 0, 0]  # sure, but on the far side
    probability[0] = 0.999
    probability[1] = 0.6  # central, but not sure
    embedding[1] = [1, 0, 0]
    found = made(embedding, probability).categories[0]
    assert not {0, 1} & set(found.typical)
    assert found.doubtful[0] == 1


def test_near_copies_are_shown_last():
    rng = np.random.default_rng(0)
    embedding = np.array([1.0, 0, 0]) + 0.2 * rng.normal(size=(80, 3))
    embedding[:20] = [1, 0, 0]  # twenty times the same picture, right in the middle
    typical = made(embedding, np.linspace(0.99, 0.9, 80)).categories[0].typical
    assert sum(item < 20 for item in typical) == 1
    same = made(np.ones((30, 3)), np.full(30, 0.9)).categories[0]
    assert len(same.typical) == 12  # nothing else is there to show


@pytest.mark.parametrize("embedding", [np.zeros((3, 2)), np.full((3, 2), np.nan), np.ones((3, 1))])
def test_embeddings_without_a_direction_are_no_trouble(embedding):
    found = made(embedding, [0.9, 0.8, 0.7]).categories[0]
    assert sorted((*found.typical, *found.doubtful)) == [0, 1, 2]


def test_table_is_aligned_by_display_width_and_fits(tmp_path):
    names = ["naïve 名前", "dog \x1b[31m", "new 🦊🐧", HOSTILE]
    paths = [f"{'very/' * 20}deep/名前 {i}.png" for i in range(60)]
    table = Discovery.load(write_run(tmp_path, names=names, paths=paths, truth=["a", "b", "c"])).table(100)
    lines = table.splitlines()
    assert len(lines) == 5
    assert "\x1b" not in table
    assert all(cell_len(line) <= 100 for line in lines)
    assert lines[1].split()[0] == "2"  # the new ones first
    starts = {cell_len(line[: line.index("…")]) for line in lines[1:] if ".png" in line and HOSTILE[:9] not in line}
    assert starts == {cell_len(lines[0][: lines[0].index("examples")])}
    assert "mostly" in lines[0]
    assert lines[1].count(".png") == 3


def test_table_leaves_the_truth_out_where_nobody_knows_it(tmp_path):
    assert "mostly" not in Discovery.load(write_run(tmp_path)).table(80)


@given(st.text(max_size=30), st.integers(2, 20), st.booleans())
def test_clip_never_exceeds_its_width(text, width, tail):
    clipped = clip(text, width, tail)
    assert cell_len(clipped) <= width
    assert "\n" not in clipped


def test_export_csv_is_a_manifest_with_the_given_labels(tmp_path):
    found = Discovery.load(write_run(tmp_path / "run", names=["cat", 'a "b",\nc', "new-1", HOSTILE]))
    found.export_csv(tmp_path / "new folder" / "out.csv")
    with (tmp_path / "new folder" / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["path"] for row in rows] == list(found.paths)
    for row, label, number in zip(rows, found.labels, found.category, strict=True):
        assert row["label"] == (label or found.names[number])
        assert row["given"] == label
        assert int(row["category"]) == number
    assert os.listdir(tmp_path / "new folder") == ["out.csv"]


def test_export_npz_keeps_order_and_ids(tmp_path):
    found = Discovery.load(write_run(tmp_path / "run"))
    found.export_npz(tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as out:
        assert out["path"].tolist() == list(found.paths)
        assert (out["category"] == found.category).all()
        assert (out["logp"] == found.logp).all()
        assert [out["names"][y] for y in out["y"]] == list(found.final)


def test_file_names_that_are_not_unicode_survive(tmp_path):
    paths = [os.fsdecode(b"unlabeled/\xff\xe9.png"), *(f"{i}.png" for i in range(59))]
    found = Discovery.load(write_run(tmp_path / "run", paths=paths))
    found.export_csv(tmp_path / "out.csv")
    assert b"unlabeled/\xff\xe9.png" in (tmp_path / "out.csv").read_bytes()
    found.table().encode("utf-8")


def fail_in(path):
    with replacing(path) as part:
        part.write_text("half")
        raise RuntimeError("the disk is full")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(RuntimeError):
        fail_in(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("link", [False, True])
def test_export_folders_sorts_the_unlabeled_files(tmp_path, link):
    found = Discovery.load(write_run(tmp_path / "run"))
    write_files(tmp_path / "data", found.paths)
    count, gone = found.export_folders(tmp_path / "out", tmp_path / "data", link)
    assert (count, gone) == (found.labels.count(""), [])
    for path, label, number in zip(found.paths, found.labels, found.category, strict=True):
        target = tmp_path / "out" / found.names[number] / os.path.basename(path)
        assert target.exists() == (not label)
        if not label:
            assert target.read_text() == f"content of {path}"
            assert target.is_symlink() == link


def test_export_of_everything_trusts_the_given_label(tmp_path):
    found = Discovery.load(write_run(tmp_path / "run", labels=["dog"] * 30 + [""] * 30))
    write_files(tmp_path / "data", found.paths)
    assert found.export_folders(tmp_path / "out", tmp_path / "data", False, everything=True) == (60, [])
    assert {path.name for path in (tmp_path / "out" / "dog").iterdir()} >= {f"{i:03d}.png" for i in range(30)}


@pytest.mark.parametrize("link", [False, True])
def test_export_never_overwrites(tmp_path, link):
    paths = [f"unlabeled/{i}/same.png" for i in range(60)]
    found = Discovery.load(write_run(tmp_path / "run", paths=paths, labels=[""] * 60))
    write_files(tmp_path / "data", paths)
    mine = tmp_path / "out" / "new-1" / "same.png"
    mine.parent.mkdir(parents=True)
    mine.write_text("the user's own")
    dangling = mine.with_name("same (2).png")
    dangling.symlink_to(tmp_path / "nowhere")
    assert found.export_folders(tmp_path / "out", tmp_path / "data", link)[0] == 60
    assert mine.read_text() == "the user's own"
    assert not (tmp_path / "nowhere").exists()
    written = {path.read_text() for path in (tmp_path / "out").rglob("*.png") if path.exists()}
    assert written == {f"content of {path}" for path in paths} | {"the user's own"}
    assert (mine.parent / "same (3).png").exists()


def test_files_that_are_gone_are_counted_not_fatal(tmp_path):
    found = Discovery.load(write_run(tmp_path / "run", labels=[""] * 60))
    write_files(tmp_path / "data", found.paths[2:])
    (tmp_path / "data" / found.paths[1]).mkdir()
    assert found.export_folders(tmp_path / "out", tmp_path / "data", False) == (58, list(found.paths[:2]))


def test_rows_of_an_array_cannot_go_into_folders(tmp_path):
    found = Discovery.load(write_run(tmp_path / "run", paths=[str(i) for i in range(60)]))
    with pytest.raises(UserError, match="export csv or npz"):
        found.export_folders(tmp_path / "out", tmp_path / "data.npz", False)
    assert not (tmp_path / "out").exists()


def test_a_file_is_no_destination(tmp_path):
    (tmp_path / "out").write_text("a file")
    found = Discovery.load(write_run(tmp_path / "run"))
    with pytest.raises(UserError, match="name another destination"):
        found.export_folders(tmp_path / "out", tmp_path, False)


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("café 🦊", "café 🦊"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("..", "_"),
        ("", "_"),
        ("con", "_con"),
        ("NUL.txt", "_NUL.txt"),
        ('a<b>:"c"|?*', "a_b___c____"),
        ("trailing. . ", "trailing"),
        ("cafe\u0301", "café"),
    ],
)
def test_safe_name(name, safe):
    assert safe_name(name) == safe


@given(st.text(max_size=200))
def test_safe_names_are_single_path_components(name):
    safe = safe_name(name)
    assert safe not in ("", ".", "..")
    assert not set(safe) & set('<>:"/\\|?*\0\n')
    assert len(safe.encode()) <= 121


def test_names_that_differ_get_folders_that_differ():
    names = ("a/b", "a:b", "A_B", "a/b", "a_b (2)")
    folders = folder_names(names)
    assert len({folder.casefold() for folder in folders.values()}) == 4
    assert folders["a/b"] == "a_b"


def test_hostile_category_names_become_folders(tmp_path):
    names = ["cat", "dog", "../up", "CAT"]
    found = Discovery.load(write_run(tmp_path / "run", names=names, labels=[""] * 60))
    write_files(tmp_path / "data", found.paths)
    found.export_folders(tmp_path / "out", tmp_path / "data", False)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"cat", "dog", "_up"}
