"""A hook of the site: formulas as GitHub reads them, `$...$` and blocks of ```math, become MathML while it is built."""

from __future__ import annotations

import re
from re import Match
from typing import Any
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor

BLOCK = re.compile(r"^```math\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = r"(?<![\\$\w])\$(?![\s$])([^$]+?)(?<![\s\\])\$(?![\w$])"


def mathml(formula: str, display: str) -> str:
    braced = re.sub(r"\\mathbb (\w)", r"\\mathbb{\1}", " ".join(formula.split()))
    # Browsers stretch each bar of a norm by what stands beside it, so that the two of a pair differ in height.
    return convert(braced, display=display).replace("<mo>&#x02016;</mo>", '<mo stretchy="false">&#x02016;</mo>')


class Blocks(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        def stash(found: Match[str]) -> str:
            return f"\n{self.md.htmlStash.store(mathml(found[1], 'block'))}\n"

        return BLOCK.sub(stash, "\n".join(lines)).split("\n")


class Inline(InlineProcessor):
    def handleMatch(self, m: Match[str], data: str) -> tuple[Element | str | None, int | None, int | None]:  # noqa: N802
        return self.md.htmlStash.store(mathml(m[1], "inline")), m.start(0), m.end(0)


class Mathematics(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 the name is Markdown's
        md.preprocessors.register(Blocks(md), "mathematics", 28)  # before fences become code
        md.inlinePatterns.register(Inline(INLINE, md), "mathematics", 185)  # after `code`, before backslashes


def on_config(config: Any) -> Any:
    config.markdown_extensions.append(Mathematics())
    return config
