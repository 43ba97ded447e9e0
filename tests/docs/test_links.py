"""What the documentation points to is there: files, headings and tests."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "experiments/*.md")
    for page in ROOT.glob(pattern)
)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(\s*<?([^)>\s]+)>?[^)]*\)|<(?:img|a)\b[^>]*?\b(?:src|href)=[\"']([^\"']+)[\"']")
HEADING = re.compile(r"^#{1,6} +(.+?)[ #]*$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def links(text: str) -> list[str]:
    """The targets of links and images, but not of those inside code or to other sites."""
    found = [first or second for first, second in LINK.findall(CODE.sub("", text))]
    return [target for target in found if not re.match(r"[a-z][a-z0-9+.-]*:", target)]


def anchors(text: str) -> set[str]:
    """What GitHub and the site call each heading: letters, digits and dashes; a number goes to those that recur."""
    named: dict[str, int] = {}
    found = set()
    for heading in HEADING.findall(re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        times = named[slug] = named.get(slug, -1) + 1
        found.add(f"{slug}-{times}" if times else slug)
    return found


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    text = page.read_text(encoding="utf-8")
    lost = []
    for target in links(text):
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            lost.append(target)
    return lost


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page):
    assert broken(page) == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name != "LOG.md"],  # a notebook names tests as they were on that day
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_every_test_that_is_named_exists(page):
    for file, name in TEST.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / file).is_file(), file
        assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{name}"


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "other.md").write_text(
        "# Two words, `code` & more\n\n```sh\n# a comment\n```\n\n## Twice\n\n## Twice\n"
    )
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#two-words-code--more) [c](other.md#twice-1) [d](https://example.com/x)\n"
        "`[e](gone.md)` ![f](gone.png) [g](other.md#a-comment) [h](#nowhere) <img src='gone.svg'>\n"
    )
    assert broken(page) == ["gone.png", "other.md#a-comment", "#nowhere", "gone.svg"]
