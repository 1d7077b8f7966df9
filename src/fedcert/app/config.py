"""The configuration of a run; `--preset paper` is the paper's protocol."""

import reprlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeFloat,
    PositiveFloat,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from fedcert.app.jsonfile import read_json
from fedcert.certificate import Kind
from fedcert.errors import InvalidConfig, UnreadableFile
from fedcert.families.registry import family_named
from fedcert.rules import rule_names
from fedcert.rules.builders import WeightsName
from fedcert.training.bayes_by_backprop import BayesByBackprop
from fedcert.wire.limits import MAX_MAGNITUDE, MAX_WEIGHT, MIN_SCALE, MIN_WEIGHT

DIGITS_EPOCHS = 50
Scale = float | Literal["learned"]
Natural = Annotated[int, Field(ge=0, le=2**53)]  # a count that is exact as a float, too
Positive = Annotated[int, Field(ge=1, le=2**53)]
PRESETS: dict[str, dict[str, Any]] = {"paper": {"scale": 1e-5, "events": ("paper-box",)}}
"""Settings under a name: the paper fixes the posterior scale and knows one family of events."""


def _split(value: object) -> object:
    """Commas separate the items of a list given as text."""
    return [item for item in value.split(",") if item] if isinstance(value, str) else value


def _weights(value: object) -> object:
    """The name of a weighting, or numbers separated by commas."""
    return value if value in ("uniform", "size") else _split(value)


def _scale(value: object) -> object:
    """A posterior scale is a positive number or the word 'learned'."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if value != "learned" and not MIN_SCALE <= number <= MAX_MAGNITUDE:
        raise ValueError(f"a posterior scale is a number in [{MIN_SCALE}, {MAX_MAGNITUDE}] or 'learned'")
    return value if value == "learned" else number


def _coefficient(value: float) -> float:
    """A weight or a rate with which no rule over- or underflows (`limits.py`)."""
    if value != 0 and not MIN_WEIGHT <= abs(value) <= MAX_WEIGHT:
        raise ValueError(f"0, or between {MIN_WEIGHT} and {MAX_WEIGHT} in absolute value")
    return value


def _family(value: str) -> str:
    """The name of a known family of events."""
    return family_named(value).name


EventsName = Annotated[str, AfterValidator(_family)]


def _known_rule(name: str) -> str:
    """The name of a registered rule."""
    if name not in rule_names():
        raise ValueError(f"known are {', '.join(rule_names())}")
    return name


Weight = Annotated[FiniteFloat, AfterValidator(_coefficient)]
Rate = Annotated[NonNegativeFloat, AfterValidator(_coefficient)]


class RunConfig(BaseModel):
    """Everything that determines the numbers of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    dataset: Literal["digits", "mnist", "fashion-mnist"] = "digits"
    data_dir: Path | None = None
    train_examples: Positive = 12_000
    test_examples: Positive = 2_000
    clients: Positive = 3
    concentration: PositiveFloat = 10.0
    hidden: Annotated[tuple[Positive, ...], BeforeValidator(_split)] = (64,)
    training: BayesByBackprop = BayesByBackprop()
    scale: Annotated[Scale, BeforeValidator(_scale)] = "learned"
    rule: Annotated[str, AfterValidator(_known_rule)] = "fedavg"
    weights: Annotated[WeightsName | tuple[Weight, ...], BeforeValidator(_weights)] = "uniform"
    trim: Natural = 1
    server_rate: Rate = 1.0
    events: Annotated[tuple[EventsName, ...], BeforeValidator(_split), Field(min_length=1)] = (
        "paper-box",
        "box",
        "projected",
    )
    claims: Annotated[tuple[Kind, ...], BeforeValidator(_split), Field(min_length=1)] = (
        "local",
        "transported",
        "direct",
    )
    properties: Positive = 50
    epsilon: NonNegativeFloat = 1e-3
    margin: FiniteFloat = 0.0
    gamma: Annotated[tuple[PositiveFloat, ...], BeforeValidator(_split), Field(min_length=1)] = (
        3.0,
        4.0,
        5.0,
        6.0,
        7.0,
    )
    centers: Positive = 200
    cells: Positive = 8
    budget: Positive = 20_000
    screen: bool = True
    mc_samples: Positive = 300
    attack_samples: Positive = 300
    aggregate_samples: Positive = 3_000
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    device: str = "cpu"

    @model_validator(mode="before")
    @classmethod
    def _train_small_data_longer(cls, values: Any) -> Any:
        """Digits has a tenth of the paper's examples: ten times the epochs, unless told otherwise."""
        if isinstance(values, dict) and values.get("dataset", "digits") == "digits":
            training = values.get("training", {})
            if isinstance(training, dict):
                return values | {"training": {"epochs": DIGITS_EPOCHS} | training}
        return values

    @field_validator("device")
    @classmethod
    def _known_device(cls, value: str) -> str:
        try:
            torch.ones(1, dtype=torch.float64, device=value).sum().item()
        except (RuntimeError, AssertionError, ImportError, TypeError) as error:
            raise ValueError(f"torch cannot compute on it ({str(error).splitlines()[0][:80]})") from error
        return value


PLACE_SETTINGS = {"data_dir", "device"}
"""Settings that say where a run is made, and do not make it another run."""
TRAINING_SETTINGS = {
    "dataset",
    "train_examples",
    "test_examples",
    "clients",
    "concentration",
    "hidden",
    "training",
    "seed",
}
"""Settings that determine the clients' posteriors."""


def load_config(path: Path | None, overrides: dict[str, Any], preset: str | None = None) -> RunConfig:
    """The configuration in a file, over that of a preset, with options overriding both.

    Args:
        path: a TOML file, or a result.json whose run is to be repeated; None for the defaults.
        overrides: the values given as options.
        preset: the name of a preset.
    """
    if preset is not None and preset not in PRESETS:
        raise InvalidConfig(f"preset: known are {', '.join(PRESETS)} (given {preset!r})")
    read = {} if path is None else _read(path)
    origin = dict.fromkeys(read.keys() - overrides.keys(), f"{path}: ")
    return make_config(PRESETS.get(preset or "", {}) | read | overrides, origin)


def make_config(values: dict[str, Any], origin: Mapping[str, str] | None = None) -> RunConfig:
    """The configuration with these settings; what is wrong is named.

    Args:
        values: settings by name.
        origin: what to say before the names of settings that come from a file.
    """
    origin = origin or {}
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        problems = [origin.get(str(p["loc"][0]), "") + complaint(p, depth=2) for p in error.errors()]
        raise InvalidConfig("; ".join(problems)) from error


def complaint(problem: ErrorDetails, depth: int) -> str:
    """Where something is wrong, and what, in one line of moderate length.

    Args:
        problem: what pydantic found.
        depth: of names that say where; deeper ones tell the members of a union apart.
    """
    names = [str(name) if str(name).isprintable() else ascii(name) for name in problem["loc"][:depth]]
    place = f"{'.'.join(name[:80] for name in names)}: " if names else ""
    given = problem["input"]
    shown = "" if isinstance(given, dict | list) else f" (given {reprlib.repr(given)})"
    return f"{place}{problem['msg'].removeprefix('Value error, ')}{shown}"


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.suffix == ".json":
            values = read_json(path)
        else:
            values = {"config": tomllib.loads(path.read_text(encoding="utf-8"))}
    except UnreadableFile as error:
        raise InvalidConfig(str(error)) from error
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidConfig(f"{path}: not a readable configuration ({error})") from error
    if not isinstance(values, dict) or not isinstance(values.get("config"), dict):
        raise InvalidConfig(f"{path}: no table of settings; give a TOML file or the result.json of a run")
    return underscored(values["config"])


def underscored(table: dict[str, Any]) -> dict[str, Any]:
    """The table with its keys as Python names, at every level."""
    return {
        key.replace("-", "_"): underscored(value) if isinstance(value, dict) else value
        for key, value in table.items()
    }
