"""The report: all of a run on one page that asks nothing of the network; hostile names; a browser that draws it."""

import io
import json
import re
from collections import Counter

import numpy as np
import pytest
from PIL import Image
from runs import CHROMIUM, COUNTED, HOSTILE, PLAY, browse, data_of, write_run

from novakind.modality.display import Pictures
from novakind.results.report import write_report
from novakind.results.report.contents import curves, explain
from novakind.results.report.layout import project, sample
from novakind.results.report.thumbnails import gather


def png(side=8, shade=120):
    buffer = io.BytesIO()
    Image.new("RGB", (side, side), (shade % 256, 90, 160)).save(buffer, "PNG")
    return buffer.getvalue()


def report(run, thumbnail=lambda item: png(shade=item)):
    page = write_report(run, Pictures(thumbnail)).read_text(encoding="utf-8")
    return page, data_of(page)


def write_extras(run, lines=(), config=""):
    (run / "metrics.jsonl").write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    (run / "config.toml").write_text(config, encoding="utf-8")


def test_the_page_holds_the_whole_run(tmp_path):
    metrics = {"known_acc/test/agnostic": 0.99, "novel_acc/test/aware": 0.9}
    write_run(tmp_path, truth=["cat", "dog", "owl"], metrics=metrics, warnings=["all items in one category"])
    lines = [{"epoch": e + 1, "stage": "discover", "loss/total": 1 / (e + 1), "lr": 0.1} for e in range(5)]
    write_extras(tmp_path, lines, "seed = 7\n[train]\nepochs = 5\n[train.sgd]\nlr = 0.1\n")
    _, data = report(tmp_path)
    assert (tmp_path / "report.html").exists()
    assert data["warnings"] == ["all items in one category"]
    assert [one["key"] for one in data["metrics"]] == list(metrics)
    assert data["metrics"][1]["where"] == (
        "test items, never trained on; "
        "task-aware: items of known classes may go to known classes only, the others to new categories only"
    )
    assert (data["items"], data["skipped"], data["known"]) == (60, 2, 2)
    assert data["signals"] is None
    assert data["map"]["items"] == list(range(60))
    assert data["curves"]["series"][0] == {"key": "loss/total", "values": [1, 0.5, 0.33333, 0.25, 0.2]}
    assert data["settings"][1:] == [
        {"name": "train", "pairs": [["epochs", "5"]]},
        {"name": "train.sgd", "pairs": [["lr", "0.1"]]},
    ]
    assert sum(map(sum, data["confusion"]["counts"])) == data["unlabeled"] == data["confusion"]["items"]
    assert data["confusion"]["rows"] == ["cat", "dog", "owl"]
    shown = {item for one in data["categories"] for item in one["typical"] + one["doubtful"]}
    assert shown <= {int(item) for item in data["rows"]} & {int(item) for item in data["pictures"]}
    for row in data["rows"].values():
        assert row["top"][0][0] == row["category"]
        assert [p for _, p in row["top"]] == sorted((p for _, p in row["top"]), reverse=True)


def test_the_page_asks_nothing_of_the_network(tmp_path):
    page, _ = report(write_run(tmp_path))
    assert not re.search(r"https?:|//[a-z0-9-]+\.[a-z]|@import|url\(|<link[^>]+stylesheet|import torch", page)
    assert re.findall(r'(?:src|href)="([^"#]+)', page) == ["data:,"]
    assert "default-src 'none'" in page


def test_hostile_names_stay_text(tmp_path):
    names = [HOSTILE, "a\u2028b {{data}} \\u003c", "new-1", "<!--<script>"]
    paths = [f"{HOSTILE}/{i}.png" for i in range(60)]
    write_run(tmp_path, names=names, paths=paths, data=HOSTILE, warnings=[HOSTILE], truth=[HOSTILE, "b", "c"])
    write_extras(tmp_path, [{"epoch": 1, "stage": HOSTILE, f"loss/{HOSTILE}": 1.0}], f"[x]\ny = '''{HOSTILE}'''\n")
    page, data = report(tmp_path)
    plain, _ = report(write_run(tmp_path / "plain"))
    for tag in ("</script", "<script", "<img", "<!--", "</title"):
        assert page.count(tag) == plain.count(tag)
    assert [one["name"] for one in data["categories"]] == names
    assert data["name"] == data["warnings"][0] == HOSTILE
    assert data["rows"]["0"]["path"] == paths[0]
    assert "{{data}}" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


@pytest.mark.parametrize("items", [1, 2, 3, 11])
@pytest.mark.parametrize(("names", "known"), [(["a", "b", "new-1"], 2), (["new-1"], 0), (["a"], 1)])
def test_tiny_runs(tmp_path, items, names, known):
    _, data = report(write_run(tmp_path, names=names, known=known, items=items, truth=["a", "b"]), lambda item: None)
    assert len(data["map"]["points"]) == items
    assert data["map"]["method"] == ("t-SNE" if items >= 10 else "PCA")
    assert np.isfinite(data["map"]["points"]).all()
    assert data["pictures"] == {}


def test_without_truth_there_is_no_confusion(tmp_path):
    _, data = report(write_run(tmp_path))
    assert data["confusion"] is None
    assert data["truth"] is None


def test_the_confusion_counts_items_whose_label_was_not_used(tmp_path):
    splits = ["train"] * 30 + ["test"] * 30
    for labels, counted in (["cat"] * 60, 30), (["cat"] * 20 + [""] * 40, 40):
        run = write_run(tmp_path / str(counted), labels=labels, splits=splits, truth=["cat", "dog", "owl"])
        assert report(run)[1]["confusion"]["items"] == counted
    _, data = report(write_run(tmp_path / "all", labels=["cat"] * 60, truth=["cat", "dog", "owl"]))
    assert (data["confusion"]["items"], data["confusion"]["unseen"]) == (60, False)


def test_what_is_not_a_number_is_said_so(tmp_path):
    write_run(tmp_path, metrics={"novel_acc/val/agnostic": float("nan"), "known_acc/val/aware": None})
    lines = [
        {"epoch": 1, "loss/total": 2.0, "loss/kl": None},
        {"epoch": 2, "loss/total": float("nan"), "loss/kl": None},
        {"epoch": 3, "loss/total": float("inf")},
        '{"epoch": 4, "loss/to',
    ]
    write_extras(tmp_path, lines)
    _, data = report(tmp_path)
    assert "NaN" not in json.dumps(data)
    assert [one["value"] for one in data["metrics"]] == [None, None]
    assert data["curves"]["series"] == [{"key": "loss/total", "values": [2.0, "nan", "inf"]}]
    assert data["categories"][3]["confidence"] is None


def test_missing_curves_and_settings_are_no_trouble(tmp_path):
    _, data = report(write_run(tmp_path))
    assert data["curves"]["series"] == data["settings"] == []


def test_long_runs_are_thinned_and_keep_the_last_epoch(tmp_path):
    write_extras(tmp_path, [{"epoch": e, "loss/total": e} for e in range(4321)])
    found = curves(tmp_path / "metrics.jsonl")
    assert len(found["epochs"]) <= 1000
    assert found["epochs"][-1] == 4320


def test_unknown_metrics_keep_their_name():
    assert explain("speed", 3)["title"] == "speed"
    assert explain("novel_acc/odd/other", 1)["where"] == "odd; other"


def test_no_picture_is_made_twice(tmp_path):
    asked = Counter()

    def thumbnail(item):
        asked[item] += 1
        return png(shade=item)

    page, data = report(write_run(tmp_path), thumbnail)
    assert max(asked.values()) == 1
    assert len(data["pictures"]) == 60
    assert all(page.count(f'"{item}":"data:') == 1 for item in range(60))


def test_pictures_are_limited_and_unreadable_ones_left_out():
    def thumbnail(item):
        if item == 3:
            raise OSError("the file is gone")
        return None if item == 4 else b"not a picture" if item == 5 else png()

    found = gather(thumbnail, [1, 2, 3, 4, 5, 1], range(100), limit=10, budget=10**6)
    assert {1, 2} <= set(found)
    assert not {3, 4, 5} & set(found)
    assert len(found) <= 12
    assert len(gather(thumbnail, [1, 2], range(6, 100), limit=90, budget=500)) < 12


def test_large_pictures_are_made_small():
    noise = np.random.default_rng(0).integers(0, 255, (300, 200, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "PNG")
    uri = gather(lambda item: buffer.getvalue(), [0], [], 0, 0)[0]
    assert uri.startswith("data:image/webp")
    assert len(uri) < len(buffer.getvalue()) / 8


def test_an_old_report_survives_a_failure(tmp_path):
    write_run(tmp_path)
    (tmp_path / "report.html").write_text("old")

    def thumbnail(item):
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError):
        write_report(tmp_path, Pictures(thumbnail))
    assert (tmp_path / "report.html").read_text() == "old"


def test_the_map_gives_every_category_its_share():
    category = np.repeat([0, 1, 2, 5], [5000, 300, 10, 1])
    chosen = sample(category, 600)
    assert (chosen == sample(category, 600)).all()
    assert len(set(chosen.tolist())) == 600
    assert Counter(category[chosen].tolist()) == {0: 295, 1: 294, 2: 10, 5: 1}
    assert (sample(category[:9], 600) == np.arange(9)).all()


@pytest.mark.parametrize("items", [1, 2, 9, 10, 40])
@pytest.mark.parametrize("dims", [1, 2, 64])
def test_the_map_is_finite_and_reproducible(items, dims):
    embedding = np.random.default_rng(0).normal(size=(items, dims)).astype(np.float32)
    for rows in (embedding, embedding * 0, np.repeat(embedding[:1], items, 0)):
        points, _ = project(rows)
        assert points.shape == (items, 2)
        assert np.abs(points).max() <= 1 + 1e-9
        assert (points == project(rows)[0]).all()


def test_the_map_keeps_groups_apart():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 30)
    points, method = project((np.eye(3, 20)[truth] * 9 + rng.normal(size=(90, 20))).astype(np.float32))
    centres = np.stack([points[truth == k].mean(0) for k in range(3)])
    assert method == "t-SNE"
    assert (np.linalg.norm(points[:, None] - centres, axis=2).argmin(1) == truth).mean() > 0.95


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_draws_everything(tmp_path):
    names = ["cat", HOSTILE, "new-1", "new-2"]
    more = {"data": HOSTILE, "warnings": [HOSTILE], "estimate": COUNTED | {"doubt": HOSTILE}}
    write_run(tmp_path / "run", names=names, truth=["cat", HOSTILE, "owl"], **more)
    lines = [{"epoch": e, "loss/total": float("nan") if e == 2 else e, "novel_acc/val/aware": e / 9} for e in range(9)]
    write_extras(tmp_path / "run", lines, "seed = 1\n")
    dom = browse(
        write_report(tmp_path / "run", Pictures(lambda item: png() if item % 2 else None)), tmp_path / "browser"
    )
    html = re.search(r"<html[^>]*>", dom)
    assert html is not None
    assert "data-error" not in html[0]
    assert "data-ready" in html[0]
    assert dom.count('class="card"') == 4
    assert dom.count('data-item="') > 20
    assert re.search(r'data-drawn="60"', dom)
    assert dom.count('class="cell') == 3 * 4
    assert dom.count('class="curve"') == 2
    assert dom.count('class="bad"') == 1
    assert dom.count('class="branch') >= 6
    assert dom.count('<circle class="probe') == 3
    assert "No item was assigned to this category." in dom
    assert '<img src="x"' not in dom
    assert not re.search(r'<section id="\w+" data-link="[^"]+" hidden', dom)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_every_control_works_and_a_rename_is_drawn(tmp_path):
    run = write_run(tmp_path / "run", truth=["cat", "dog", "owl"])
    write_extras(run, [{"epoch": e, "stage": f"s{e // 3}", "loss/total": None if e == 2 else e} for e in range(6)])
    page = tmp_path / "play.html"
    text = write_report(run, Pictures(lambda item: png())).read_text(encoding="utf-8")
    page.write_text(text.replace("</body>", f"{PLAY}</body>"), encoding="utf-8")
    dom = browse(page, tmp_path / "browser")
    html = re.search(r"<html[^>]*>", dom)
    assert html is not None
    assert "data-error" not in html[0]
    assert "data-played" in html[0]
    assert '<span class="name">renamed</span>' in dom


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_draws_a_bare_run(tmp_path):
    run = write_run(tmp_path / "run", names=["new-1"], known=0, items=3)
    dom = browse(write_report(run, Pictures(lambda item: None)), tmp_path / "browser")
    assert "data-error" not in dom.split(">")[1]
    assert re.search(r"<html[^>]* data-ready", dom)
    assert dom.count('class="card"') == 1
    assert re.search(r'data-drawn="3"', dom)
    assert re.findall(r'<section id="(\w+)" data-link="[^"]+" hidden', dom) == [
        "known",
        "evidence",
        "confusion",
        "training",
        "settings",
    ]
