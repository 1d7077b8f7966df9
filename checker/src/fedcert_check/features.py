"""Input coordinates as measurements with units, and how far each may be from the stated one, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from fedcert_check.validation import Array, finite, plain_name, quoted, require, require_fields

MAX_UNIT_CHARACTERS = 16
SEPARATORS = frozenset(",;±()")
"""They separate the features of a sentence, and are in no unit."""
FIELDS = {"name", "unit", "shift", "scale"}
DIGITS = 4  # significant ones of a distance in words, which is rounded down
MAX_ZEROS = 6  # before or after the significant digits; more are written as a power of ten


@dataclass(frozen=True)
class Feature:
    """An input coordinate: x = (measured − shift) / scale, as the certificate's maker states.

    Attributes:
        name: a plain name.
        unit: of the measurement; empty where it has none.
        shift: the measurement that becomes 0.
        scale: the change of the measurement that changes the coordinate by 1.
    """

    name: str
    unit: str
    shift: float
    scale: float

    def entry(self) -> dict[str, Any]:
        """The feature as it is written to a JSON file."""
        return {"name": self.name, "unit": self.unit, "shift": self.shift, "scale": self.scale}


def read_features(entry: Any, width: int) -> tuple[Feature, ...]:
    """The features that a JSON list states.

    Args:
        entry: the list.
        width: the number of input coordinates.
    """
    fits = isinstance(entry, list) and len(entry) == width
    require(fits, f"the features are not a list of {width}, one for each input coordinate")
    features = tuple(_read(own) for own in entry)
    require(len({own.name for own in features}) == width, "two features of the same name")
    return features


def _read(entry: Any) -> Feature:
    require_fields(entry, FIELDS, "a feature")
    name, unit = plain_name(entry["name"], "the feature"), entry["unit"]
    short = isinstance(unit, str) and len(unit) <= MAX_UNIT_CHARACTERS and unit.isprintable()
    short = short and not set(unit) & SEPARATORS
    require(short, f"the unit of {name} is {quoted(unit)}")
    scale = finite(entry["scale"], f"the scale of {name}")
    require(scale > 0, f"the scale of {name} is {scale}, not a number > 0")
    return Feature(name, unit, finite(entry["shift"], f"the shift of {name}"), scale)


def measured(inputs: Array, features: Sequence[Feature]) -> Array:
    """The measurements that inputs stand for: shift + scale x.

    Args:
        inputs: of shape (P, p).
        features: one for each column.
    """
    return np.asarray(
        inputs * np.array([own.scale for own in features]) + np.array([own.shift for own in features])
    )


def error_words(inputs: Array, weights: Array, features: Sequence[Feature], factor: float) -> str:
    """By how much each measurement may differ from the stated one, rounded down; those that may not are last.

    Args:
        inputs: the centre of each region, of shape (P, p).
        weights: w, of the same shape.
        features: one for each column.
        factor: ε, by which the weights are multiplied.
    """
    moving = [j for j in range(len(features)) if factor > 0 and bool((weights[:, j] > 0).any())]
    if not moving:
        return "every value as stated"
    said = [_distance(inputs[:, j], weights[:, j], features[j], Fraction(factor)) for j in moving]
    return ", ".join(said) + ("; all else fixed" if len(moving) < len(features) else "")


def _distance(x: Array, weight: Array, feature: Feature, factor: Fraction) -> str:
    """One feature: a distance in its unit, a share of the value, or the least and the largest distance."""
    scale, shift = Fraction(feature.scale), Fraction(feature.shift)
    unit = f" {feature.unit}" if feature.unit else ""
    least, most = (
        decimal_down(factor * scale * Fraction(float(end))) for end in (weight.min(), weight.max())
    )
    if least == most:
        return f"{feature.name} ± {least}{unit}"
    pairs = np.unique(np.stack([x, weight], 1), axis=0).tolist()
    exact = [(abs(shift + scale * Fraction(own)), factor * scale * Fraction(reach)) for own, reach in pairs]
    if all((size > 0) == (reach > 0) for size, reach in exact):
        shares = {decimal_down(100 * reach / size) for size, reach in exact if size}
        if len(shares) == 1:
            return f"{feature.name} ± {shares.pop()} %"
    return f"{feature.name} ± {least} to {most}{unit}"


def decimal_down(value: Fraction) -> str:
    """A number ≥ 0 with few significant digits, rounded down.

    Args:
        value: the exact number.

    >>> decimal_down(Fraction(0.1)), decimal_down(Fraction(2, 3)), decimal_down(Fraction(10))
    ('0.1', '0.6666', '10')
    """
    rounded = Context(prec=DIGITS, rounding=ROUND_DOWN).divide(
        Decimal(value.numerator), Decimal(value.denominator)
    )
    plain = not rounded or abs(rounded.adjusted()) <= MAX_ZEROS
    return f"{rounded.normalize():f}" if plain else str(rounded.normalize())
