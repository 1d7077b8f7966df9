"""What result.json states, as far as certificates can prove it; the rest is only held to its form."""

from dataclasses import dataclass
from typing import Any

from fedcert_check.run_folder.entries import Entry
from fedcert_check.run_folder.recorded import INPUTS, MAX_COUNT, SUBJECT, require_recorded
from fedcert_check.subject import NORMS

RESULT = "result.json"
KINDS = ("local", "transported", "direct")
CHOSEN = ("first", "random", "correct", "given")
FIELDS = (
    "fedcert", "config", "clients", "refused", "accuracy", "accuracy_by_rule", "inputs", "norm", "summary",
    "margins", "radii", "confidence", "conclusions", "estimates", "timings", "histograms",
)  # fmt: skip
TABLE_FIELDS = ("features", "accuracy_by_client")  # of a run whose inputs are measurements
ADDED_LATER = {"inputs", "norm", "margins", "radii", "confidence", "conclusions"}
MAX_SEED = 2**64 - 1


@dataclass(frozen=True)
class StatedClient:
    """A client that took part.

    Attributes:
        client: its name.
        examples: the number of examples that it states.
        digest: of its message.
    """

    client: str
    examples: int
    digest: str


@dataclass(frozen=True)
class StatedInputs:
    """The inputs that all properties are about.

    Attributes:
        dataset: the data set that they come from.
        chosen: how they were chosen.
        count: their number.
        available: the number of inputs that they were chosen from.
        seed: of a random choice.
        digest: of inputs and labels.
        accuracy: of the mean model on them, as recorded; None without labels.
    """

    dataset: str
    chosen: str
    count: int
    available: int | None
    seed: int | None
    digest: str
    accuracy: float | None


@dataclass(frozen=True)
class Row:
    """A claim that names its certificate.

    Attributes:
        place: of the row in result.json.
        claim: local, transported or direct; confidence for a confidence bound.
        rule: the name of the rule.
        events: the family of events; empty for a confidence bound.
        epsilon: the radius of all balls; None in the row of a radius search.
        threshold: of a radius search; None elsewhere.
        margin: by which labels win; None for that of the settings.
        lower: mean of the lower bounds; the mean radius in the row of a radius search.
        upper: mean of the upper bounds, or None; the median radius in the row of a radius search.
        properties: the number of properties.
        certificate: the name of the file.
    """

    place: str
    claim: str
    rule: str
    events: str
    epsilon: float | None
    threshold: float | None
    margin: float | None
    lower: float
    upper: float | None
    properties: int
    certificate: str

    @property
    def key(self) -> tuple[str, str, str, float | None, float | None]:
        """What identifies the claim, beside a margin of its own."""
        return self.claim, self.rule, self.events, self.epsilon, self.threshold


@dataclass(frozen=True)
class Confident(Row):
    """A confidence bound.

    Attributes:
        draws: the number of networks that were drawn.
        confidence: 1 − β.
        proven: the mean share of draws that are proven safe.
        broken: the mean share of draws that an attack breaks.
    """

    draws: int
    confidence: float
    proven: float
    broken: float


@dataclass(frozen=True)
class Stated:
    """The content of result.json.

    Attributes:
        config: the settings of the run, by name.
        clients: those that took part, in the order of the rule's weights.
        inputs: what the properties are about.
        norm: of all balls.
        bounds: the rows of `summary`.
        margins: those of `margins`, which have margins of their own.
        radii: those of `radii`.
        confidence: those of `confidence`.
        conclusions: those of `conclusions`, as JSON objects.
        features: which measurement each input coordinate is, as JSON; None where that is not said.
        labelled: whether labels win; otherwise constraints of the user's own are asked for.
    """

    config: dict[str, Any]
    clients: tuple[StatedClient, ...]
    inputs: StatedInputs
    norm: str
    bounds: tuple[Row, ...]
    margins: tuple[Row, ...]
    radii: tuple[Row, ...]
    confidence: tuple[Confident, ...]
    conclusions: tuple[Entry, ...]
    features: Any = None
    labelled: bool = True

    @property
    def rows(self) -> tuple[Row, ...]:
        """All claims of certificates."""
        return (*self.bounds, *self.margins, *self.radii)


def is_earlier(result: Entry) -> bool:
    """Whether an earlier version wrote the file, one that names neither inputs nor certificates."""
    rows = result.value.get("summary")
    named = isinstance(rows, list) and any(isinstance(row, dict) and "certificate" in row for row in rows)
    return not named and not ADDED_LATER & result.value.keys()


def read_stated(result: Entry) -> Stated:
    """What a result.json of this version states; raises `InvalidRun` with the field that does not fit.

    Args:
        result: the whole file.
    """
    result.fields(*FIELDS, or_these=(*TABLE_FIELDS, SUBJECT))
    result.below("fedcert").name()
    require_recorded(result)
    return Stated(
        result.below("config").object().value,
        tuple(_client(row) for row in result.below("clients").rows()),
        _inputs(result.below("inputs")),
        result.below("norm").one_of(*NORMS),
        tuple(_bounds(row) for row in result.below("summary").rows()),
        tuple(_bounds(row, "margin") for row in result.below("margins").rows()),
        tuple(_radii(row) for row in result.below("radii").rows()),
        tuple(_confidence(row) for row in result.below("confidence").rows()),
        tuple(row.object() for row in result.below("conclusions").rows()),
        result.value.get("features"),
        SUBJECT not in result.value,
    )


def _client(row: Entry) -> StatedClient:
    row.fields("client", "examples", "digest")
    return StatedClient(
        row.below("client").name(),
        row.below("examples").natural(1, MAX_COUNT),
        row.below("digest").hexadecimal(),
    )


def _inputs(entry: Entry) -> StatedInputs:
    entry.fields(*INPUTS)
    return StatedInputs(
        entry.below("dataset").name(),
        entry.below("chosen").one_of(*CHOSEN),
        entry.below("count").natural(1),
        entry.below("available").or_none(lambda own: own.natural(1, MAX_COUNT)),
        entry.below("seed").or_none(lambda own: own.natural(0, MAX_SEED)),
        entry.below("digest").hexadecimal(),
        entry.below("accuracy").or_none(Entry.probability),
    )


def _bounds(row: Entry, *more: str) -> Row:
    row.fields(
        "claim", "rule", "events", "epsilon", "lower", "upper", "properties", "seconds", "certificate",
        "reproved", *more,
    )  # fmt: skip
    return Row(
        row.place,
        row.below("claim").one_of(*KINDS),
        row.below("rule").name(),
        row.below("events").name(),
        row.below("epsilon").number(0.0),
        None,
        row.below("margin").number() if more else None,
        row.below("lower").probability(),
        row.below("upper").or_none(Entry.probability),
        *_common(row),
    )


def _radii(row: Entry) -> Row:
    row.fields(
        "claim", "rule", "events", "threshold", "mean", "median", "properties", "seconds", "certificate",
        "reproved",
    )  # fmt: skip
    return Row(
        row.place,
        row.below("claim").one_of(*KINDS),
        row.below("rule").name(),
        row.below("events").name(),
        None,
        row.below("threshold").probability(),
        None,
        row.below("mean").number(0.0),
        row.below("median").number(0.0),
        *_common(row),
    )


def _confidence(row: Entry) -> Confident:
    row.fields(
        "rule", "epsilon", "lower", "upper", "properties", "draws", "confidence", "proven", "broken",
        "seconds", "certificate", "reproved",
    )  # fmt: skip
    return Confident(
        row.place,
        "confidence",
        row.below("rule").name(),
        "",
        row.below("epsilon").number(0.0),
        None,
        None,
        row.below("lower").probability(),
        row.below("upper").probability(),
        *_common(row),
        row.below("draws").natural(1),
        row.below("confidence").probability(),
        row.below("proven").probability(),
        row.below("broken").probability(),
    )


def _common(row: Entry) -> tuple[int, str]:
    """The number of properties and the certificate; time and `reproved` are of the right type only."""
    row.below("seconds").number(0.0)
    row.below("reproved").truth()
    return row.below("properties").natural(1), row.below("certificate").file_name()
