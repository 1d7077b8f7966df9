"""report.html: its digests, and every bound that it marks as such, held against result.json.

Its headline and its conclusions are held against result.json by `sentences`, and all its words where a page
can be made anew (`whole_page`).
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from html.parser import HTMLParser

from fedcert_check.errors import InvalidRun
from fedcert_check.run_folder.findings import Finding
from fedcert_check.run_folder.stated import Row, Stated
from fedcert_check.validation import quoted

PAGE = "report.html"
RESULT_DIGEST, PAGE_DIGEST = "fedcert-result", "fedcert-page"
SHOWN = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,17}))?", re.ASCII)
VALUE = re.compile(r"[0-9]{1,3}(\.[0-9]{1,400})?(e-[0-9]{1,3})?", re.ASCII)
Attributes = list[tuple[str, str | None]]


@dataclass(frozen=True)
class Shown:
    """A bound in the page.

    Attributes:
        place: line and column of the element.
        value: its attribute of this name.
        claim: `data-claim`: kind, rule, events and radius.
        side: `data-side`: lower or upper.
        text: what a reader sees.
    """

    place: str
    value: str
    claim: str
    side: str
    text: str


class _Reader(HTMLParser):
    """Collects the digests and the bounds."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.digests: dict[str, list[str]] = {RESULT_DIGEST: [], PAGE_DIGEST: []}
        self.bounds: list[Shown] = []
        self.open: dict[str, str] | None = None
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        own = {name: value or "" for name, value in attrs}
        line, column = self.getpos()
        if self.open is not None:
            raise InvalidRun(f"{PAGE}: line {line}: an element inside a bound")
        if tag == "meta" and own.get("name") in self.digests:
            self.digests[own["name"]].append(own.get("content", ""))
        if tag == "data" and "bound" in own.get("class", "").split():
            if len(own) < len(attrs):
                raise InvalidRun(f"{PAGE}: line {line}: an attribute of a bound appears twice")
            self.open = own | {"place": f"line {line}, column {column + 1}"}
            self.text = ""

    def handle_endtag(self, tag: str) -> None:
        if self.open is None:
            return
        own = self.open
        if tag != "data":
            raise InvalidRun(f"{PAGE}: {own['place']}: a bound that does not end")
        value, claim, side = (own.get(name, "") for name in ("value", "data-claim", "data-side"))
        self.bounds.append(Shown(own["place"], value, claim, side, self.text))
        self.open = None

    def handle_data(self, data: str) -> None:
        self.text += data if self.open is not None else ""


def compare_page(content: bytes, result: bytes, stated: Stated) -> Iterator[Finding]:
    """Digests and bounds of the page that do not fit.

    Args:
        content: the bytes of the page.
        result: the bytes of result.json.
        stated: what they say.
    """
    reader = read_page(content)
    digests = {name: found[0] if len(found) == 1 else None for name, found in reader.digests.items()}
    for name, found in reader.digests.items():
        if len(found) != 1:
            yield Finding(PAGE, name, f"{len(found)} digests of this name, not one")
    if digests[RESULT_DIGEST] not in (None, hashlib.sha256(result).hexdigest()):
        yield Finding(PAGE, RESULT_DIGEST, "the page was made from another result.json: the digest differs")
    own = digests[PAGE_DIGEST]
    if own is not None and not _sealed(content, own):
        yield Finding(PAGE, PAGE_DIGEST, "the page was changed since it was written: its digest differs")
    rows = {page_name(row): row for row in stated.bounds}
    for shown in reader.bounds:
        yield from _compare_bound(shown, rows)


def read_page(content: bytes) -> _Reader:
    """The digests and bounds of a page.

    Args:
        content: its bytes.
    """
    reader = _Reader()
    try:
        reader.feed(content.decode())
        reader.close()
    except InvalidRun:
        raise
    except (ValueError, AssertionError, RecursionError) as error:
        raise InvalidRun(f"{PAGE}: not readable as HTML ({str(error)[:120]})") from error
    if reader.open is not None:
        raise InvalidRun(f"{PAGE}: {reader.open['place']}: a bound that does not end")
    return reader


def page_name(row: Row) -> str:
    """What a page calls a claim: kind, rule, events and radius.

    Args:
        row: of the summary.
    """
    return f"{row.claim} {row.rule} {row.events} {row.epsilon!r}"


def page_digest(content: bytes, own: str) -> str:
    """SHA-256 of the page with its own digest replaced by zeros.

    Args:
        content: the bytes of the page.
        own: the digest that it carries.
    """
    return hashlib.sha256(content.replace(own.encode(), b"0" * 64, 1)).hexdigest()


def _sealed(content: bytes, own: str) -> bool:
    return re.fullmatch("[0-9a-f]{64}", own) is not None and page_digest(content, own) == own


def _compare_bound(shown: Shown, rows: dict[str, Row]) -> Iterator[Finding]:
    place = f"{shown.place}, bound"
    row = rows.get(shown.claim)
    if row is None:
        yield Finding(PAGE, place, f"a claim that result.json does not make: {quoted(shown.claim)}")
        return
    if shown.side not in ("lower", "upper"):
        yield Finding(PAGE, place, f"side {quoted(shown.side)} is neither lower nor upper")
        return
    proven = row.lower if shown.side == "lower" else row.upper
    value = float(shown.value) if VALUE.fullmatch(shown.value) else None
    if value is None or value != proven:
        says = f"value {quoted(shown.value)}, but {row.place}.{shown.side} of result.json is {proven!r}"
        yield Finding(PAGE, place, says)
    elif not _rounded(shown.text, value, shown.side):
        says = f"shows {quoted(shown.text)}, which is not {value!r} in per cent, rounded {_direction(shown)}"
        yield Finding(PAGE, place, says)


def _direction(shown: Shown) -> str:
    return "down" if shown.side == "lower" else "up"


def _rounded(text: str, value: float, side: str) -> bool:
    """Whether the text is the value in per cent, rounded in the safe direction at its last digit."""
    found = SHOWN.fullmatch(text.strip().removesuffix("%").strip())
    if found is None:
        return False
    unit = Fraction(1, 10 ** len(found[2] or ""))
    shown, exact = Fraction(found[0]), 100 * Fraction(value)
    return shown <= exact < shown + unit if side == "lower" else shown - unit < exact <= shown
