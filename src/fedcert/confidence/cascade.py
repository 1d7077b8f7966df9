"""Which drawn networks are proven safe and which are broken, for each property: cheap bounds first.

1. Intervals, with the constraints carried back through the last layer.
2. The constraints carried back to the input. Where they prove nothing, the corner of the region that the
   linear bound is least at is tried as an input that breaks the property.
3. For what is still open, pair by pair: the same with bounds of the hidden layers tightened backward too.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.confidence.backward import (
    Bound,
    at_input,
    constraint_bound,
    through_affine_backward,
)
from fedcert.confidence.chain import Chain, rounding_of, select
from fedcert.confidence.forward import Region, input_bounds, least_outputs
from fedcert.confidence.shared import SharedBounds
from fedcert.model.properties import Properties

PAIR_ELEMENTS = 2**22
"""Numbers that a step on pairs of network and property holds at a time, on a processor."""


class Asked(NamedTuple):
    """Properties as plain tensors, of shapes (B or 1, P, …).

    Attributes:
        low: the lower ends of the regions.
        high: the upper ends.
        C: the constraints.
        d: their offsets.
    """

    low: Float64[Tensor, "B P p"]
    high: Float64[Tensor, "B P p"]
    C: Float64[Tensor, "B P R K"]
    d: Float64[Tensor, "B P R"]

    @classmethod
    def of(cls, properties: Properties) -> "Asked":
        """The same properties for all networks."""
        parts = (properties.regions.lower, properties.regions.upper, properties.C, properties.d)
        return cls(*(part.unsqueeze(0) for part in parts))

    def only(self, properties: Tensor) -> "Asked":
        """Some of the properties."""
        return Asked(*(part[:, properties] for part in self))

    def each(self, properties: Tensor) -> "Asked":
        """One property for each network."""
        return Asked(*(part[0, properties].unsqueeze(1) for part in self))

    @property
    def region(self) -> Region:
        """Bounds of the inputs."""
        return Region.between(self.low, self.high)


class Verdicts(NamedTuple):
    """What is known of each network and property; nothing is, where neither holds.

    Attributes:
        proven: C f(x) + d ≥ 0 on the whole region, for all parameters within the radius.
        broken: some constraint is negative at some input of the region, for all parameters within the radius.
    """

    proven: Bool[Tensor, "B P"]
    broken: Bool[Tensor, "B P"]


def judge(
    chain: Chain, asked: Asked, pair_elements: int = PAIR_ELEMENTS, shared: SharedBounds | None = None
) -> Verdicts:
    """The verdicts on B networks and P properties.

    Args:
        chain: the layers of the networks.
        asked: the properties, the same for all networks.
        pair_elements: numbers to hold at a time in the last step.
        shared: bounds of the networks judged before, for the same properties.
    """
    shared = shared or SharedBounds()
    shared.meet(chain)
    bounds = input_bounds(chain[:-1], asked.region)
    proven = _by_last_layer(chain, bounds, asked)
    broken = torch.zeros_like(proven)
    columns = (~proven).any(0).nonzero().squeeze(-1)
    if len(columns):
        some = _carried_back(chain, [part.only(columns) for part in bounds], asked.only(columns))
        proven[:, columns] |= some.proven
        broken[:, columns] |= some.broken & ~proven[:, columns]
    networks, properties = (~(proven | broken)).nonzero(as_tuple=True)
    first = next(layer for layer in chain if layer is not None)
    held = first.weight[0].numel() + sum(layer.weight[0].numel() for layer in chain if layer is not None)
    for part in torch.arange(len(networks)).split(max(1, pair_elements // held)):
        own, mine = networks[part], properties[part]
        pairs, each = select(chain, own), asked.each(mine)
        found = _carried_back(pairs, shared.tightened(pairs, mine, each.region), each)
        proven[own, mine], broken[own, mine] = found.proven[:, 0], found.broken[:, 0]
    return Verdicts(proven, broken)


def _holds(value: Tensor, error: Tensor) -> Bool[Tensor, "B P"]:
    """Whether all constraints are proven; what is not finite proves nothing."""
    return ((value >= error) & value.isfinite()).all(-1)


def _by_last_layer(chain: Chain, bounds: list[Region], asked: Asked) -> Bool[Tensor, "B P"]:
    """Whether intervals of the last layer's inputs prove each property."""
    last, h = chain[-1], bounds[-1]
    if last is None:
        z = input_bounds(chain[-1:], h)[-1]
        return _holds(*least_outputs(z, asked.C, asked.d, rounding_of(z.centre.shape[-1], chain)))
    rounding = rounding_of(h.centre.shape[-1], chain)
    shape = (len(last.weight), *asked.C.shape[1:])
    d = asked.d.expand(shape[:-1])
    bound = through_affine_backward(last, h, Bound(asked.C.expand(shape), d, rounding * d.abs()))
    return _holds(*at_input(bound, h, rounding))


def _carried_back(chain: Chain, bounds: list[Region], asked: Asked) -> Verdicts:
    """Proven by linear bounds; broken at the corner where the least of them is least."""
    value, error, coefficients = constraint_bound(chain, bounds, asked.C, asked.d)
    proven = _holds(value, error)
    broken = torch.zeros_like(proven)
    columns = (~proven).any(0).nonzero().squeeze(-1)
    if len(columns):
        worst = (value - error)[:, columns].argmin(-1)[..., None, None]
        direction = coefficients[:, columns].take_along_dim(worst, -2).squeeze(-2)
        some = asked.only(columns)
        corner = torch.where(direction > 0, some.low, some.high)
        broken[:, columns] = breaks(chain, corner, some)
    return Verdicts(proven, broken)


def breaks(chain: Chain, x: Float64[Tensor, "B P p"], asked: Asked) -> Bool[Tensor, "B P"]:
    """Whether some constraint is negative at one input, for all parameters within the radius.

    Args:
        chain: the layers.
        x: an input of each region.
        asked: the properties.
    """
    z = input_bounds(chain, Region.between(x, x))[-1]
    value, error = least_outputs(z, asked.C, asked.d, rounding_of(z.centre.shape[-1], chain))
    return ((value < -error) & value.isfinite()).any(-1)
