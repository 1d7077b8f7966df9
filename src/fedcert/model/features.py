"""Input coordinates as measurements: their names, their units and how they were scaled."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from jaxtyping import Float64
from torch import Tensor, tensor

from fedcert.errors import InvalidProperty
from fedcert_check.features import MAX_UNIT_CHARACTERS, SEPARATORS
from fedcert_check.validation import PLAIN_NAME


@dataclass(frozen=True)
class Feature:
    """An input coordinate: x = (measured − shift) / scale.

    Attributes:
        name: a plain name: letters, digits and `._+-`.
        unit: of the measurement; empty where it has none.
        shift: the measurement that becomes 0, in the unit.
        scale: the change of the measurement that changes the coordinate by 1, in the unit.

    Examples:
        >>> Feature("trestbps", "mmHg", 128.0, 16.0).scale
        16.0
    """

    name: str
    unit: str = ""
    shift: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not PLAIN_NAME.fullmatch(self.name):
            raise InvalidProperty(f"the feature {self.name[:80]!r} has no plain name: {PLAIN_NAME.pattern}")
        short = len(self.unit) <= MAX_UNIT_CHARACTERS and self.unit.isprintable()
        if not short or set(self.unit) & SEPARATORS:
            raise InvalidProperty(
                f"the unit of {self.name}: at most {MAX_UNIT_CHARACTERS} printable characters,"
                " none of , ; ± ( )"
            )
        if not (isfinite(self.shift) and isfinite(self.scale) and self.scale > 0):
            raise InvalidProperty(
                f"the shift of {self.name} must be finite, and its scale a finite number > 0"
            )


def scaled(measured: Float64[Tensor, "n p"], features: Sequence[Feature]) -> Float64[Tensor, "n p"]:
    """The inputs of a network that are made from measurements.

    Args:
        measured: in the units of the features.
        features: one for each column.
    """
    shift, scale = (
        tensor([getattr(one, name) for one in features], dtype=measured.dtype) for name in ("shift", "scale")
    )
    return (measured - shift) / scale
