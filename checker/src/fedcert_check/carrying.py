"""Lines carried back from rows of a network's outputs to its input, with the best bounds on their way."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedcert_check.balls import Balls, Interval, exact, lower, zeros
from fedcert_check.steps import Carried, Step, Sum, added, least, settle


class Placed(NamedTuple):
    """A layer where it stands: with bounds of its inputs and, of a sum, with the layers of its chains.

    Attributes:
        step: the layer.
        inputs: bounds of its inputs.
        chains: the layers inside.
    """

    step: Step | Sum
    inputs: Interval
    chains: tuple[tuple["Placed", ...], ...] = ()

    @property
    def outputs(self) -> Interval:
        """Bounds of the outputs; of a sum, from the bounds of what its last layers take."""
        if isinstance(self.step, Sum):
            return added([own[-1].outputs if own else self.inputs for own in self.chains])
        return self.step.image(self.inputs)

    @property
    def tied(self) -> bool:
        """Whether there are two lines that are about as good, here or inside."""
        if isinstance(self.step, Sum):
            return any(own.tied for chain in self.chains for own in chain)
        return self.step.tied(self.inputs)

    def back(self, rows: Balls, rising: bool) -> Carried:
        """From a lower bound that is linear in the outputs to one that is linear in the inputs."""
        if not isinstance(self.step, Sum):
            return self.step.back(rows, self.inputs, rising)
        parts = [carry(rows, chain, rising) for chain in self.chains]
        constant = sum((own.constant for own in parts), zeros(len(rows)))
        return Carried(added([own.coefficients for own in parts]), constant)


def place(
    steps: Sequence[Step | Sum], x: Interval, rising: bool, before: tuple[Placed, ...] = ()
) -> tuple[Placed, ...]:
    """The layers that lead to a chain, and its own, with bounds of their inputs.

    Bounds in front of a layer that bends are the tighter of interval and backward ones; after a single
    layer, or a function of one number, intervals are as good.

    Args:
        steps: the layers of the chain.
        x: bounds of its inputs.
        rising: which line is taken where two are about as good.
        before: the layers from the network's input to the chain's.
    """
    path, h = before, x
    for step in steps:
        if len(path) > len(before):
            h = path[-1].outputs
        if step.bends and _worth_carrying(path):
            unit = exact(np.eye(len(h.lower)))
            low, high = np.split(backward(np.concatenate([unit, -unit]), path, rising), 2)
            h = Interval(np.maximum(h.lower, low), np.minimum(h.upper, -high))
        chains = step.chains if isinstance(step, Sum) else ()
        inside = tuple(place(own, h, rising, path)[len(path) :] for own in chains)
        path = (*path, Placed(step, h, inside))
    return path


def _worth_carrying(path: Sequence[Placed]) -> bool:
    if not path or path[-1].step.elementwise:
        return False
    return len(path) > 1 or isinstance(path[-1].step, Sum)


def carry(rows: Balls, path: Sequence[Placed], rising: bool) -> Carried:
    """A bound that is linear in the outputs of a chain, as one that is linear in its inputs.

    Args:
        rows: A.
        path: the layers of the chain.
        rising: which line is taken where two are about as good.
    """
    constant = zeros(len(rows))
    carried = Carried(Interval(rows, rows), constant)
    for own, following in zip(reversed(path), [None, *reversed(path)], strict=False):
        if following is not None:
            rows, lost = settle(carried.coefficients, following.inputs)
            constant = constant - lost
        carried = own.back(rows, rising)
        constant = constant + carried.constant
    return Carried(carried.coefficients, constant)


def backward(rows: Balls, path: Sequence[Placed], rising: bool) -> Balls:
    """Lower bounds of A z for the outputs z of the last layer of a network's first ones.

    Args:
        rows: A.
        path: the layers, from the network's input on.
        rising: which line is taken where two are about as good.
    """
    carried = carry(rows, path, rising)
    return lower(carried.constant + least(carried.coefficients, path[0].inputs))
