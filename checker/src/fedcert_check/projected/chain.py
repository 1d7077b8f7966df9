"""A bound of the probability of a violation with every ReLU a line (docs/soundness.md, 10), in balls."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from fedcert_check.balls import ONE, ZERO, Balls, zeros
from fedcert_check.projected.dependent import DependentLayer, Layer, Seen, joint_deviation
from fedcert_check.projected.exact import Region, concentration, first_law, settled, width
from fedcert_check.projected.forms import Lines, conditional_deviation, through_relu
from fedcert_check.projected.layers import (
    RandomLayer,
    Unproven,
    largest,
    random_weights,
    root,
    times,
    unit,
    zero_or_one,
)
from fedcert_check.projected.movement import (
    Moved,
    movement,
    movement_events,
    movement_of_inputs,
    read,
    shaken,
    shaken_inputs,
)
from fedcert_check.projected.tails import Projections
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
    """

    static: bool
    kappa: float
    failure: float
    sign: Sequence[Array]
    below: Sequence[Array]
    slope: Sequence[Array]
    step: Array
    reference: Sequence[Array]


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


def chained_violation(
    layers: Sequence[Layer],
    clients: Sequence[Sequence[Layer]],
    region: Region,
    choices: ChainChoices,
    projections: Projections,
) -> tuple[list[arb], arb]:
    """Upper bounds of each constraint's tail, and of the probability that some event fails.

    Args:
        layers: the deployed network and its law.
        clients: each client's share of its noise.
        region: the property.
        choices: any choices.
        projections: how sums of the clients' projections are bounded.
    """
    certain = [known for known in settled(region) if known is not None]
    if len(certain) == len(region.d):
        return certain, ZERO
    chain = _Chain(layers, clients, region, choices, projections)
    for depth in range(len(layers) - 1):
        chain.add_layer(depth)
    return chain.margins()


class _Chain:
    """The pass through the layers: what is known so far, and its price."""

    def __init__(
        self,
        layers: Sequence[Layer],
        clients: Sequence[Sequence[Layer]],
        region: Region,
        choices: ChainChoices,
        projections: Projections,
    ) -> None:
        self.layers, self.clients, self.region = layers, clients, region
        self.choices, self.projections = choices, projections
        self.u = width(choices.failure)
        self.failure = concentration(self.u)
        self.kappa, self.factor = arb(choices.kappa), ONE if choices.static else arb(2)
        if not self.kappa > 0:
            raise Unproven("a range needs a positive width")
        self.joined = any(isinstance(layer, DependentLayer) and layer.joint is not None for layer in layers)
        if self.joined and not choices.static:
            raise Unproven("layers that depend on each other have no noise that is conditional on others")
        self.mean = first_mean(layers[0], region.centre)
        self.first_shares = [
            first_law(own[0], region.centre)[1] if isinstance(own[0], RandomLayer) else None
            for own in clients
        ]
        self.known: list[Ranges] = []
        self.price = ZERO

    def add_layer(self, depth: int) -> None:
        """Learn the ranges of one more hidden layer."""
        neurons, choices = self.layers[depth].outputs, self.choices
        rows, sign = unit(neurons), choices.sign[depth]
        constant, noise = self.form(np.concatenate([rows, -rows]), depth)
        bounds = self.lowered(constant, noise)
        low, high = bounds[:neurons], -bounds[neurons:]
        if any(
            (s > 0 and not lo >= 0) or (s < 0 and not hi <= 0)
            for s, lo, hi in zip(sign, low, high, strict=True)
        ):
            raise Unproven("a neuron was said to keep its sign")
        mean = high if self.joined else self.mean
        if depth and not self.joined:
            mean = -self.lowered(constant[neurons:], [n[neurons:] for n in noise[1:]])
        deviation = root((noise[0][:neurons] ** 2).sum(-1))
        moved = high - low
        if not self.joined:
            spreads = [own.moved for own in self.known]
            moved = movement(rows, self.layers[: depth + 1], self.region.radius, spreads, self.u)
        fixed = np.array([arb(c) for c in choices.reference[depth].tolist()], dtype=object)
        half = reach(low, high, fixed)
        middle = np.array(
            [
                ((lo if lo > 0 else ZERO) + largest(hi, ZERO)).mid() / 2
                for lo, hi in zip(low, high, strict=True)
            ],
            dtype=object,
        )
        lines = Lines.over(choices.below[depth], choices.slope[depth], sign, low, high)
        self.known.append(
            Ranges(
                lines,
                mean,
                deviation,
                Moved(moved, sign),
                fixed,
                half,
                middle,
                reach(low, high, middle),
                isinstance(self.layers[depth], RandomLayer),
            )
        )
        before = self.layers[: depth + 1]
        side = zero_or_one(self.projections.price(self.kappa, len(self.clients)), before)
        side = (self.factor if depth else ONE) * side
        events = 3 * movement_events(before) + 2 * self.deviation_events(depth)
        self.price = self.price + neurons * (3 * side + events * self.failure)

    def margins(self) -> tuple[list[arb], arb]:
        """The tails of the constraints, and the price of all events."""
        depth = len(self.layers) - 1
        constant, noise = self.form(self.region.C, depth)
        events = movement_events(self.layers) + self.deviation_events(depth)
        price = self.price + len(constant) * events * self.failure
        shares = _combined(noise)
        factor = self.factor if depth else ONE
        tails = [
            sure
            if sure is not None
            else zero_or_one(factor * self.projections.tail(g + d, own, arb(step)), self.layers)
            for sure, g, d, own, step in zip(
                settled(self.region), constant, self.region.d, shares, self.choices.step.tolist(), strict=True
            )
        ]
        return tails, price

    def deviation_events(self, depth: int) -> int:
        """The number of events that bound the deviations of the clients' noise, for a row of a layer."""
        return sum(random_weights(own[1 : depth + 1]) for own in self.clients)

    def form(self, rows: Balls, depth: int) -> tuple[Balls, list[Balls]]:
        """g, and for each layer from layers[depth] down the deviations of the clients' projections."""
        constant = zeros(len(rows))
        deviations: list[Balls] = []
        seen: list[Seen] = []
        for place in reversed(range(1, depth + 1)):
            layer, before = self.layers[place], self.known[place - 1]
            constant = constant + rows @ layer.bias - self.lost(place, rows)
            seen.insert(0, Seen(rows, before.fixed))
            if not self.joined:
                shares = [self.noise_at(own[place], rows, before) for own in self.clients]
                deviations.append(np.stack(shares, axis=-1))
            rows, drop = through_relu(times(rows, layer.mean), before.lines)
            constant = constant + drop
        moved = movement_of_inputs(rows, self.layers[0], self.region.radius, self.u)
        seen.insert(0, Seen(rows, self.region.centre))
        shares = [
            self.noise_at_centre(own, t, seen) for own, t in zip(self.clients, self.first_shares, strict=True)
        ]
        deviations.append(np.stack(shares, axis=-1))
        return constant + rows @ self.mean - moved, deviations

    def lost(self, place: int, rows: Balls) -> Balls:
        """The noise between the reference and any point of the region."""
        layer = self.layers[place]
        if self.choices.static:
            return shaken_inputs(layer, rows, self.known[place - 1].half, self.u)
        moved = [own.moved for own in self.known]
        return shaken(layer, rows, read(place, self.layers, self.region.radius, moved), self.u)

    def noise_at_centre(self, layers: Sequence[Layer], t: Balls | None, seen: Sequence[Seen]) -> Balls:
        """The deviation of a client's noise of the first layer, or of all layers if these are joined."""
        if self.joined:
            return joint_deviation(layers, seen)
        if t is not None:
            widths = seen[0].rows * t
            return root((widths * widths).sum(-1))
        return joint_deviation(layers[:1], seen)

    def noise_at(self, layer: Layer, rows: Balls, before: Ranges) -> Balls:
        """The deviation of the noise at the reference."""
        if self.choices.static:
            return layer.at(rows, before.fixed)
        if isinstance(layer, DependentLayer):
            return layer.at(rows, before.middle) + layer.steepest(rows, before.reach)
        if not before.independent:
            return layer.at(rows, before.middle + before.reach)
        noise, bias_noise = layer.deviations(rows)
        return conditional_deviation(noise, bias_noise, before.mean, before.deviation, self.u)

    def lowered(self, constant: Balls, noise: Sequence[Balls]) -> Balls:
        """The constant minus the width of the projections' sum."""
        widths = [self.projections.width(self.kappa, own) for own in _combined(noise)]
        lowered: Balls = constant - np.array(widths, dtype=object)
        return lowered


def reach(low: Balls, high: Balls, centre: Balls) -> Balls:
    """Bounds of |relu(a) − c| for pre-activations a in [low, high]."""
    reached = [
        largest(largest(hi, ZERO) - c, c - max(lo.lower(), ZERO))
        for lo, hi, c in zip(low, high, centre, strict=True)
    ]
    return np.array(reached, dtype=object)


def first_mean(layer: Layer, x: Balls) -> Balls:
    """M x + m."""
    means: Balls = np.array((layer.mean * arb_mat(len(x), 1, x.tolist())).entries(), dtype=object)
    return means + layer.bias


def _combined(noise: Sequence[Balls]) -> list[list[arb]]:
    """For each row, √Σ_l s_{i,l}² for each client."""
    squares = sum((own * own for own in noise[1:]), noise[0] * noise[0])
    combined: list[list[arb]] = root(squares).tolist()
    return combined
