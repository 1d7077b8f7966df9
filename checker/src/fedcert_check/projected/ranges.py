"""What the witness says of a chain of lines, and what is then known of a hidden layer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedcert_check.balls import Balls
from fedcert_check.projected.lines import Lines
from fedcert_check.projected.movement import Moved
from fedcert_check.projected.receptive import picked
from fedcert_check.validation import Array


@dataclass(frozen=True)
class ChainChoices:
    """What the witness says of one property.

    Attributes:
        static: whether the noise is taken at fixed activations, not at the random ones of the centre.
        kappa: κ, of one side of a neuron's range.
        failure: of one event of concentration.
        sign: of each hidden layer's neurons.
        below: slopes below the ReLUs.
        slope: slopes above them.
        step: Δ of the cells that bound each constraint's tail.
        reference: the fixed activations.
        carried: of a last layer behind fixed ones, whether the noise of a constraint is taken at the inputs;
            None for the other methods.
        shared: of the same, what each constraint shares with the others, negative for those left out; None
            where nothing is said to be counted twice.
    """

    static: bool
    kappa: float
    failure: float
    sign: Sequence[Array]
    below: Sequence[Array]
    slope: Sequence[Array]
    step: Array
    reference: Sequence[Array]
    carried: Array | None = None
    shared: Array | None = None


@dataclass(frozen=True)
class Ranges:
    """A hidden layer on its events.

    Attributes:
        lines: around its ReLUs.
        mean: upper bounds of the conditional means at the centre.
        deviation: upper bounds of the conditional deviations at the centre.
        moved: how far the region moves it.
        fixed: c, the fixed activations.
        half: ρ ≥ |h(x) − c| on the region.
        middle: of the range of the activations.
        reach: how far they are from it, at most.
        independent: whether the neurons are independent, given earlier layers.
    """

    lines: Lines
    mean: Balls
    deviation: Balls
    moved: Moved
    fixed: Balls
    half: Balls
    middle: Balls
    reach: Balls
    independent: bool

    def seen(self, table: Array) -> "Ranges":
        """Of the neurons that a table names; where it names none there is nothing, and it stays 0."""
        lines = Lines(
            *(picked(own, table) for own in (self.lines.below, self.lines.slope, self.lines.height))
        )
        moved = Moved(picked(self.moved.radius, table), np.append(self.moved.sign, -1)[table])
        values = (self.mean, self.deviation, self.fixed, self.half, self.middle, self.reach)
        mean, deviation, fixed, half, middle, reach = (picked(own, table) for own in values)
        return Ranges(lines, mean, deviation, moved, fixed, half, middle, reach, self.independent)
