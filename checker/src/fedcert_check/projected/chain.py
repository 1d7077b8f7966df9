"""A bound of the probability of a violation with every ReLU a line (docs/soundness.md, 10), in balls."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls, lower, size, zeros
from fedcert_check.projected.any_layer import Layer, Seen, joint_covariance, joint_deviation
from fedcert_check.projected.carried import Head
from fedcert_check.projected.exact import Region, concentration, first_law, settled, width
from fedcert_check.projected.forms import conditional_deviation
from fedcert_check.projected.layers import (
    RandomLayer,
    Unproven,
    largest,
    random_weights,
    root,
    unit,
    zero_or_one,
)
from fedcert_check.projected.lines import Lines, through_relu
from fedcert_check.projected.movement import (
    Moved,
    movement,
    movement_events,
    movement_of_inputs,
    read,
    shaken,
    shaken_inputs,
)
from fedcert_check.projected.ranges import ChainChoices, Ranges
from fedcert_check.projected.receptive import convolutions, on_patches, picked, tables
from fedcert_check.projected.tails import Projections
from fedcert_check.validation import Array


def chained_violation(
    layers: Sequence[Layer],
    clients: Sequence[Sequence[Layer]],
    region: Region,
    choices: ChainChoices,
    projections: Projections,
    rectified: Sequence[bool] | None = None,
) -> tuple[list[arb], arb]:
    """Upper bounds of each constraint's tail, and of the probability that some event fails.

    Args:
        layers: the deployed network and its law.
        clients: each client's share of its noise.
        region: the property.
        choices: any choices.
        projections: how sums of the clients' projections are bounded.
        rectified: whether a ReLU follows each hidden layer; None for all.
    """
    certain = [known for known in settled(region) if known is not None]
    if len(certain) == len(region.d):
        return certain, ZERO
    chain = _Chain(layers, clients, region, choices, projections, rectified)
    for depth in range(len(layers) - 1):
        chain.add_layer(depth)
    return chain.margins() if choices.carried is None else chain.carried_margins(choices.carried)


class _Chain:
    """The pass through the layers: what is known so far, and its price."""

    def __init__(
        self,
        layers: Sequence[Layer],
        clients: Sequence[Sequence[Layer]],
        region: Region,
        choices: ChainChoices,
        projections: Projections,
        rectified: Sequence[bool] | None = None,
    ) -> None:
        self.rectified = rectified or [True] * (len(layers) - 1)
        self.layers, self.clients, self.region = layers, clients, region
        self.choices, self.projections = choices, projections
        self.u = width(choices.failure)
        self.failure = concentration(self.u)
        self.kappa, self.factor = arb(choices.kappa), ONE if choices.static else arb(2)
        if not self.kappa > 0:
            raise Unproven("a range needs a positive width")
        self.joined = any(joint_covariance(layer) is not None for layer in layers)
        if self.joined and not choices.static:
            raise Unproven("layers that depend on each other have no noise that is conditional on others")
        self.mean = layers[0].mean_at(region.centre)
        self.first_shares = first_shares(clients, region.centre)
        self.known: list[Ranges] = []
        self.price = ZERO

    def add_layer(self, depth: int) -> None:
        """Learn the ranges of one more hidden layer."""
        neurons, choices, sign = self.layers[depth].outputs, self.choices, self.choices.sign[depth]
        low, high, mean, deviation, moved = (zeros(neurons) for _ in range(5))
        for view, own in self.views(depth):
            low[own], high[own], mean[own], deviation[own], moved[own] = view.bounds(depth)
        if not self.rectified[depth]:
            sign = np.ones(neurons, dtype=np.int8)  # it is its own line, whatever its range
        elif any(
            (s > 0 and not lo >= 0) or (s < 0 and not hi <= 0)
            for s, lo, hi in zip(sign, low, high, strict=True)
        ):
            raise Unproven("a neuron was said to keep its sign")
        fixed = np.array([arb(c) for c in choices.reference[depth].tolist()], dtype=object)
        least, most = _activations(low, high, self.rectified[depth])
        middle = np.array([((a + b) / 2).mid() for a, b in zip(least, most, strict=True)], dtype=object)
        lines = Lines.over(choices.below[depth], choices.slope[depth], sign, low, high)
        half, reach = _reach(least, most, fixed), _reach(least, most, middle)
        free = isinstance(self.layers[depth], RandomLayer) and self.rectified[depth]
        self.known.append(
            Ranges(lines, mean, deviation, Moved(moved, sign), fixed, half, middle, reach, free)
        )
        before = self.layers[: depth + 1]
        side = zero_or_one(self.projections.price(self.kappa, len(self.clients)), before)
        side = (self.factor if depth else ONE) * side
        events = 3 * movement_events(before) + 2 * self.deviation_events(depth)
        self.price = self.price + neurons * (3 * side + events * self.failure)

    def views(self, depth: int) -> Iterator[tuple["_Chain", Array]]:
        """Chains of what some neurons of a layer see, and which neurons these are: all, or a position's."""
        own = convolutions(self.layers[: depth + 1])
        if not own:
            yield self, np.arange(self.layers[depth].outputs)
            return
        layers = on_patches(own)
        clients = [on_patches(convolutions(part[: depth + 1])) for part in self.clients]
        for inputs, *outputs in zip(*tables(own), strict=True):
            view = copy(self)
            view.layers, view.clients = layers, clients
            centre, radius = picked(self.region.centre, inputs), picked(self.region.radius, inputs)
            view.region = replace(self.region, centre=centre, radius=radius)
            view.mean, view.first_shares = picked(self.mean, outputs[0]), first_shares(clients, centre)
            view.known = [known.seen(own) for known, own in zip(self.known, outputs, strict=False)]
            yield view, outputs[-1]

    def bounds(self, depth: int) -> tuple[Balls, Balls, Balls, Balls, Balls]:
        """Ranges of a layer's neurons, their conditional means and deviations, and how far they move."""
        neurons = self.layers[depth].outputs
        rows = unit(neurons)
        constant, noise = self.form(np.concatenate([rows, -rows]), depth)
        found = self.lowered(constant, noise)
        low, high = found[:neurons], -found[neurons:]
        deviation = root((noise[0][:neurons] ** 2).sum(-1))
        if self.choices.static:  # nothing is taken at the centre
            return low, high, high, deviation, high - low
        mean = self.mean
        if depth:
            mean = -self.lowered(constant[neurons:], [n[neurons:] for n in noise[1:]])
        spreads = [own.moved for own in self.known]
        moved = movement(rows, self.layers[: depth + 1], self.region.radius, spreads, self.u)
        return low, high, mean, deviation, moved

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

    def carried_margins(self, carried: Array) -> tuple[list[arb], arb]:
        """The tails of the constraints of a last layer behind fixed ones, and the price of all events."""
        if self.projections.cells or len(self.clients) != 1 or self.clients[0] is not self.layers:
            raise Unproven("the noise of a last layer is carried under the deployed law alone")
        found = Head(self.layers, self.known, self.region).tails(carried)
        tails = [
            zero_or_one(own, self.layers) if sure is None else sure
            for own, sure in zip(found, settled(self.region), strict=True)
        ]
        return tails, self.price

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
            rows, drop = through_relu(layer.product(rows), before.lines)
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
        if not isinstance(layer, RandomLayer):
            return layer.at(rows, before.middle) + layer.steepest(rows, before.reach)
        if not before.independent:
            return layer.at(rows, size(before.middle) + before.reach)
        noise, bias_noise = layer.deviations(rows)
        return conditional_deviation(noise, bias_noise, before.mean, before.deviation, self.u)

    def lowered(self, constant: Balls, noise: Sequence[Balls]) -> Balls:
        """The constant minus the width of the projections' sum."""
        widths = [self.projections.width(self.kappa, own) for own in _combined(noise)]
        lowered: Balls = constant - np.array(widths, dtype=object)
        return lowered


def first_shares(clients: Sequence[Sequence[Layer]], centre: Balls) -> list[Balls | None]:
    """The deviations of each client's share of the first layer's outputs, where these are independent."""
    layers = [own[0] for own in clients]
    return [first_law(own, centre)[1] if isinstance(own, RandomLayer) else None for own in layers]


def _activations(low: Balls, high: Balls, rectified: bool) -> tuple[Balls, Balls]:
    """Exact ends of what the next layer reads, for pre-activations in [low, high]."""
    least, most = lower(low), np.array([largest(hi) for hi in high], dtype=object)
    if not rectified:
        return least, most
    return np.array([max(a, ZERO) for a in least]), np.array([max(b, ZERO) for b in most])


def _reach(least: Balls, most: Balls, centre: Balls) -> Balls:
    """Bounds of |h − c| for activations between two ends."""
    reached = [largest(b - c, c - a) for a, b, c in zip(least, most, centre, strict=True)]
    return np.array(reached, dtype=object)


def _combined(noise: Sequence[Balls]) -> list[list[arb]]:
    """For each row, √Σ_l s_{i,l}² for each client."""
    squares = sum((own * own for own in noise[1:]), noise[0] * noise[0])
    combined: list[list[arb]] = root(squares).tolist()
    return combined
