"""properties.csv: one line for each property of each claim, held against the certificates."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from fedcert_check.errors import InvalidRun
from fedcert_check.run_folder.evidence import Evidence, PerProperty
from fedcert_check.run_folder.findings import Finding
from fedcert_check.run_folder.stated import Row, Stated
from fedcert_check.validation import quoted

TABLE = "properties.csv"
COLUMNS = (
    *("property", "input", "label", "epsilon", "threshold"),
    *("claim", "rule", "events", "lower", "upper", "norm", "chosen"),
)
INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
NUMBER = re.compile(r"[0-9]{1,400}(\.[0-9]{1,400})?(e[+-]?[0-9]{1,3})?", re.ASCII)
Key = tuple[str, str, str, float | None, float | None]


@dataclass(frozen=True)
class Line:
    """A line of the table.

    Attributes:
        number: of the line in the file, from 1.
        index: of the property.
        input: the position of its input in the test set.
        label: of the input; None where there are no labels.
        epsilon: the radius.
        threshold: of a radius search; None elsewhere.
        claim: the kind of claim.
        rule: the name of the rule.
        events: the family of events.
        lower: bound from below.
        upper: bound from above; None where there is none.
        norm: of the radius.
        chosen: how the inputs were chosen.
    """

    number: int
    index: int
    input: int
    label: int | None
    epsilon: float
    threshold: float | None
    claim: str
    rule: str
    events: str
    lower: float
    upper: float | None
    norm: str
    chosen: str

    @property
    def key(self) -> Key:
        """What identifies the claim; the radii of a radius search do not."""
        epsilon = self.epsilon if self.threshold is None else None
        return self.claim, self.rule, self.events, epsilon, self.threshold


def read_table(content: bytes) -> list[Line]:
    """The lines of the table; raises `InvalidRun` with the line that no run writes.

    Args:
        content: the bytes of the file.
    """
    try:
        rows = list(csv.reader(io.StringIO(content.decode(), newline=""), strict=True))
    except (ValueError, csv.Error) as error:
        raise InvalidRun(f"{TABLE}: not readable as a table ({str(error)[:120]})") from error
    if not rows or tuple(rows[0]) != COLUMNS:
        raise InvalidRun(f"{TABLE}: line 1: the columns are not {','.join(COLUMNS)}")
    return [_line(number, row) for number, row in enumerate(rows[1:], 2)]


def _line(number: int, row: list[str]) -> Line:
    if len(row) != len(COLUMNS):
        raise InvalidRun(f"{TABLE}: line {number}: {len(row)} columns, not {len(COLUMNS)}")
    own = dict(zip(COLUMNS, row, strict=True))

    def integer(name: str) -> int:
        if not INTEGER.fullmatch(own[name]):
            raise InvalidRun(f"{TABLE}: line {number}: {name}: {quoted(own[name])} is not an integer")
        return int(own[name])

    def real(name: str) -> float:
        value = float(own[name]) if NUMBER.fullmatch(own[name]) else float("inf")
        if value == float("inf"):
            raise InvalidRun(f"{TABLE}: line {number}: {name}: {quoted(own[name])} is not a number")
        return value

    return Line(
        number,
        integer("property"),
        integer("input"),
        integer("label") if own["label"] else None,
        real("epsilon"),
        real("threshold") if own["threshold"] else None,
        own["claim"],
        own["rule"],
        own["events"],
        real("lower"),
        real("upper") if own["upper"] else None,
        own["norm"],
        own["chosen"],
    )


def compare_table(lines: list[Line], stated: Stated, evidence: Evidence) -> Iterator[Finding]:
    """Lines that say other than the certificates, that are there twice, or that are missing.

    Args:
        lines: of the table.
        stated: what result.json says.
        evidence: the certificates.
    """
    rows: dict[Key, Row] = {}
    for row in (*stated.bounds, *stated.radii, *stated.confidence):  # the table has no column for a margin
        rows.setdefault(row.key, row)
    seen: dict[tuple[Key, int], int] = {}
    for line in lines:
        place = f"line {line.number}"
        row_of = rows.get(line.key)
        if row_of is None:
            yield Finding(TABLE, place, f"a claim that result.json does not make: {_words(line.key)}")
            continue
        first = seen.setdefault((line.key, line.index), line.number)
        if first != line.number:
            yield Finding(TABLE, place, f"property {line.index} of {_words(line.key)}, as in line {first}")
            continue
        bounds = evidence.of(row_of)
        if bounds is not None:
            yield from _compare_line(line, row_of, bounds)
    for key, row in rows.items():
        known = evidence.of(row)
        for p in range(row.properties if known is None else min(row.properties, len(known.subject))):
            if (key, p) not in seen:
                yield Finding(TABLE, "", f"the line of property {p} of {_words(key)} is missing")


def _compare_line(line: Line, row: Row, bounds: PerProperty) -> Iterator[Finding]:
    p, subject, place = line.index, bounds.subject, f"line {line.number}"
    if not 0 <= p < len(subject):
        yield Finding(TABLE, f"{place}: property", f"{p}, but {row.certificate} has {len(subject)}")
        return
    own = {
        "input": int(subject.indices[p]),
        "label": None if subject.labels is None else int(subject.labels[p]),
        "epsilon": float(subject.radius[p]),
        "lower": float(bounds.lower[p]),
        "upper": None if bounds.upper is None else float(bounds.upper[p]),
        "norm": subject.norm,
        "chosen": subject.chosen,
    }
    for field, proven in own.items():
        said = getattr(line, field)
        if said != proven:
            yield Finding(TABLE, f"{place}: {field}", f"{said!r}, but {proven!r} in {row.certificate}")


def _words(key: Key) -> str:
    claim, rule, events, epsilon, threshold = key
    at = f"radius {epsilon!r}" if threshold is None else f"threshold {threshold!r}"
    return f"{quoted(claim)} {quoted(rule)} {quoted(events)} at {at}".replace("'", "")
