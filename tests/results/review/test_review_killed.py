"""Decisions survive: servers that are killed, servers that write at once, lines that are torn."""

import itertools
import json
import os
import random
import signal
import threading

import numpy as np
import pytest
from reviews import Nursery
from runs import write_run

from novakind.errors import UserError
from novakind.runs.discovery import Discovery

KILLS, EDITS = 10, 1_000


@pytest.fixture(scope="module")
def nursery():
    made = Nursery()
    yield made
    made.close()


def stream(server, rng, numbers, acknowledged, count, name):
    """Edits of all kinds, one after the other, until there are enough or the server is gone."""
    while len(acknowledged) < count:
        edit = {"id": f"{name}-{next(numbers)}"}
        items = rng.sample(range(60), rng.randint(1, 5))
        edit |= rng.choice(
            (
                {"verb": "move", "items": items, "to": rng.randrange(4)},
                {"verb": "confirm", "items": items},
                {"verb": "ignore", "items": items},
                {"verb": "rename", "category": rng.randrange(4), "name": f"name {rng.random()}"},
                {"verb": "undo"},
                {"verb": "redo"},
            )
        )
        try:
            code, answer = server.ask("/api/edits", edit)
        except OSError:
            return
        except Exception:  # the answer was cut off
            return
        assert code in (200, 409), answer
        if code == 200:
            acknowledged.append(answer["edit"])


def lines_of(run):
    return [json.loads(line) for line in (run / "edits.jsonl").read_text().splitlines()]


def kill_often(nursery, run, kills):
    """A stream of edits against servers that are killed one after the other; what was acknowledged."""
    rng, numbers, acknowledged = random.Random(0), itertools.count(), []
    for _ in range(kills):
        server = nursery.start(run)
        begun = server.edit("confirm", id=f"first-{next(numbers)}", items=[rng.randrange(60)])
        acknowledged += [begun[1]["edit"]] if begun[0] == 200 else []
        timer = threading.Timer(rng.uniform(0.02, 0.25), os.kill, (server.pid, signal.SIGKILL))
        timer.start()
        stream(server, rng, numbers, acknowledged, 10**9, "tab")
        timer.join()
        server.kill()
    return acknowledged


def write_at_once(nursery, run, count):
    """Two servers of one run, a client at each; what each was told to be saved, and their states in the end."""
    servers, told = [nursery.start(run) for _ in range(2)], ([], [])
    threads = [
        threading.Thread(target=stream, args=(server, random.Random(name), itertools.count(), mine, count, name))
        for server, mine, name in zip(servers, told, "ab", strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for server in servers:  # an edit that is refused is enough to see all others
        assert server.edit("rename", category=0, name="unlabeled")[0] == 400
    return told, [(server.get("/api/state"), server.get("/api/table")) for server in servers]


def test_what_was_acknowledged_outlives_every_kill(nursery, tmp_path):
    run = write_run(tmp_path / "run")
    acknowledged = kill_often(nursery, run, KILLS)
    written = {edit["id"]: edit for edit in lines_of(run)}
    assert len(acknowledged) >= KILLS // 2  # an item that is ignored cannot be confirmed
    assert all(written[edit["id"]] == edit for edit in acknowledged)
    assert len(written) - len(acknowledged) <= KILLS  # at most one on its way when a server died
    Discovery.load(run)


def test_two_servers_lose_nothing_and_end_up_equal(nursery, tmp_path):
    run = write_run(tmp_path / "run")
    told, states = write_at_once(nursery, run, EDITS)
    written = {edit["id"]: edit for edit in lines_of(run)}
    assert [len(mine) for mine in told] == [EDITS, EDITS]
    assert all(written[edit["id"]] == edit for mine in told for edit in mine)
    assert len(written) == 2 * EDITS
    assert states[0] == states[1]


def test_a_torn_line_is_set_aside_and_named(tmp_path):
    run = write_run(tmp_path / "run")
    named = Discovery.load(run).rename(2, "owl")
    with (run / "edits.jsonl").open("a") as file:
        file.write('{"seq":2,"id":"x","verb":"ren')
    found = Discovery.load(run)
    assert found.names == named.names
    assert "edits-torn-1.txt" in found.warnings[-1]
    assert (run / "edits-torn-1.txt").read_text() == '{"seq":2,"id":"x","verb":"ren'
    assert found.rename(2, "uhu").names[2] == "uhu"
    assert [line["seq"] for line in lines_of(run)] == [1, 2]
    with (run / "edits.jsonl").open("a") as file:
        file.write("{")
    assert found.rename(2, "fox").names[2] == "fox"  # by one that had the log open all the time
    assert (run / "edits-torn-2.txt").read_text() == "{"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nonsense", "no JSON"),
        ("[1]", "it is not a table"),
        ('{"seq": 2, "verb": "confirm", "category": 2, "id": [[]]}', "id is not a text"),
        ('{"seq": 7, "verb": "undo"}', "its seq is 7"),
        ('{"seq": 2, "verb": "fly"}', "'fly' is no verb"),
        ('{"seq": 2, "verb": "move", "items": [99], "to": 0}', "there is no item 99"),
        ('{"seq": 2, "verb": "undo", "of": 5}', "edit 5 is not the one to undo"),
        ('{"seq": 2, "verb": "rename", "category": 2, "name": "a\\u0000b"}', "U\\+0000"),
        ('{"seq": 2, "verb": "create", "items": [1], "ids": [4], "names": 7}', "names 7 are not those of 1"),
        ('{"seq": 2, "verb": "create", "items": [1], "ids": [4], "names": []}', "are not those of 1"),
        ('{"seq": 2, "verb": "create", "items": [1], "ids": [4], "names": [7]}', "7 is no name"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_damaged_line_is_refused_in_one_sentence(tmp_path, line, reason):
    run = write_run(tmp_path / "run")
    Discovery.load(run).rename(2, "owl")
    before = (run / "edits.jsonl").read_text()
    (run / "edits.jsonl").write_text(f"{before}{line}\n")
    with pytest.raises(UserError, match=rf"line 2 of .*edits\.jsonl is damaged, .*{reason}.*: put a copy"):
        Discovery.load(run)
    assert (run / "edits.jsonl").read_text() == f"{before}{line}\n"


def test_edits_of_many_items_are_replayed_quickly(tmp_path):
    import time

    from novakind.runs.edits import EditLog
    from novakind.runs.review import Review

    rng = np.random.default_rng(0)
    run = write_run(tmp_path / "run")
    count, kinds = 100_000, 20
    category = rng.integers(0, kinds, count)
    logp = np.full((count, kinds), -5, dtype=np.float32)
    names = tuple(f"kind {number}" for number in range(kinds))
    log = EditLog(run)
    given = (category, ("",) * count, names, 5, logp, np.ones((count, 4), dtype=np.float32))
    lines = []
    for seq in range(1, 1_001):
        some = rng.integers(0, count // 2, 20).tolist()
        verbs = (
            {"verb": "move", "items": some, "to": 3},
            {"verb": "confirm", "items": some},
            {"verb": "ignore", "items": [count - 1 - item for item in some]},
        )
        lines.append({"seq": seq, "id": str(seq), **verbs[seq % 3]})
    log.path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    begun = time.process_time()
    review = Review(*given, run)
    assert review.state.version == 1_000
    assert time.process_time() - begun < 4  # most of it is the checking of types, which only tests do
    begun = time.process_time()
    review.do({"verb": "rename", "category": 7, "name": "owl"})
    assert time.process_time() - begun < 0.5
