"""The queue: what is asked first, and what a second small model makes of the answers."""

import numpy as np
from runs import write_run

from novakind.results.review.desk import Desk
from novakind.results.review.nearest import NEAR, least_cut, links, touching
from novakind.results.review.queue import belief
from novakind.results.review.splitting import cluster
from novakind.results.review.suggest import once_each
from novakind.runs.reviewed import CONFIRMED, SUGGESTED


def desk_of(tmp_path, items=120):
    return Desk(write_run(tmp_path / "run", items=items))


def asked(desk, limit):
    return [one["item"] for one in desk.queue(limit)["entries"]]


def test_every_undecided_item_is_asked_about_once_and_no_other(tmp_path):
    desk = desk_of(tmp_path)
    open_ones = np.flatnonzero(desk.review.state.status == SUGGESTED)
    assert sorted(asked(desk, 1000)) == open_ones.tolist()
    first = asked(desk, 10)
    desk.do({"verb": "confirm", "items": first[:4]}, None)
    found = desk.queue(1000)
    assert found["left"] == len(open_ones) - 4
    assert sorted(one["item"] for one in found["entries"]) == sorted(set(open_ones.tolist()) - set(first[:4]))


def test_the_first_questions_are_about_unlike_items(tmp_path):
    desk = desk_of(tmp_path)
    rows = desk.view.groups[np.searchsorted(desk.view.items, asked(desk, 8))]
    spread = (rows @ rows.T - 2 * np.eye(8)).max()
    some = desk.view.groups[np.flatnonzero(desk.review.state.status[desk.view.items] == SUGGESTED)[:8]]
    assert spread < 1 - 1e-6
    assert spread <= (some @ some.T - 2 * np.eye(8)).max()


def test_answers_spread_to_what_is_like_them(tmp_path):
    desk = desk_of(tmp_path)
    with desk.turn() as overview:
        category, status = overview.category.copy(), overview.status.copy()
        before = belief(overview, desk.view)
    largest = int(np.bincount(category[status == SUGGESTED]).argmax())
    members = np.flatnonzero((category == largest) & (status == SUGGESTED))
    to = next(number for number in (2, 3) if number != largest)
    assert (before.trust == 1).all()
    desk.do({"verb": "move", "items": members[: len(members) // 2].tolist(), "to": to}, None)
    with desk.turn() as overview:
        after = belief(overview, desk.view)
    others = members[len(members) // 2 :]
    assert after.trust[largest] < 1
    assert after.chances[others, to].mean() > before.chances[others, to].mean() + 0.1


def test_after_many_answers_the_doubtful_come_first(tmp_path):
    desk = desk_of(tmp_path, 200)
    open_ones = np.flatnonzero(desk.review.state.status == SUGGESTED)
    desk.do({"verb": "confirm", "items": open_ones[:60].tolist()}, None)
    with desk.turn() as overview:
        best = np.sort(belief(overview, desk.view).chances, 1)[:, ::-1]
        left = np.flatnonzero(overview.status == SUGGESTED)
        assert (overview.status == CONFIRMED).sum() == 60
    doubt = 1 - best[:, 0] + best[:, 1]
    assert doubt[asked(desk, 10)].mean() > 1.5 * doubt[left].mean()


def test_a_pair_that_shares_a_category_with_one_above_counts_less():
    pairs = [(0.5, (1, 2), "a"), (0.4, (2, 3), "b"), (0.3, (4, 5), "c"), (0.1, (6, 7), "d")]
    assert [pair[2] for pair in once_each(pairs)] == ["a", "c", "b", "d"]


def test_two_clouds_are_cut_between_them_and_a_few_odd_items_are_no_part():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(n, 3)) + centre for n, centre in ((60, 0), (40, 6), (2, 30))])
    graph = links(rows.astype(np.float32), 8)
    part = least_cut(graph, rows[:, 0])
    assert len(set(part[:60].tolist())) == len(set(part[60:100].tolist())) == 1
    assert part[0] != part[99]


def test_parts_are_found_in_spaces_of_other_sizes_together():
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1], 40)
    one = rng.normal(size=(80, 4)) + 6 * kinds[:, None] * np.array([1, 0, 0, 0])
    other = rng.normal(size=(80, 9)) + 2 * kinds[:, None]
    part, within = cluster([one.astype(np.float32), other.astype(np.float32)], 2)
    assert max((part == kinds).mean(), (part != kinds).mean()) > 0.95
    assert 0.5 < within < 1


def test_pieces_of_one_kind_touch_and_a_mixed_one_touches_what_it_mostly_is():
    rng = np.random.default_rng(0)
    centres = np.eye(4)[:3] * 3
    rows = np.repeat(centres, 60, axis=0) + 0.5 * rng.normal(size=(180, 4))
    category = np.repeat([0, 1, 2], 60)
    category[rng.choice(60, 30, replace=False)] = 3  # half of the first, and some of the second
    category[60 + rng.choice(60, 20, replace=False)] = 3
    found = touching(category, links(rows, NEAR), 4)
    assert found.argmax() in (3, 12)  # 0 and 3
    assert found[3].argsort()[::-1][:2].tolist() == [0, 1]
    assert found[0, 2] < 0.1 * found[0, 3]
