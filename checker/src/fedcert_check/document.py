"""What is checked, as plain arrays: clients, rule, network, properties, bounds and witness."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fedcert_check.errors import InvalidCertificate

Array = np.ndarray[Any, np.dtype[Any]]
LONGEST_QUOTE = 80  # characters of a foreign content in an error


@dataclass(frozen=True)
class Client:
    """A client's law N(μ, diag σ²) and its cells.

    Attributes:
        name: the client's name.
        events: the family that its cells come from.
        loc: μ, of shape (n_w,).
        scale: σ > 0.
        lower: ℓ of each cell, of shape (M, n_w).
        upper: u ≥ ℓ of each cell.
    """

    name: str
    events: str
    loc: Array
    scale: Array
    lower: Array
    upper: Array


@dataclass(frozen=True)
class Rule:
    """Θ_g = v + Σ_i w_i Θ_i, or in each coordinate the mean without the `trim` least and greatest values.

    Attributes:
        name: a label; what the rule does, the other fields say.
        clients: n.
        weights: w of a linear rule, of shape (n, 1) or (n, n_w); None for a trimmed mean.
        offset: v, or None for 0.
        trim: of a trimmed mean.
    """

    name: str
    clients: int
    weights: Array | None
    offset: Array | None
    trim: int


@dataclass(frozen=True)
class Layer:
    """W x + b with W of shape (outputs, inputs), or max(x, 0) where both are 0.

    Attributes:
        inputs: number of inputs.
        outputs: number of outputs.
    """

    inputs: int
    outputs: int

    @property
    def linear(self) -> bool:
        """Whether the layer is affine and not a ReLU."""
        return self.outputs > 0


@dataclass(frozen=True)
class Properties:
    """C f(x) + d ≥ 0 for all x in [lower, upper], for each of P properties.

    Attributes:
        lower: of shape (P, p).
        upper: of shape (P, p).
        C: of shape (P, R, K).
        d: of shape (P, R).
    """

    lower: Array
    upper: Array
    C: Array
    d: Array

    def __len__(self) -> int:
        return len(self.d)


@dataclass(frozen=True)
class Document:
    """A certificate and all that it speaks about.

    Attributes:
        kind: local, transported or direct.
        events: the family of events.
        rule: A.
        network: f, layer by layer.
        clients: in the order of the rule's weights.
        properties: what is safe.
        lower: the claimed lower bounds, one a property.
        upper: the claimed upper bounds, or None.
        witness: by name.
        skipped: a line for each file beside the messages that is none.
    """

    kind: str
    events: str
    rule: Rule
    network: tuple[Layer, ...]
    clients: tuple[Client, ...]
    properties: Properties
    lower: Array
    upper: Array | None
    witness: dict[str, Array]
    skipped: tuple[str, ...] = ()

    @property
    def dimension(self) -> int:
        """n_w, the number of parameters."""
        return sum(layer.outputs * (layer.inputs + 1) for layer in self.network)

    def claim_follows(self, p: int, proved: "Proved") -> bool:
        """Whether what is claimed of property p follows from what was proved of it."""
        below = bool(proved.lower >= self.lower[p])
        return below and (self.upper is None or bool(proved.upper <= self.upper[p]))

    def tensor(self, name: str, dtype: Any, *shape: int | None) -> Array:
        """A tensor of the witness, of this type and shape (None for any length)."""
        return shaped(f"witness.{name}", self.witness.get(name), dtype, *shape)


def quoted(value: object) -> str:
    """A foreign value as an error shows it."""
    text = repr(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"


def require(condition: bool, complaint: str) -> None:
    """Raise unless the condition holds."""
    if not condition:
        raise InvalidCertificate(complaint)


def shaped(name: str, array: Array | None, dtype: Any, *shape: int | None) -> Array:
    """The array, if it has this type and shape and, of floats, is finite."""
    if array is None:
        raise InvalidCertificate(f"tensor {name} is missing")
    fits = len(array.shape) == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    require(array.dtype == dtype and fits, f"tensor {name} is {array.dtype} of shape {array.shape}")
    require(array.dtype.kind != "f" or bool(np.isfinite(array).all()), f"tensor {name} is not finite")
    return array


class Proved(NamedTuple):
    """What was proven of one property: lower ≤ Pr(safe) ≤ upper.

    Attributes:
        lower: rounded down.
        upper: rounded up; 1 where nothing is proven.
    """

    lower: float
    upper: float = 1.0

    def tighter(self, other: "Proved") -> "Proved":
        """The better of two bounds, on either side."""
        return Proved(max(self.lower, other.lower), min(self.upper, other.upper))
