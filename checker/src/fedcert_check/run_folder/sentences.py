"""report.html: its headline, its conclusions and what they assume, held against those of result.json.

Those of result.json are made again from the certificates (`concluding`). A bound that stands in words
anywhere else in the page, as in "at least 99 %", is one that nothing proves. Pictures, tables and other words
are not looked at here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import zip_longest
from typing import Any

from fedcert_check.errors import InvalidRun
from fedcert_check.run_folder.findings import Finding
from fedcert_check.run_folder.page import PAGE, Attributes
from fedcert_check.run_folder.stated import Stated
from fedcert_check.subject import WEIGHTED
from fedcert_check.validation import differing, quoted

HEADLINE, SECTION = "sentence", "conclusions"
VOID = frozenset((
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track"),
    "wbr",
))
"""Elements without an end."""
INLINE = frozenset((
    *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "i", "mark", "q", "s", "small", "span", "strong"),
    *("sub", "sup", "u", "var", "wbr"),
))
"""Elements that do not end a sentence."""
UNSEEN = frozenset(("script", "style"))
DEEPEST = 100
"""Elements within each other; a page of ours has some ten."""
BOUND = re.compile(
    r"\b(?:at\s+least|at\s+most|(?:no|not)\s+(?:less|more)\s+than)\s+[0-9][0-9.,\s]*(?:%|per\s?cent)", re.I
)


@dataclass
class Element:
    """An open element of the page.

    Attributes:
        tag: its name.
        line: where it begins.
        attributes: in their order.
        pieces: its text, without that of folded parts (`details`) inside.
    """

    tag: str
    line: int
    attributes: Attributes
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its text, with single spaces."""
        return spaced("".join(self.pieces))

    def get(self, name: str) -> str:
        """An attribute; of several of one name browsers take the first."""
        return next((value or "" for key, value in self.attributes if key == name), "")


@dataclass(frozen=True)
class Said:
    """A text of the page and the line that it begins in."""

    line: int
    text: str


class SentenceReader(HTMLParser):
    """Collects headlines, conclusions, assumptions, and all other text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.headlines: list[Said] = []
        self.disguised: list[int] = []
        self.conclusions: list[Said] = []
        self.assumptions: list[Said] = []
        self.others: list[Said] = []
        self._open: list[Element] = []
        self._loose: list[str] = []
        self._loose_line = 1

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        """Open an element."""
        if tag not in INLINE:
            self._end_loose()
        if tag not in VOID:
            if len(self._open) >= DEEPEST:  # each text is added to every element that it stands in
                raise InvalidRun(f"{PAGE}: line {self.getpos()[0]}: more than {DEEPEST} elements in another")
            self._open.append(Element(tag, self.getpos()[0], attrs))

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        """Open an element and close it."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close an element, and all that are open inside it."""
        if tag not in INLINE:
            self._end_loose()
        if all(own.tag != tag for own in self._open):
            return
        while self._open:
            own = self._open.pop()
            self._keep(own)
            if own.tag == tag:
                return

    def handle_data(self, data: str) -> None:
        """Add a text to the elements that it stands in."""
        if any(own.tag in UNSEEN for own in self._open):
            return
        marked = any(own.tag == "data" for own in self._open)  # whose number is held against result.json
        if not self._loose:
            self._loose_line = self.getpos()[0]
        kept = False
        for own in reversed(self._open):
            own.pieces.append(data)
            kept |= _is_headline(own) or self._in_conclusions(own)
            if own.tag == "details":
                break
        if not kept:
            self._loose.append("…" if marked else data)

    def close(self) -> None:
        """End all that is open."""
        super().close()
        while self._open:
            self._keep(self._open.pop())
        self._end_loose()

    def _end_loose(self) -> None:
        text = spaced("".join(self._loose))
        if text:
            self.others.append(Said(self._loose_line, text))
        self._loose = []

    def _in_conclusions(self, own: Element) -> bool:
        """Whether an open element is a conclusion or an assumption."""
        return own.tag in ("dd", "li") and any(_is_section(outer) for outer in self._open)

    def _keep(self, own: Element) -> None:
        if _is_headline(own):
            self.headlines.append(Said(own.line, own.text))
            if len(own.attributes) > 1:
                self.disguised.append(own.line)
        elif self._in_conclusions(own):
            kept = self.conclusions if own.tag == "dd" else self.assumptions
            kept.append(Said(own.line, own.text))


def compare_sentences(content: bytes, stated: Stated) -> Iterator[Finding]:
    """Sentences of the page that result.json does not have, or that are missing.

    Args:
        content: the bytes of the page, which `page.read_page` could read.
        stated: what result.json says.
    """
    reader = SentenceReader()
    reader.feed(content.decode())
    reader.close()
    rows = [own.value for own in stated.conclusions]
    yield from _compare_headline(reader, headline(stated, rows))
    expected = [_text(own) for radius in _radii(stated) for own in rows if own.get("epsilon") == radius]
    for said, own in zip_longest(reader.conclusions, expected):
        if own is None:
            says = f"a conclusion that result.json does not have: {quoted(said.text)}"
            yield Finding(PAGE, f"line {said.line}, conclusion", says)
        elif said is None:
            yield Finding(PAGE, "conclusions", f"missing: {quoted(own)}")
        elif said.text != own:
            yield _other(f"line {said.line}, conclusion", said.text, own)
    assumed = {spaced(str(text)) for row in rows for text in _list(row.get("assumptions"))}
    for said in reader.assumptions:
        if said.text not in assumed:
            says = f"an assumption that result.json does not have: {quoted(said.text)}"
            yield Finding(PAGE, f"line {said.line}, assumption", says)
    for said in reader.others:
        for found in BOUND.finditer(said.text):
            says = f"a bound in words that is no conclusion of result.json: {quoted(found[0])}"
            yield Finding(PAGE, f"line {said.line}", says)


def headline(stated: Stated, rows: Sequence[dict[str, Any]]) -> str:
    """The first conclusion at the radius of the headline; where there is none, that nothing is proven.

    Args:
        stated: what result.json says.
        rows: its conclusions.
    """
    radii = _radii(stated)
    moving = [radius for radius in radii if radius > 0] if stated.norm == WEIGHTED else []
    first = next(iter(moving or radii), None)
    said = [_text(own) for own in rows if own.get("epsilon") == first]
    rule = stated.config.get("rule")
    return (said or [f"Nothing is proven of the model that {rule} deploys with these events."])[0]


def spaced(text: str) -> str:
    r"""A text with single spaces, as browsers show it.

    >>> spaced(" a  b\n")
    'a b'
    """
    return " ".join(text.split())


def _compare_headline(reader: SentenceReader, expected: str) -> Iterator[Finding]:
    if len(reader.headlines) != 1:
        yield Finding(PAGE, "headline", f"{len(reader.headlines)} of them, not one")
    for line in reader.disguised:
        yield Finding(PAGE, f"line {line}, headline", "it has other attributes than its class")
    for said in reader.headlines:
        if said.text != expected:
            yield _other(f"line {said.line}, headline", said.text, expected)


def _other(place: str, said: str, expected: str) -> Finding:
    ours, theirs = differing(said, expected)
    return Finding(PAGE, place, f"{ours}, but {theirs} follows from result.json")


def _is_headline(own: Element) -> bool:
    return own.tag == "p" and HEADLINE in own.get("class").split()


def _is_section(own: Element) -> bool:
    return own.tag == "section" and own.get("id") == SECTION


def _radii(stated: Stated) -> list[float]:
    """The radii of the settings; what is none there is said elsewhere (`about`)."""
    return [own for own in _list(stated.config.get("epsilon")) if type(own) in (int, float)]


def _text(row: dict[str, Any]) -> str:
    """The sentence of a conclusion; that it is one is held against the certificates elsewhere."""
    return spaced(str(row.get("sentence")))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
