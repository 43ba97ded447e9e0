"""The server as a browser meets it: a process of its own, over HTTP."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from reviews import Nursery
from runs import HOSTILE, write_run

from novakind.errors import UserError
from novakind.results.review.serve import bound, check_ready
from novakind.runs.discovery import Discovery


@pytest.fixture(scope="module")
def nursery():
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", truth=["cat", "dog", "owl"], items=200, names=["cat", "dog", "new-1", HOSTILE])


@pytest.fixture
def server(nursery, run):
    started = nursery.start(run)
    yield started
    started.kill()


def columns(table, count):
    """The columns of /api/table."""
    kinds = {"category": "<i4", "probability": "<f4", "status": "<u1", "margin": "<f4", "likeness": "<f4"}
    found, start = {}, 0
    for name, kind in kinds.items():
        found[name] = np.frombuffer(table, kind, count, start)
        start += found[name].nbytes
    assert start == len(table)
    return found


def test_every_address_answers_and_agrees_with_the_state_in_python(server, run):
    found = Discovery.load(run)
    state, about = server.get("/api/state"), server.get("/api/run")
    table = columns(server.get("/api/table"), 200)
    assert about["count"] == 200
    assert about["map"]["items"]
    np.testing.assert_array_equal(table["category"], found.snapshot.category)
    np.testing.assert_array_equal(table["status"], found.snapshot.status)
    for one, card in zip(found.categories, state["categories"], strict=True):
        assert (one.name, one.size, one.labeled, one.alive) == (
            card["name"],
            card["size"],
            card["labeled"],
            card["alive"],
        )
    rows = server.get("/api/rows?items=3,7")
    assert rows["3"]["path"] == found.paths[3]
    assert rows["7"]["status"] in ("labeled", "suggested")
    assert rows["7"]["top"][0][1] >= rows["7"]["top"][1][1]
    like = server.get("/api/neighbours/5?count=9")
    assert len(like["items"]) == 9
    assert 5 not in like["items"]
    assert like["likeness"] == sorted(like["likeness"], reverse=True)
    queue = server.get("/api/queue?limit=4")
    assert (len(queue["entries"]), queue["left"]) == (4, found.labels.count(""))
    assert server.get("/api/round")["state"] == "idle"
    assert b"<script" in server.get(f"/?token={server.token}")
    assert server.ask("/api/picture/3")[0] == 404  # the run has no data, and all else works


def test_an_answer_does_not_wait_for_more_to_send_with_it(server):
    def spent():
        begun = time.monotonic()
        server.get("/api/round")
        return time.monotonic() - begun

    assert np.median([spent() for _ in range(20)]) < 0.03  # a line that gathers what it sends waits 0.04 each time


def test_an_edit_is_on_disk_when_it_is_acknowledged_and_a_retry_is_harmless(server, run):
    code, saved = server.edit("rename", id="tab-1", base=0, category=2, name="owl")
    assert (code, saved["version"], saved["touched"]) == (200, 1, [2])
    assert json.loads((run / "edits.jsonl").read_text()) == saved["edit"]
    assert server.edit("rename", id="tab-1", base=0, category=2, name="owl")[1]["edit"] == saved["edit"]
    assert len((run / "edits.jsonl").read_text().splitlines()) == 1
    state = server.get("/api/state")
    assert (state["version"], state["categories"][2]["name"], state["undo"]) == (1, "owl", "name new-1 “owl”")
    assert server.edit("undo", id="tab-2")[0] == 200
    assert server.get("/api/state")["redo"] == "name new-1 “owl”"


def test_a_decision_about_what_somebody_else_changed_is_shown_as_a_conflict_and_not_made(server, run):
    assert server.edit("rename", id="one-1", base=0, category=2, name="owl")[0] == 200
    code, refused = server.edit("rename", id="two-1", base=0, category=2, name="fox")
    assert (code, refused["conflict"], refused["version"]) == (409, True, 1)
    assert "now owl" in refused["error"]
    assert (
        server.edit("rename", id="one-2", base=0, category=2, name="uhu")[0] == 200
    )  # of the same tab it is no conflict
    assert server.edit("move", id="one-3", base=2, items=[5, 6], to=0)[0] == 200
    assert server.edit("confirm", id="two-2", base=2, items=[6, 7])[0] == 409
    assert server.edit("confirm", id="two-3", base=2, items=[7])[0] == 200
    assert server.edit("undo", id="one-4", base=3)[0] == 409  # it would undo what this tab has not seen
    assert server.edit("undo", id="one-5", base=4)[0] == 200
    code, refused = server.edit("rename", id="x-1", category=2, name="cat")
    assert (code, refused["same_as"]) == (409, 0)


def test_an_export_stays_in_the_run(server, run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (run / "exports").symlink_to(tmp_path / "elsewhere")
    status, answer = server.ask("/api/export", {"to": "csv"})
    assert (status, list((tmp_path / "elsewhere").iterdir())) == (400, [])
    assert "leads out of the run" in answer["error"]


def test_a_split_is_seen_before_it_is_made(server):
    preview = server.ask("/api/split", {"category": 2, "parts": 2})[1]
    sizes = [part["size"] for part in preview["parts"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == server.get("/api/state")["categories"][2]["size"]
    assert server.get("/api/state")["version"] == 0
    code, saved = server.edit("split", category=2, parts=[part["items"] for part in preview["parts"]])
    assert (code, saved["edit"]["ids"]) == (200, [4])
    assert server.get("/api/state")["categories"][4]["size"] == sizes[1]


def test_pairs_that_are_different_are_never_suggested_again(server):
    first = server.get("/api/merges?limit=20")
    assert first
    pair = first[0]["categories"]
    assert server.edit("different", categories=pair)[0] == 200
    assert sorted(pair) not in [sorted(one["categories"]) for one in server.get("/api/merges?limit=20")]
    assert server.edit("undo")[0] == 200
    assert server.get("/api/merges?limit=20") == first


def test_what_another_process_writes_is_seen_within_a_second(server, nursery, run):
    other = nursery.start(run)
    heard = []

    def listen():
        with subprocess.Popen(
            ["curl", "-sN", f"http://{server.host}:{server.port}/api/events?token={server.token}"],
            stdout=subprocess.PIPE,
            text=True,
        ) as stream:
            for line in stream.stdout:
                heard.append((time.monotonic(), line))
                if line.startswith("data:"):
                    stream.kill()
                    return

    thread = threading.Thread(target=listen)
    thread.start()
    while not heard:
        time.sleep(0.02)
    assert other.edit("rename", id="b-1", category=2, name="owl")[0] == 200
    written = time.monotonic()
    thread.join(10)
    when, line = next(one for one in heard if one[1].startswith("data:"))
    assert json.loads(line[5:])["edit"]["name"] == "owl"
    assert when - written < 1
    assert server.get("/api/state")["categories"][2]["name"] == "owl"
    Discovery.load(run).rename(2, "uhu")  # a script does the same
    time.sleep(0.6)
    assert server.get("/api/state") == other.get("/api/state")


def test_ctrl_c_ends_the_command_cleanly(run, tmp_path):
    command = [sys.executable, "-m", "novakind", "review", str(run), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert "http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert "stopped" in said


def test_what_is_no_finished_run_is_refused_in_one_sentence(tmp_path, run):
    with pytest.raises(UserError, match="does not exist"):
        check_ready(tmp_path / "nowhere")
    (run / "config.toml").write_text('\ndigest = "x"\n')
    holder = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(1, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(run / ".lock")], stdout=subprocess.PIPE, text=True
    ) as training:
        training.stdout.readline()
        with pytest.raises(UserError, match="another novakind is at work"):
            check_ready(run)
        training.kill()
    check_ready(run)


def test_a_run_that_is_trained_again_takes_no_more_decisions(server, run):
    assert server.edit("rename", category=2, name="owl")[0] == 200
    (run / "results.json").write_text((run / "results.json").read_text().replace("0.4", "0.5"))
    code, refused = server.edit("rename", category=2, name="uhu")
    assert (code, "trained again" in refused["error"]) == (409, True)
    os.rename(run / "edits.jsonl", run / "edits-1.jsonl")
    assert server.edit("rename", category=2, name="uhu")[0] == 409


@pytest.mark.parametrize("host", ["", "0", "a\0b", "\udcff", "\u00fc" * 100, "nowhere.invalid"])
def test_addresses_that_are_none_or_mean_all_are_refused(host):
    with pytest.raises(UserError, match="--host"):
        bound(host, 0)
