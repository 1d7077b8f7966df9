"""How the settings of a run are read: lists, weights, scales and names, as text or as values."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, FiniteFloat, NonNegativeFloat

from fedcert.families.registry import families, family_named
from fedcert.laws.mixture import MAX_STATED_COMPONENTS
from fedcert.rules import rule_names
from fedcert.wire.limits import MAX_MAGNITUDE, MAX_WEIGHT, MIN_SCALE, MIN_WEIGHT

Scale = float | Literal["learned"]
Natural = Annotated[int, Field(ge=0, le=2**53)]  # a count that is also exact as a float
Positive = Annotated[int, Field(ge=1, le=2**53)]


def split(value: object) -> object:
    """Split a list given as text at its commas."""
    return [item for item in value.split(",") if item] if isinstance(value, str) else value


def several(value: object) -> object:
    """Read a list; a single number is a list of one."""
    return [value] if isinstance(value, int | float) else split(value)


def distinct(values: tuple[float, ...]) -> tuple[float, ...]:
    """Accept only values that differ."""
    if len(set(values)) < len(values):
        raise ValueError("the same number twice")
    return values


def read_weights(value: object) -> object:
    """Read weights: the name of a weighting, or numbers separated by commas."""
    return value if value in ("uniform", "size") else split(value)


def read_scale(value: object) -> object:
    """Read a posterior scale: a positive number or the word 'learned'."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if value != "learned" and not MIN_SCALE <= number <= MAX_MAGNITUDE:
        raise ValueError(f"a posterior scale is a number in [{MIN_SCALE}, {MAX_MAGNITUDE}] or 'learned'")
    return value if value == "learned" else number


def coefficient(value: float) -> float:
    """Accept only a weight or rate for which no rule overflows or underflows (`limits.py`)."""
    if value != 0 and not MIN_WEIGHT <= abs(value) <= MAX_WEIGHT:
        raise ValueError(f"must be 0, or between {MIN_WEIGHT} and {MAX_WEIGHT} in absolute value")
    return value


def known_family(value: str) -> str:
    """Accept only the name of a registered family of events."""
    return family_named(value).name


EventsName = Annotated[str, AfterValidator(known_family)]


def read_events(value: object) -> object:
    """Read names of families; the word 'all' stands for every registered family."""
    names = split(value)
    return [family.name for family in families()] if names == ["all"] else names


def known_rule(name: str) -> str:
    """Accept only the name of a registered rule."""
    if name not in rule_names():
        raise ValueError(f"must be one of {', '.join(rule_names())}")
    return name


RuleName = Annotated[str, AfterValidator(known_rule)]
Share = Annotated[float, Field(gt=0, lt=1)]
PosteriorName = Literal["bbb", "laplace", "ensemble"]
StructureName = Literal["diag", "kron", "last-layer-kron", "last-layer-full"]
Members = Annotated[int, Field(ge=1, le=MAX_STATED_COMPONENTS)]
EstimateName = Literal["mc-ibp", "attack-survival", "aggregated-sampling"]
Weight = Annotated[FiniteFloat, AfterValidator(coefficient)]
Rate = Annotated[NonNegativeFloat, AfterValidator(coefficient)]
