"""What is recorded in the repository: reports of what the JSON files hold, files that a table asks for, sound links."""

import json
import re
from pathlib import Path

import pytest

from experiments import __main__ as command
from experiments import write
from experiments.records import cell_file, record_of
from experiments.tables import EXHIBITS, cells_of

FOLDER = Path(command.__file__).parent
PAGES = [*FOLDER.glob("*.md"), *FOLDER.glob("results/*.md"), *FOLDER.glob("results/cells/*/*.md")]


@pytest.mark.parametrize("scale", command.REPORTS)
def test_results_are_up_to_date(scale):
    """Report and index hold what the JSON files give, byte for byte: else run `python -m experiments --write`."""
    results, report = command.places(scale, None)
    if scale == "paper" and not (results / "cells" / scale).exists():
        assert not report.exists()
        return
    for file, text in write.documents(scale, results, report).items():
        assert file.exists(), f"{file.name} is missing: python -m experiments --scale {scale} --write"
        assert file.read_bytes() == text.encode(), f"{file.name} is old: python -m experiments --scale {scale} --write"


@pytest.mark.parametrize("scale", command.REPORTS)
def test_every_file_is_a_cell_of_some_table(scale):
    """A setting that was renamed, or a default that was changed, would leave numbers behind that nothing shows."""
    results, _ = command.places(scale, None)
    asked = {cell_file(results, cell): cell for cell in cells_of(EXHIBITS.values(), scale)}
    files = sorted((results / "cells" / scale).glob("*/*.json"))
    assert [file.name for file in files if file not in asked] == []
    for file in files:
        cell = asked[file]
        assert record_of(results, cell), f"{file.name} has other settings than its cell: {cell.question}"
        assert json.loads(file.read_bytes())["cell"] == cell.question


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(FOLDER).as_posix())
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []
