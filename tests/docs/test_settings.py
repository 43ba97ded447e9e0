"""The page of settings is made from the code: whatever can be set stands on it."""

import runpy
from pathlib import Path

import pytest

from novakind.app.cli import VERBS
from novakind.modality import KINDS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def page() -> str:
    made = runpy.run_path(str(DOCS / "generate.py"))["on_page_markdown"]
    return made((DOCS / "settings.md").read_text(encoding="utf-8"))


def test_every_command_option_and_preset_stands_on_it(page):
    assert "<!--" not in page
    for name, verb in VERBS.items():
        assert f"### {name}\n\n`{' '.join(['novakind', name, *verb.plain.split()])}`" in page
        for setting in verb.known().values():
            assert f"| `{setting.option}`" in page
            assert setting.doc
    for kind in KINDS.values():
        assert f"### {kind.noun.capitalize()}\n" in page
        for preset in kind.presets:
            assert f"- `{preset}`" in page


def test_presets_are_spelled_as_options(page):
    assert "- `default`: `--no-motion`" in page
    assert "`--views.no-flip` `--views.crop 0.7` `--views.rotate 12`" in page
