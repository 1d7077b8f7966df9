"""Bounds that draws share: equal layers have equal bounds, so fixed features are bounded once."""

import numpy as np

from fedcert_check.confidence.linear import tightened
from fedcert_check.confidence.network import Affine, Layers, Range, ranges


class SharedBounds:
    """Bounds of the inputs of layers, kept as long as the layers before them are those of the last draw.

    The properties must be the same for all draws.
    """

    def __init__(self) -> None:
        self._layers: Layers = ()
        self._intervals: list[Range] = []
        self._tightened: dict[int, list[Range]] = {}

    def meet(self, layers: Layers) -> None:
        """Forget what depends on layers that the next draw does not share with the last.

        Args:
            layers: of the next draw.
        """
        kept = 1 + leading_equal(self._layers, layers)
        self._layers = layers
        self._intervals = self._intervals[:kept]
        self._tightened = {p: found[:kept] for p, found in self._tightened.items()}

    def intervals(self, x: Range) -> list[Range]:
        """Interval bounds of the inputs of all layers.

        Args:
            x: the regions of all properties.
        """
        self._intervals = ranges(self._layers[:-1], x, self._intervals)
        return self._intervals

    def tightened(self, p: int, x: Range) -> list[Range]:
        """The same from both intervals and lines, for one property.

        Args:
            p: the property's place.
            x: its region.
        """
        self._tightened[p] = tightened(self._layers, x, self._tightened.get(p, ()))
        return self._tightened[p]


def leading_equal(some: Layers, others: Layers) -> int:
    """The number of layers, from the first on, that are the same numbers in both networks."""
    count = 0
    for one, other in zip(some, others, strict=False):
        if not equal(one, other):
            break
        count += 1
    return count


def equal(one: Affine | None, other: Affine | None) -> bool:
    """Whether two layers are the same numbers; what is no number equals nothing."""
    if one is None or other is None:
        return one is other
    if (one.weight_error, one.bias_error) != (other.weight_error, other.bias_error):
        return False
    return np.array_equal(one.bias, other.bias) and np.array_equal(one.weight, other.weight)
