"""A round after a review: what a person decided is never overturned, and categories keep their numbers and names."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from novakind.app.again import assemble_round
from novakind.app.cli import main
from novakind.config import starting
from novakind.data.decided import Decisions
from novakind.data.source import Source
from novakind.errors import UserError
from novakind.modality.features import Features
from novakind.objective import losses
from novakind.objective.heads import JoinedHead, PrototypeHead
from novakind.objective.prior import Prior
from novakind.runs.complete import complete
from novakind.runs.discovery import Discovery
from novakind.runs.rounds import decisions_of, next_folder

CLASSES = 6


def blobs(count=60):
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(CLASSES), count)
    X = (3 * np.eye(CLASSES, 16)[truth] + rng.normal(size=(len(truth), 16))).astype(np.float32)
    y = np.array(["a", "b", "", "", "", ""])[truth]
    y[::2] = ""
    return X, np.where(truth < 2, np.array(["a", "b", "", "", "", ""])[truth], y), truth


@pytest.fixture(scope="module")
def first(tmp_path_factory, one_thread):
    """A run on vectors: two known classes, five new categories for four novel ones."""
    folder = tmp_path_factory.mktemp("rounds")
    X, y, _ = blobs()
    np.savez(folder / "v.npz", X=X, y=y)
    config = replace(starting(Features), novel=5, epochs=3, batch=64)
    complete(Source(str(folder / "v.npz")), config, folder / "run", quiet=True)
    return folder


@pytest.fixture
def run(first, tmp_path):
    """A copy of it, to decide about."""
    shutil.copytree(first / "run", tmp_path / "run")
    shutil.copy(first / "v.npz", tmp_path / "v.npz")
    return tmp_path / "run"


def go_on(run, out=None, data=None, **options):
    made = assemble_round(str(data or run.parent / "v.npz"), run, "auto", {"epochs": 2, **options})
    path = out or next_folder(run, made.decisions)
    complete(made.source, made.config, path, quiet=True, decisions=made.decisions)
    return path


def free_in(found, category):
    inside = (found.category == category) & (np.array(found.status) == "suggested")
    return np.flatnonzero(inside).tolist()


def test_what_a_person_decided_is_never_overturned(run):
    found = Discovery.load(run)
    wrong = free_in(found, 3)[:4]  # of another category, says the person, and the model will not agree
    found = found.rename(2, "first").move(wrong, 2).confirm(free_in(found, 2)[:5])
    kept_out, ignored = free_in(found, 4)[:3], free_in(found, 5)[:2]
    found = found.reject(kept_out, 4).ignore(ignored).different(4, 5)
    confirmed = [item for item, status in enumerate(found.status) if status == "confirmed"]
    for path in (second := go_on(run), go_on(second)):
        again = Discovery.load(path)
        place = {name: item for item, name in enumerate(again.paths)}
        assert not {found.paths[item] for item in ignored} & set(again.paths)
        for item in confirmed:
            now = place[found.paths[item]]
            assert (again.final[now], again.status[now], again.category[now]) == ("first", "confirmed", 2)
        for item in kept_out:
            now = place[found.paths[item]]
            assert again.category[now] != 4
            assert np.exp(again.logp[now, 4]) < 1e-30
        assert again.review is not None
        assert again.review.state.different == {(4, 5)}
        assert {(place[found.paths[item]], 4) for item in kept_out} <= again.review.state.rejected
        assert again.names[2] == "first"
        assert not again.categories[2].is_new
        assert again.categories[3].is_new
    results = json.loads((second / "results.json").read_text())
    changed = results["round"]["changed"]
    assert (changed["named"], changed["confirmed"], changed["ignored"], changed["kept_out"]) == (["first"], 9, 2, 3)
    assert results["round"]["number"] == 2
    assert json.loads((run.parent / "run-3" / "results.json").read_text())["round"]["number"] == 3


def test_categories_keep_their_numbers_through_merges_and_splits(run):
    found = Discovery.load(run).merge(5, 6).rename(5, "both")
    members = free_in(found, 4)
    found = found.split(4, members[::2], members[1::2])
    again = Discovery.load(go_on(run))
    assert again.names[:6] == found.names[:6]
    assert [category.alive for category in again.categories] == [True] * 6 + [False, True]
    assert again.categories[6].into == 5
    assert 6 not in again.category
    assert again.names[7] == found.names[7]
    free = np.array(again.status) == "suggested"
    assert (again.category[free] == 5).sum() > 0.8 * np.isin(Discovery.result(run).category[free], (5, 6)).sum()


def test_what_is_typical_of_a_category_is_learnt_and_may_change(run):
    found = Discovery.load(run).rename(2, "first").confirm(free_in(Discovery.load(run), 2)[:1])
    train = [item for item in free_in(found, 2) if found.splits[item] == "train"]
    surest = sorted(train, key=lambda item: -found.sureness[item])[: int(0.8 * len(train))]
    taught = decisions_of(run).taught
    assert {found.paths[item] for item in surest} == {path for path in taught if found.category[int(path)] == 2}
    assert decisions_of(run, 6).taught == ()  # for a further category to come from any of them
    again = Discovery.load(go_on(run))
    assert again.status.count("labeled") == found.status.count("labeled")
    assert again.status.count("confirmed") == 1
    assert 'start = "decided"' in (run.parent / "run-2" / "config.toml").read_text()
    terms = json.loads((run.parent / "run-2" / "metrics.jsonl").read_text().splitlines()[0])
    assert {name for name in terms if name.startswith("loss/")} == {"loss/ce", "loss/novel_mass", "loss/total"}


def test_a_round_after_names_alone_does_not_lose(tmp_path, one_thread):
    """Overlapping classes: answers that teach themselves make large categories ever larger."""
    rng = np.random.default_rng(2)
    truth = np.repeat(np.arange(CLASSES), 60)
    X = (2.5 * np.eye(CLASSES, 8)[truth] + rng.normal(size=(len(truth), 8))).astype(np.float32)
    np.savez(tmp_path / "v.npz", X=X, y=np.array(["a", "b", "", "", "", ""])[truth])
    config = replace(starting(Features), novel=4, seed=2, mixed="no", epochs=100)
    complete(Source(str(tmp_path / "v.npz")), config, tmp_path / "run", quiet=True)
    found = Discovery.load(tmp_path / "run")
    for number in range(2, 6):
        found = found.rename(number, f"kind {number}")
    again, free = Discovery.load(go_on(tmp_path / "run", epochs=100)), truth > 1
    held = [np.bincount(truth[free & (found.category == number)], minlength=CLASSES) for number in range(CLASSES)]
    best = np.argmax(held, axis=1)
    before, after = ((best[one.category] == truth)[free].mean() for one in (found, again))
    assert after >= before - 0.01


def test_a_label_that_was_mended_is_no_truth_any_more(run):
    found = Discovery.load(run)
    wrong = found.labels.index("a")
    found.move([wrong], 1)
    again = Discovery.load(go_on(run))
    assert (again.final[wrong], again.truth[wrong]) == ("b", "")
    assert again.categories[1].majority == ""


def test_learning_starts_from_the_weights_of_the_earlier_round(run):
    before = Discovery.result(run)
    after = Discovery.load(go_on(run, **{"optim.lr": 1e-8}))
    np.testing.assert_allclose(after.embedding, before.embedding, atol=1e-3)
    np.testing.assert_array_equal(after.category, before.category)


def test_all_categories_named_and_new_rows_at_the_end(run, tmp_path):
    found = Discovery.load(run)
    for number in range(2, 7):
        found = found.rename(number, f"kind {number}").confirm(free_in(found, number)[:3])
    X, y, _ = blobs()
    np.savez(tmp_path / "more.npz", X=np.concatenate([X, X[-20:]]), y=np.concatenate([y, ["c"] * 10 + [""] * 10]))
    again = Discovery.load(go_on(run, data=tmp_path / "more.npz"))
    assert len(again.paths) == len(X) + 20
    assert again.names[7] == "c"  # a class that came with the new rows
    assert again.final[len(X)] == "c"
    assert again.status[len(X)] == "labeled"
    changed = json.loads((run.parent / "run-2" / "results.json").read_text())["round"]["changed"]
    assert changed["new_items"] == 20
    np.savez(tmp_path / "other.npz", X=X[::-1], y=y)
    with pytest.raises(UserError, match="other rows"):
        go_on(run, tmp_path / "out", tmp_path / "other.npz")


def test_further_categories_can_be_looked_for_but_none_closed(run):
    assert decisions_of(run, 6).names[-1] == "new-6"
    with pytest.raises(UserError, match="a round closes none"):
        decisions_of(run, 4)


def test_a_round_has_a_folder_of_its_own_until_more_is_decided(run):
    before = decisions_of(run)
    assert next_folder(run, before) == run.with_name("run-2")
    second = go_on(run)
    assert Decisions.read(second / "decisions.json") == before == decisions_of(run)
    assert next_folder(run, before) == second  # the same command finds it finished
    Discovery.load(run).rename(2, "named since")
    assert next_folder(run, decisions_of(run)) == run.with_name("run-3")


def test_a_round_that_is_not_possible_is_refused_in_a_sentence(run, tmp_path, capsys):
    data = str(run.parent / "v.npz")
    for words, said in (
        (["--after", "nowhere"], "no run folder"),
        (["--after", str(run), "--encoder", "mlp"], "cannot be other than"),
        (["--after", str(run), "--start", "clusters"], "cannot be other than"),
        (["--after", str(run), "--method", "uno"], "has no further round"),
    ):
        assert main(["discover", data, *words, "--quiet", "--out", str(tmp_path / "out")]) == 2
        assert said in capsys.readouterr().err
    settings = (run / "config.toml").read_text()
    (run / "config.toml").write_text("x = [")
    assert main(["discover", data, "--after", str(run), "--fresh", "--quiet"]) == 2
    assert "give --fresh to the novakind discover that wrote it" in capsys.readouterr().err  # the round is not that
    (run / "config.toml").write_text(settings)
    for number in range(7):
        Discovery.load(run).confirm(category=number)
    assert main(["discover", data, "--after", str(run), "--quiet"]) == 2
    assert "nothing is left to sort" in capsys.readouterr().err


CHANGES = {
    "known": 99,
    "number": "2",
    "names": ["a", "a"],
    "into": [1, 0, 2, 3, 4, 5, 6],
    "named": [True],
    "different": [[0, 99]],
    "items": {"0": [99, "labeled", "train"]},
    "barred": [["0", -5]],
    "taught": [1],
}


@pytest.mark.parametrize("key", CHANGES)
def test_decisions_that_were_changed_are_refused(run, tmp_path, key):
    decisions_of(run).write(tmp_path / "decisions.json")
    assert Decisions.read(tmp_path / "decisions.json") == decisions_of(run)
    found = json.loads((tmp_path / "decisions.json").read_text())
    (tmp_path / "decisions.json").write_text(json.dumps(found | {key: CHANGES[key]}))
    with pytest.raises(UserError, match=r"decisions.json is damaged \(.*\): give --fresh"):
        Decisions.read(tmp_path / "decisions.json")


def test_pictures_have_a_second_round_on_the_command_line(shapes, capsys):
    quick = ["--novel", "2", "--preset", "glyphs", "--epochs", "1", "--batch", "40", "--quiet"]
    assert main(["discover", "shapes", *quick]) == 0
    found = Discovery.load("runs/shapes")
    number = int(found.category[np.array(found.status) == "suggested"].max())
    found.rename(number, "star").confirm(category=number)
    shutil.copy(next(Path("shapes/unlabeled").iterdir()), "shapes/unlabeled/zz.png")
    capsys.readouterr()
    assert main(["discover", "shapes", "--after", "runs/shapes", "--epochs", "1", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "1 categories named (star)" in said
    assert "1 items are new" in said
    assert Path("runs/shapes-2/report.html").exists()
    assert main(["report", "runs/shapes-2"]) == 0
    assert main(["predict", "runs/shapes-2", "shapes/unlabeled/zz.png"]) == 0
    assert main(["export", "runs/shapes-2", "--out", "again.csv"]) == 0
    assert ",star,star,confirmed," in Path("again.csv").read_text()


def test_merged_outputs_are_one_category():
    torch.manual_seed(0)
    inner = PrototypeHead(8, 5)
    joined = JoinedHead(inner, (0, 1, 2, 1, -1), 5)
    logp, x = inner(embedding := torch.randn(4, 8)), joined(embedding)
    kept = logp[:, :4].exp().sum(1)
    torch.testing.assert_close(x[:, 1].exp(), (logp[:, 1].exp() + logp[:, 3].exp()) / kept)
    torch.testing.assert_close(x.exp().sum(1), torch.ones(4))
    assert (x[:, 3:] < -90).all()


def test_an_item_is_kept_out_by_the_probability_of_everything_else():
    logp = torch.log_softmax(torch.randn(3, 4, dtype=torch.float64), 1)
    barred = torch.zeros(3, 4, dtype=torch.bool)
    barred[1, [0, 2]] = True
    expected = -torch.log(logp[1, 1].exp() + logp[1, 3].exp()) / 3
    torch.testing.assert_close(losses.kept_out(logp, barred), expected)


def test_a_category_that_is_no_more_has_no_share():
    prior = Prior.parse("1/4,-,3/4", 2, 3)
    assert prior.novel == (0.25, 0.0, 0.75)
    assert prior.mean().tolist() == [0, 0, 0.25, 0, 0.75]
