"""The probability of a violation with the first hidden layer's law exact (docs/soundness.md, 9), in balls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb, arb_mat

from fedcert_check.balls import ONE, ZERO, Balls, exact, tail
from fedcert_check.projected.any_layer import Layer
from fedcert_check.projected.constraint_tails import TailChoice, row_tail
from fedcert_check.projected.envelope import own_exponent
from fedcert_check.projected.excess import Excess
from fedcert_check.projected.forms import Form, Hidden, Known, conditional_deviation, linear_form
from fedcert_check.projected.later import lowest_deviations
from fedcert_check.projected.layers import (
    RandomLayer,
    Unproven,
    largest,
    random_weights,
    root,
    unit,
    zero_or_one,
)
from fedcert_check.projected.lines import Lines
from fedcert_check.projected.movement import Moved, movement, movement_events
from fedcert_check.validation import Array


@dataclass(frozen=True)
class Region:
    """A property: C f(x) + d ≥ 0 for all x within `radius` of `centre`.

    Attributes:
        centre: x_c.
        radius: δ_0.
        C: the constraints.
        d: their offsets.
    """

    centre: Balls
    radius: Balls
    C: Balls
    d: Balls

    @classmethod
    def of(cls, lower: Array, upper: Array, C: Array, d: Array) -> "Region":
        """The property of a box [lower, upper], from the float of the box that is nearest to its centre."""
        middle = np.clip(lower + (upper - lower) / 2, lower, upper)
        low, centre, high = exact(lower), exact(middle), exact(upper)
        reach = [largest(b - m, m - a) for a, m, b in zip(low, centre, high, strict=True)]
        return cls(centre, _array(reach), exact(C), exact(d))

    @property
    def decided(self) -> list[bool | None]:
        """For each constraint of zeros, whether 0·f(x) + d ≥ 0; None for any other."""
        return [
            bool(offset >= 0) if all(c == 0 for c in row) else None
            for row, offset in zip(self.C, self.d, strict=True)
        ]


@dataclass(frozen=True)
class Choices:
    """What the witness says of one property.

    Attributes:
        ranges: failure probability of one side of a range, for each hidden layer.
        movement: of one event of movement, for each layer's rows.
        deviation: of one event of deviation, for each layer's rows.
        sign: of each hidden layer's neurons.
        below: slopes below the ReLUs of the hidden layers from the second.
        slope: slopes above them.
        rate: λ of their rows.
        mean_rate: λ of their means.
        excess_centre: from where the thresholds of lines that may be exceeded are measured, below and above.
        excess_rate: λ of what they are exceeded by.
        tails: how the tail of each constraint is bounded.
    """

    ranges: Array
    movement: Array
    deviation: Array
    sign: Sequence[Array]
    below: Sequence[Array]
    slope: Sequence[Array]
    rate: Sequence[Array]
    mean_rate: Sequence[Array]
    excess_centre: Sequence[Array]
    excess_rate: Sequence[Array]
    tails: Sequence[TailChoice]


def width(failure: float) -> arb:
    """The u ≥ 0 with e^(−u²/2) = failure, which is more than Q(u)."""
    return (-2 * arb(failure).log()).sqrt()


def concentration(u: arb) -> arb:
    """Q(u), u ≥ 0: how often, at most, a convex 1-Lipschitz function of normals exceeds its mean by u."""
    if not u >= 0:
        raise Unproven("an event of concentration needs a width")
    return tail(u)


def violation(
    every: Sequence[Layer], region: Region, choices: Choices, only: int | None = None
) -> tuple[list[arb], arb]:
    """Upper bounds of each constraint's tail, and of the probability that some event fails.

    Args:
        every: the layers of the network and its law; nothing is proven if some depend on each other.
        region: the property.
        choices: any choices.
        only: the one constraint whose tail is asked for; all where None.
    """
    layers = [layer for layer in every if isinstance(layer, RandomLayer)]
    if len(layers) < len(every):
        raise Unproven("the first layer's law is exact only for independent parameters")
    if only is not None:
        region = replace(region, C=region.C[only : only + 1], d=region.d[only : only + 1])
        choices = replace(choices, tails=choices.tails[only : only + 1])
    certain = [known for known in settled(region) if known is not None]
    if len(certain) == len(region.d):
        return certain, ZERO
    u, wide = ([width(f) for f in own.tolist()] for own in (choices.movement, choices.deviation))
    moving, deviating = ([concentration(w) for w in own] for own in (u, wide))
    mean, deviation = first_law(layers[0], region.centre)
    constraints = len(region.d)
    if len(layers) == 1:
        margin = region.C @ mean + region.d - movement(region.C, layers, region.radius, (), u[0])
        spread = root((region.C * region.C) @ (deviation * deviation))
        found = [
            known if known is not None else _half_space(m, s)
            for known, m, s in zip(settled(region), margin, spread, strict=True)
        ]
        return found, constraints * movement_events(layers) * moving[0]
    moved = Moved(movement(unit(layers[0].outputs), layers[:1], region.radius, (), u[0]), choices.sign[0])
    price = _flips(mean, deviation, moved) + layers[0].outputs * movement_events(layers[:1]) * moving[0]
    known = Known(mean, deviation, region.radius, (moved,), (), u[1], wide[1])
    for depth in range(1, len(layers) - 1):
        before = layers[: depth + 1]
        known, cost = _next_layer(before, known, choices, depth)
        deviations = 2 * random_weights(before[2:] or before[1:]) + random_weights(before[-1:]) * (depth > 1)
        events = 4 * movement_events(before) * moving[depth] + deviations * deviating[depth]
        price = price + cost + layers[depth].outputs * events
        known = replace(known, u=u[depth + 1], width=wide[depth + 1])
    reach = np.array([chosen.reach for chosen in choices.tails])
    form = linear_form(region.C, layers, known, reach)
    form = replace(form, constant=form.constant + region.d)
    deep = random_weights(layers[2:]) * deviating[-1]
    price = price + constraints * (movement_events(layers) * moving[-1] + deep)
    failure = arb(float(choices.deviation[-1]))
    rates = np.array([chosen.lowest for chosen in choices.tails])
    lowest = lowest_deviations(region.C, layers, known, rates, failure, reach)
    for depth in (d for d in range(2, len(layers)) if not layers[d].fixed_weights):
        price = price + constraints * zero_or_one(failure, layers[:depth])
        price = price + constraints * random_weights(layers[2:depth]) * deviating[-1]
    tails = [
        sure if sure is not None else zero_or_one(row_tail(form, r, chosen, lowest), layers)
        for r, (sure, chosen) in enumerate(zip(settled(region), choices.tails, strict=True))
    ]
    return tails, price


def _half_space(margin: arb, deviation: arb) -> arb:
    """Pr(margin + s Z ≤ 0), ties included."""
    if deviation == 0:
        return ZERO if margin > 0 else ONE
    return tail(margin / deviation)


def settled(region: Region) -> list[arb | None]:
    """The tail 0 or 1 of a constraint of zeros, None for any other."""
    return [None if holds is None else ZERO if holds else ONE for holds in region.decided]


def first_law(layer: RandomLayer, x: Balls) -> tuple[Balls, Balls]:
    """μ = M x + m and t = √(S² x² + s²), of the first layer's pre-activations."""
    mean = np.array((layer.mean * _column(x)).entries(), dtype=object) + layer.bias
    variance = np.array((layer.variance * _column(x * x)).entries(), dtype=object) + layer.bias_variance
    return mean, root(variance)


def _column(x: Balls) -> arb_mat:
    return arb_mat(len(x), 1, x.tolist())


def _flips(mean: Balls, deviation: Balls, moved: Moved) -> arb:
    """The price of saying that neurons of the first layer keep their signs."""
    price = ZERO
    for mu, t, D, sign in zip(mean, deviation, moved.radius, moved.sign.tolist(), strict=True):
        if sign:
            price = price + _half_space(sign * mu - D, t)
    return price


def _next_layer(
    layers: Sequence[RandomLayer], known: Known, choices: Choices, depth: int
) -> tuple[Known, arb]:
    """What is known with one hidden layer more, and the price of its ranges and means."""
    layer, place = layers[-1], depth - 1
    neurons, sign = layer.outputs, choices.sign[depth]
    rows = unit(neurons)
    most, failure = arb(float(choices.ranges[depth])), arb(float(choices.deviation[depth]))
    side_price, mean_price = zero_or_one(most, layers), zero_or_one(failure, layers)
    sides = [(j, 1) for j in range(neurons) if sign[j] >= 0] + [
        (j, -1) for j in range(neurons) if sign[j] <= 0
    ]
    form = linear_form(np.array([side * rows[j] for j, side in sides], dtype=object), layers, known)
    noise, bias_noise = layer.deviations(rows)
    before = known.hidden[-1] if known.hidden else known
    own = conditional_deviation(noise, bias_noise, before.mean, before.deviation, known.width)
    reach = own if known.hidden else _reach(noise, bias_noise, known)
    silent = form.without_own_noise()
    low, high, price = [ZERO] * neurons, [ZERO] * neurons, neurons * mean_price
    for r, (j, side) in enumerate(sides):
        rate = arb(float(choices.rate[place][j if side > 0 else neurons + j]))
        K = own_exponent(form, silent, r, rate, reach[j])
        if sign[j]:
            price = price + (ONE if K is None else zero_or_one(K.exp(), layers))
            continue
        price = price + side_price
        bound = side * _quantile(K, rate, most)
        (low if side > 0 else high)[j] = bound
    means = linear_form(-rows, layers, known).without_own_noise()
    rates = [arb(rate) for rate in choices.mean_rate[place].tolist()]
    mean = [-_quantile(means.exponent(j, rate), rate, failure) for j, rate in enumerate(rates)]
    lines = Lines.over(choices.below[place], choices.slope[place], sign, _array(low), _array(high))
    moved = Moved(movement(rows, layers, known.radius, known.moved, known.u), sign)
    hidden = Hidden(lines, _array(mean), own, _excess(form, silent, sides, reach, choices, depth))
    return replace(known, moved=(*known.moved, moved), hidden=(*known.hidden, hidden)), price


def _excess(
    form: Form,
    silent: Form,
    sides: Sequence[tuple[int, int]],
    reach: Balls,
    choices: Choices,
    depth: int,
) -> Excess:
    """How far a layer's neurons of unknown sign are beyond thresholds, if any line is to be exceeded."""
    sign, centre, rates = (
        choices.sign[depth],
        choices.excess_centre[depth - 1],
        choices.excess_rate[depth - 1],
    )
    exponents: list[arb | None] = [None] * (2 * len(sign))
    if any(chosen.reach > 0 for chosen in choices.tails):
        for r, (j, side) in enumerate(sides):
            if not sign[j]:
                at = j if side > 0 else len(sign) + j
                exponents[at] = own_exponent(form, silent, r, arb(float(rates[at])), reach[j])
    return Excess(sign == 0, centre, rates, exponents)


def _reach(noise: Balls, bias_noise: Balls, known: Known) -> Balls:
    """Deviations of layer 2's noise at h' = relu(μ' + t Z), μ' ≤ μ + D."""
    highest = known.mean + known.moved[0].radius
    return conditional_deviation(noise, bias_noise, highest, known.deviation, known.width)


def _array(values: list[arb]) -> Balls:
    return np.array(values, dtype=object)


def _quantile(exponent: arb | None, rate: arb, failure: arb) -> arb:
    """A y with Pr(Y ≤ y) ≤ failure, from K(λ)."""
    if exponent is None:
        raise Unproven("an exponential moment is infinite")
    return (failure.log() - exponent) / rate
