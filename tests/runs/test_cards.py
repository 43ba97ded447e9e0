"""A Discovery in a notebook: the cards as one piece of HTML, without a script, with every name as text."""

import base64
import json
import re
import sys
from types import ModuleType, SimpleNamespace

from runs import HOSTILE, write_run

from novakind.progress import Reporter
from novakind.runs.discovery import Discovery


def test_a_discovery_shows_its_cards(tmp_path):
    run = write_run(
        tmp_path / "run", names=["cat", HOSTILE, "new-1", "new-2"], paths=[f"{HOSTILE}{i}" for i in range(60)]
    )
    picture = '{"pictures": {"%d": "data:image/png;base64,aGk="}, "texts": null}'
    page = f'<script type="application/json" id="data">{picture}</script>'
    found = Discovery.load(run)
    (run / "report.html").write_text(page % found.categories[2].typical[0])
    shown = found._repr_html_()
    assert shown.count("<section") == 4
    assert shown.index("new-1") < shown.index("cat")
    assert '<img src="data:image/png;base64,aGk="' in shown
    assert "<script" not in shown
    assert 'onerror="' not in shown
    assert "&lt;/script&gt;" in shown


def test_recordings_are_drawn_as_lines(tmp_path):
    run = write_run(tmp_path / "run")
    found = Discovery.load(run)
    first, second = found.categories[2].typical[:2]
    code = base64.b64encode(bytes([0, 254, 255, 127, 0, 0, 0, 0])).decode()
    items = {str(first): [4, [0, -2], [2, -2], code], str(second): [4, [0], "x", code]}  # the second is damaged
    data = json.dumps({"pictures": None, "signals": {"items": items}})
    (run / "report.html").write_text(f'<script type="application/json" id="data">{data}</script>')
    shown = found._repr_html_()
    assert shown.count("<svg") == 1
    assert re.findall('points="(.*?)"', shown) == ["1,25.0 34,2.0 99,13.5", "1,48.0 34,48.0 66,48.0 99,48.0"]
    assert found.paths[second] in shown


def test_without_a_report_or_with_a_damaged_one_items_go_by_their_names(tmp_path):
    run = write_run(tmp_path / "run")
    found = Discovery.load(run)
    assert "unlabeled/" in found._repr_html_()
    (run / "report.html").write_text('<script type="application/json" id="data">{"pictures": {"0": "javascript:x"}')
    assert "javascript" not in found._repr_html_()


def test_categories_that_were_merged_have_no_card(tmp_path):
    found = Discovery.load(write_run(tmp_path / "run")).merge(2, 3).rename(2, "foxes & co")
    assert found._repr_html_().count("<section") == 3
    assert "foxes &amp; co" in found._repr_html_()


def test_progress_in_a_notebook_is_one_line_that_changes(monkeypatch):
    shown, ipython = [], ModuleType("IPython")
    handle = SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    monkeypatch.setattr(ipython, "get_ipython", lambda: SimpleNamespace(kernel=1), raising=False)
    monkeypatch.setattr(ipython, "display", SimpleNamespace(display=lambda *_, **__: handle), raising=False)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    report = Reporter()
    for epoch in (1, 2):
        report.epoch({"epoch": epoch, "seconds": 0.1, "loss/ce": 1.0}, 2)
    assert [text.split("  ")[0] for text in shown] == ["epoch 1/2", "epoch 2/2"]
