"""What result.json and properties.json say, and the only reader of either."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    TypeAdapter,
    ValidationError,
    field_validator,
    with_config,
)
from pydantic_core import ErrorDetails, core_schema
from typing_extensions import TypedDict  # pydantic takes typing's own from Python 3.12 on

from fedcert.app.config import Natural, Positive, RunConfig, complaint
from fedcert.app.journal import PROPERTIES, RESULT
from fedcert.app.jsonfile import read_json
from fedcert.certificate import Kind
from fedcert.errors import UnreadableFile
from fedcert.wire.message import NAME

FIELDS_ADDED_LATER = {("fedcert",), ("histograms",)}  # which results of earlier versions lack
T = TypeVar("T")
record = with_config(ConfigDict(strict=True, extra="forbid", allow_inf_nan=False))

Name = Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Image = Annotated[str, Field(pattern="^data:image/png;base64,iVBORw0KGgo[A-Za-z0-9+/]*={0,2}$")]
Probability = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0, le=1e12)]


class RecordedConfig(RunConfig):
    """The configuration of a run that was made, perhaps on a machine with other devices."""

    @field_validator("device")
    @classmethod
    def _known_device(cls, value: str) -> str:
        return value


def _plain(config: RecordedConfig) -> dict[str, Any]:
    return config.model_dump(mode="json")


Settings = Annotated[
    dict[str, Any],
    GetPydanticSchema(
        lambda _, handler: core_schema.no_info_after_validator_function(
            _plain, handler.generate_schema(RecordedConfig)
        )
    ),
]
"""All settings of a run, as they are written."""


@record
class Claimed(TypedDict):
    """What is bounded; see `fedcert.certificate.Claim`.

    Attributes:
        claim: its kind.
        rule: that deploys the model.
        events: whose probability was added up.
    """

    claim: Kind
    rule: Name
    events: Name


@record
class Bound(Claimed):
    """What is proven of one property.

    Attributes:
        lower: L.
        upper: U; None where none was proven.
    """

    lower: Probability
    upper: Probability | None


@record
class Row(Bound):
    """What is proven of all properties: the means of L and U.

    Attributes:
        properties: how many there are.
        seconds: that the proof took.
    """

    properties: Positive
    seconds: Seconds


@record
class Participant(TypedDict):
    """A client that took part.

    Attributes:
        client: its name.
        examples: how many it was trained on.
        digest: that certificates name its message by.
    """

    client: Name
    examples: Positive
    digest: Digest


@record
class Sampled(TypedDict):
    """A Monte Carlo mean over all properties.

    Attributes:
        name: what was sampled.
        rule: that deploys the model.
        value: the mean.
        samples: how many networks were drawn.
        confidence_interval: its two ends.
    """

    name: Literal["mc-ibp", "aggregated-sampling", "attack-survival"]
    rule: Name
    value: Probability
    samples: Positive
    confidence_interval: Annotated[list[Probability], Field(min_length=2, max_length=2)]


def _ordered(bound: T) -> T:
    match bound:
        case {"lower": lower, "upper": float(upper)} if lower > upper:
            raise ValueError(f"a lower bound of {lower} above the upper one of {upper}")
    return bound


@record
class Summary(TypedDict):
    """The content of result.json.

    Attributes:
        fedcert: the version that made it.
        config: all settings of the run.
        clients: that took part.
        refused: message files that were not accepted, with the reasons.
        accuracy: of the posterior-mean model that the deployed rule makes.
        accuracy_by_rule: the same of every rule that was looked at.
        summary: every claim with its bounds.
        estimates: the Monte Carlo diagnostics.
        timings: seconds by stage.
        histograms: how many examples of each class each client holds; None where only they know.
    """

    fedcert: Name
    config: Settings
    clients: Annotated[list[Participant], Field(min_length=1)]
    refused: dict[str, str]
    accuracy: Probability
    accuracy_by_rule: dict[Name, Probability]
    summary: list[Annotated[Row, AfterValidator(_ordered)]]
    estimates: list[Sampled]
    timings: dict[Name, Seconds]
    histograms: list[Annotated[list[Natural], Field(min_length=1)]] | None


@record
class Property(TypedDict):
    """A property in properties.json.

    Attributes:
        label: the class of its input.
        image: the input, as a data URI.
        bounds: of every claim, in the order of the summary.
        survival: the share of sampled networks that an attack does not break, by rule.
        attacked: whether an attack breaks the posterior-mean model.
    """

    label: Natural
    image: Image
    bounds: list[Annotated[Bound, AfterValidator(_ordered)]]
    survival: dict[Name, Probability]
    attacked: bool


def read_summary(folder: Path) -> Summary:
    """The content of result.json; what a run does not write raises `UnreadableFile` with file and field.

    Args:
        folder: of the run.
    """
    return _read(folder / RESULT, _SUMMARY.validate_python)


def read_properties(folder: Path, summary: Summary) -> list[Property]:
    """The content of properties.json; what does not belong to the summary raises, too.

    Args:
        folder: of the run.
        summary: of the same run.
    """
    properties = _read(folder / PROPERTIES, _PROPERTIES.validate_python)
    try:
        _check_together(summary, properties)
    except ValueError as error:
        raise UnreadableFile(f"{folder / PROPERTIES}: {error}: repeat the run") from error
    return properties


def claim_of(row: Claimed) -> tuple[str, str, str]:
    """Kind, rule and events, by which a claim is known."""
    return row["claim"], row["rule"], row["events"]


def _read(path: Path, validate: Callable[[Any], T]) -> T:
    try:
        return validate(read_json(path))
    except UnreadableFile as error:
        raise UnreadableFile(f"{error}: repeat the run") from error
    except ValidationError as error:
        raise UnreadableFile(f"{path}: {_first(error.errors())}") from error


def _first(problems: Sequence[ErrorDetails]) -> str:
    if all(problem["type"] == "missing" and problem["loc"] in FIELDS_ADDED_LATER for problem in problems):
        return "of an earlier version; remove it, or run it again"
    place, more = problems[0]["loc"], len(problems) - 1
    depth = 5 if place[:1] != ("config",) else 3 if place[1:2] == ("training",) else 2
    others = f" (and {more} more)" if more else ""
    return f"{complaint(problems[0], depth)}{others}: repeat the run"


def _check_summary(summary: Summary) -> Summary:
    """What the parts of result.json say of each other."""
    config, clients, histograms = summary["config"], summary["clients"], summary["histograms"]
    _check_distinct("summary", (claim_of(row) for row in summary["summary"]))
    _check_distinct("estimates", ((row["name"], row["rule"]) for row in summary["estimates"]))
    _check_distinct("clients", (client["client"] for client in clients))
    if len(clients) > config["clients"]:
        raise ValueError(f"clients: {len(clients)}, more than the {config['clients']} of the configuration")
    if summary["accuracy_by_rule"].get(config["rule"]) != summary["accuracy"]:
        raise ValueError("accuracy: not that of the deployed rule in accuracy_by_rule")
    for i, row in enumerate(summary["summary"]):
        if row["properties"] != config["properties"]:
            raise ValueError(f"summary.{i}.properties: not the {config['properties']} of the configuration")
    if histograms is not None and len(histograms) != len(clients):
        raise ValueError(f"histograms: {len(histograms)} rows for {len(clients)} clients")
    if histograms is not None and len({len(row) for row in histograms}) > 1:
        raise ValueError("histograms: rows of different lengths")
    return summary


def _check_distinct(place: str, names: Iterable[object]) -> None:
    seen = set()
    for i, name in enumerate(names):
        if name in seen:
            raise ValueError(f"{place}.{i}: {name} stands twice")
        seen.add(name)


def _check_together(summary: Summary, properties: Sequence[Property]) -> None:
    """What the two files say of each other."""
    if len(properties) != summary["config"]["properties"]:
        raise ValueError(f"{len(properties)} properties, but {summary['config']['properties']} in {RESULT}")
    claims = [(*claim_of(row), row["upper"] is None) for row in summary["summary"]]
    for i, entry in enumerate(properties):
        if [(*claim_of(row), row["upper"] is None) for row in entry["bounds"]] != claims:
            raise ValueError(f"{i}.bounds: not those of the claims in {RESULT}, one by one")


_SUMMARY = TypeAdapter(Annotated[Summary, AfterValidator(_check_summary)])
_PROPERTIES = TypeAdapter(list[Property])
