"""Docstrings are plain text with `code` and *emphasis*: what else reStructuredText would read is escaped."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PARTS = re.compile(r"(`[^`]*`)")
EMPHASIS = re.compile(r"(?<![\w*])\*(?=\w)([^*]+)(?<=\w)\*(?![\w*])")


def escaped(line: str) -> str:
    r"""A line without substitutions and without stars that are no emphasis.

    >>> escaped("the *exact* mean, |μ* − μ| of `a*b`")
    'the *exact* mean, \\|μ\\* − μ\\| of `a*b`'
    """
    if line.lstrip().startswith((">>>", "...")):
        return line
    return "".join(part if part.startswith("`") else _escaped(part) for part in PARTS.split(line))


def _escaped(text: str) -> str:
    kept = EMPHASIS.sub(lambda match: f"\0{match[1]}\0", text)
    return kept.replace("*", "\\*").replace("|", "\\|").replace("\0", "*")


def _process(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    lines[:] = [escaped(line) for line in lines]


def _dashes(app: Sphinx, doctree: nodes.document) -> None:
    """Sphinx writes two hyphens before a meaning, for smart quotes to join; those of options stay."""
    for text in list(doctree.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" – "))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension, before napoleon reads docstrings."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    app.connect("doctree-read", _dashes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
