"""Entries of a JSON file from a stranger: every value has a place, a type and a range, or is refused."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from fedcert_check.errors import InvalidRun
from fedcert_check.tensorfile import without_duplicates
from fedcert_check.validation import MAX_NATURAL, PLAIN_NAME, quoted

T = TypeVar("T")
MAX_DEPTH = 40
MAX_TEXT = 4000  # characters of a sentence
DIGEST = re.compile("[0-9a-f]{64}")
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}\.safetensors")


@dataclass(frozen=True)
class Entry:
    """A value of a JSON file and where it stands.

    Attributes:
        file: the name of the file.
        place: names and indices on the way to the value, with dots between them; empty for the whole file.
        value: what stands there.
    """

    file: str
    place: str
    value: Any

    def refuse(self, complaint: str) -> NoReturn:
        """Raise `InvalidRun` with file and place.

        Args:
            complaint: what is wrong.
        """
        where = f"{self.file}: {self.place}" if self.place else self.file
        raise InvalidRun(f"{where}: {complaint}")

    @property
    def shown(self) -> str:
        """The value as a message shows it: no longer than a line."""
        return quoted(self.value)

    def below(self, name: str | int) -> "Entry":
        """The value under a name or an index, which is there."""
        place = f"{self.place}.{name}" if self.place else str(name)
        return Entry(self.file, place, self.value[name])

    def fields(self, *names: str, or_these: tuple[str, ...] = ()) -> "Entry":
        """The entry itself, if it is an object with exactly these names, and perhaps some others.

        Args:
            *names: all of them are needed.
            or_these: may be there too.
        """
        own = self.object().value
        for name in own.keys() - {*names, *or_these}:
            self.refuse(f"the unknown field {quoted(name)}")
        for name in names:
            if name not in own:
                self.refuse(f"the field {name!r} is missing")
        return self

    def object(self) -> "Entry":
        """The entry itself, if it is an object."""
        if not isinstance(self.value, dict):
            self.refuse(f"{quoted(self.value)} is not an object")
        return self

    def rows(self) -> list["Entry"]:
        """The items of a list."""
        if not isinstance(self.value, list):
            self.refuse(f"{quoted(self.value)} is not a list")
        return [self.below(i) for i in range(len(self.value))]

    def name(self) -> str:
        """A plain name."""
        return self._matching(PLAIN_NAME, "a plain name")

    def file_name(self) -> str:
        """The name of a certificate file, without a folder."""
        return self._matching(FILE_NAME, "the name of a certificate file")

    def one_of(self, *allowed: str) -> str:
        """One of some words."""
        return self._of(lambda v: isinstance(v, str) and v in allowed, f"one of {', '.join(allowed)}", str)

    def text(self) -> str:
        """A text."""
        return self._of(
            lambda v: isinstance(v, str) and len(v) <= MAX_TEXT, f"a text of up to {MAX_TEXT} characters", str
        )

    def hexadecimal(self) -> str:
        """A SHA-256 digest."""
        return self._matching(DIGEST, "a digest")

    def natural(self, least: int = 0, most: int = MAX_NATURAL) -> int:
        """An integer of a range."""
        return self._of(
            lambda v: type(v) is int and least <= v <= most, f"an integer from {least} to {most}", int
        )

    def truth(self) -> bool:
        """True or false."""
        return self._of(lambda v: type(v) is bool, "true or false", bool)

    def number(self, least: float = -math.inf, most: float = math.inf) -> float:
        """A finite number of a range."""
        return self._of(
            lambda v: type(v) in (int, float) and _finite(v) and least <= v <= most,
            f"a number from {least} to {most}",
            float,
        )

    def probability(self) -> float:
        """A number from 0 to 1."""
        return self.number(0.0, 1.0)

    def or_none(self, read: Callable[["Entry"], T]) -> T | None:
        """None for null, else what `read` makes of the entry."""
        return None if self.value is None else read(self)

    def _matching(self, form: re.Pattern[str], what: str) -> str:
        return self._of(lambda v: isinstance(v, str) and form.fullmatch(v) is not None, what, str)

    def _of(self, fits: Callable[[Any], bool], what: str, make: Callable[[Any], T]) -> T:
        if not fits(self.value):
            self.refuse(f"{quoted(self.value)} is not {what}")
        return make(self.value)


def _finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


def parse(file: str, content: bytes) -> Entry:
    """The content of a JSON file; texts that JSON readers disagree on are refused.

    Args:
        file: the name of the file.
        content: its bytes.
    """
    try:
        value = json.loads(
            content.decode(),
            object_pairs_hook=without_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
        )
    except (ValueError, RecursionError) as error:
        raise InvalidRun(f"{file}: not readable as JSON ({str(error)[:120]})") from error
    if _depth(value) > MAX_DEPTH:
        raise InvalidRun(f"{file}: nested more than {MAX_DEPTH} levels deep")
    return Entry(file, "", value)


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is beyond all numbers")
    return value


def _depth(value: Any) -> int:
    """How deeply lists and objects are nested; counting stops beyond the limit."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            below
            for own in level
            for below in (own.values() if isinstance(own, dict) else own if isinstance(own, list) else ())
        ]
    return depth
