from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from runs import HOSTILE, write_run

from novakind.errors import UserError
from novakind.runs.discovery import Discovery, clip


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
    with pytest.raises(UserError, match=r"embeddings\.npz.*run its novakind discover again"):
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


def test_typical_needs_both_high_confidence_and_a_central_place():
    rng = np.random.default_rng(0)
    embedding = np.array([1.0, 0, 0]) + 0.1 * rng.normal(size=(40, 3))
    probability = np.full(40, 0.95)
    embedding[0] = [-1, 0, 0]  # high confidence, but on the far side
    probability[0] = 0.999
    probability[1] = 0.6  # central, but low confidence
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
    assert lines[1].startswith("new 🦊🐧")  # the new ones first
    starts = {cell_len(line[: line.index("…")]) for line in lines[1:] if ".png" in line and HOSTILE[:9] not in line}
    assert starts == {cell_len(lines[0][: lines[0].index("examples")])}
    assert "majority" in lines[0]
    assert lines[1].count(".png") == 2


def test_table_leaves_the_truth_out_where_nobody_knows_it(tmp_path):
    assert "majority" not in Discovery.load(write_run(tmp_path)).table(80)


@given(st.text(max_size=30), st.integers(2, 20), st.booleans())
def test_clip_never_exceeds_its_width(text, width, tail):
    clipped = clip(text, width, tail)
    assert cell_len(clipped) <= width
    assert "\n" not in clipped
