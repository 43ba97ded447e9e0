"""What a person decides: every verb, its refusals, undo and redo, and the same state after replay."""

import json

import numpy as np
import pytest
from runs import write_run

from novakind.errors import UserError
from novakind.runs.asked import ConflictError
from novakind.runs.discovery import Discovery


@pytest.fixture
def found(tmp_path):
    return Discovery.load(write_run(tmp_path / "run", truth=["cat", "dog", "owl"]))


def members(found, name):
    number = found.names.index(name)
    return [item for item, one in enumerate(found.snapshot.category) if one == number]


def same(one, other):
    assert one.names == other.names
    assert one.status == other.status
    assert one.final == other.final
    assert one.snapshot.alive == other.snapshot.alive
    assert one.snapshot.rejected == other.snapshot.rejected
    assert one.snapshot.different == other.snapshot.different
    np.testing.assert_array_equal(one.category, other.category)
    np.testing.assert_array_equal(one.probability, other.probability)


def test_a_name_is_kept_and_can_be_taken_back(found, tmp_path):
    named = found.rename("new-1", "  owl ")
    assert named.names[2] == "owl"
    assert named.categories[2].named
    assert "owl" in Discovery.load(tmp_path / "run").table()
    assert found.names[2] == "new-1"  # what was read before stays as it was
    assert named.rename(2, "").names[2] == "new-1"


def test_the_name_of_another_category_is_refused_and_tells_which(found):
    with pytest.raises(ConflictError, match="category 0 is called cat already") as refused:
        found.rename("new-1", "cat")
    assert refused.value.facts == {"same_as": 0}


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m", "\u202eabc", "x" * 201, "Unlabeled", "-1"])
def test_names_that_cannot_be_seen_or_mean_no_label_are_refused(found, name):
    with pytest.raises(UserError, match=r".+: (give|leave)"):
        found.rename("new-1", name)


def test_a_merge_renumbers_nothing_and_goes_towards_the_name(found):
    with pytest.raises(ConflictError, match="merge into category 0"):
        found.merge("new-1", "cat")
    merged = found.merge("cat", "new-1")
    assert [one.id for one in merged.categories] == [0, 1, 2, 3]
    assert [one.alive for one in merged.categories] == [True, True, False, True]
    assert merged.categories[2].into == 0
    assert merged.categories[0].size == found.categories[0].size + found.categories[2].size
    chances = np.exp(found.logp[:, [0, 2]].astype(np.float64)).sum(1)
    mine = merged.category == 0
    np.testing.assert_allclose(merged.probability[mine], chances[mine], rtol=1e-5)
    assert "new-1" not in merged.table()
    with pytest.raises(ConflictError, match="was merged into cat: give category 0"):
        merged.rename(2, "owl")


def test_a_split_makes_new_categories_whose_ids_are_never_used_again(found):
    mine = members(found, "new-1")
    parted = found.split("new-1", mine[:5], mine[5:9], mine[9:12])
    assert parted.names == ("cat", "dog", "new-1", "new-2", "new-3", "new-4")
    assert members(parted, "new-3") == mine[5:9]
    assert {parted.status[item] for item in mine[5:9]} == {"suggested"}
    assert parted.rename("new-3", "owl").rename("owl", "").names[4] == "new-3"
    again = parted.undo().undo().undo().split("new-1", mine[:5], mine[5:])
    assert again.snapshot.alive == (True, True, True, True, False, False, True)
    with pytest.raises(ConflictError, match="taken back by an undo"):
        again.rename(4, "owl")
    with pytest.raises(ConflictError, match="is not in new-1"):
        again.split("new-1", mine[:5], mine[5:9])


def test_moved_and_created_items_are_confirmed_labeled_ones_too(found):
    label = next(item for item, one in enumerate(found.labels) if one == "dog")
    moved = found.move([label, 7], "cat")
    assert moved.status[label] == moved.status[7] == "confirmed"
    assert moved.final[label] == moved.certain[label] == "cat"
    assert moved.categories[1].labeled == found.categories[1].labeled - 1
    made = moved.create([label, found.paths[7]], "fox")
    assert made.names[-1] == "fox"
    assert members(made, "fox") == sorted({label, 7})
    assert made.certain[7] == "fox"
    unnamed = found.create([5])
    assert (unnamed.status[5], unnamed.final[5], unnamed.certain[5]) == ("confirmed", "new-4", "")


def test_confirming_and_ignoring_change_only_the_status(found):
    sure = found.confirm(category="new-1").confirm([members(found, "cat")[0]])
    np.testing.assert_array_equal(sure.category, found.category)
    assert {sure.status[item] for item in members(found, "new-1")} == {"confirmed"}
    labeled = sure.status.index("labeled")  # a label that the model disbelieves can be right
    right = sure.confirm([labeled])
    assert right.status[labeled] == "confirmed"
    assert right.undo().status == sure.status
    gone = sure.ignore(members(found, "new-1")[:4])
    assert gone.categories[2].size == found.categories[2].size - 4
    assert gone.final[members(found, "new-1")[0]] == ""
    with pytest.raises(ConflictError, match="is ignored"):
        gone.confirm(members(found, "new-1")[:1])
    assert gone.move(members(found, "new-1")[:1], 2).categories[2].size == found.categories[2].size - 3


def test_a_rejected_item_goes_to_its_next_best_category_and_never_back(found):
    item = next(item for item in members(found, "new-1") if not found.labels[item])
    order = np.argsort(-found.logp[item]).tolist()
    once = found.reject([item], "new-1")
    assert once.category[item] == order[1]
    assert once.status[item] == "suggested"
    twice = once.reject(item, order[1])
    assert twice.category[item] == order[2]
    assert twice.snapshot.rejected == {(item, order[0]), (item, order[1])}
    with pytest.raises(ConflictError, match="is not in new-1"):
        twice.reject([item], "new-1")
    out = twice.reject(item, order[2])
    with pytest.raises(ConflictError, match="kept out of every other category"):
        out.reject(item, order[3])


def test_rejected_from_a_part_of_a_split_means_the_other_part(found):
    mine = members(found, "new-1")
    parted = found.split("new-1", mine[:9], mine[9:])
    assert parted.reject(mine[10], "new-3").category[mine[10]] == 2


def test_undo_takes_back_everything_step_by_step_and_redo_does_it_again(found, tmp_path):
    mine = members(found, "new-1")
    steps = [found.rename("new-1", "owl")]
    for act in (
        lambda one: one.merge("owl", "new-2"),
        lambda one: one.split("owl", mine[:5], mine[5:9]),
        lambda one: one.move(mine[:2], "cat"),
        lambda one: one.create(mine[9:11], "bat"),
        lambda one: one.confirm(category="owl"),
        lambda one: one.ignore([0]),
        lambda one: one.reject(members(one, "new-3")[:2], "new-3"),
        lambda one: one.different("cat", "dog"),
    ):
        steps.append(act(steps[-1]))
    back = steps[-1]
    for earlier in reversed(steps[:-1]):
        back = back.undo()
        for item, (one, other) in enumerate(zip(earlier.final, back.final, strict=True)):
            assert one == other, item
        assert earlier.status == back.status
    back = back.undo()
    with pytest.raises(ConflictError, match="nothing to undo"):
        back.undo()
    np.testing.assert_array_equal(back.category, found.category)
    for later in steps:
        back = back.redo()
        same(back, later) if later is steps[-1] else None
    with pytest.raises(ConflictError, match="nothing to redo"):
        back.redo()
    same(Discovery.load(tmp_path / "run"), back)
    assert back.undo().rename(1, "hound").names[1] == "hound"
    with pytest.raises(ConflictError, match="nothing to redo"):
        Discovery.load(tmp_path / "run").redo()


def test_a_discovery_without_a_folder_has_the_verbs_too(found):
    from dataclasses import replace

    alone = replace(found, review=None)
    assert alone.rename(2, "owl").merge("owl", "new-2").undo().names[2] == "owl"


def test_every_line_says_who_when_and_what(found, tmp_path):
    found.rename(2, "owl").split(2, [members(found, "new-1")[0]], [members(found, "new-1")[1]])
    lines = [json.loads(line) for line in (tmp_path / "run" / "edits.jsonl").read_text().splitlines()]
    assert [line["seq"] for line in lines] == [1, 2]
    assert all({"id", "time", "verb"} <= set(line) for line in lines)
    assert (lines[1]["ids"], lines[1]["names"]) == ([4], ["new-3"])
