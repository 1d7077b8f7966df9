"""The probability of a violation with the first hidden layer's law exact (docs/soundness.md, 9), in balls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb, arb_mat

from fedcert.check.balls import ONE, ZERO, Balls, exact, tail
from fedcert.check.document import Array
from fedcert.check.projected.forms import Form, Hidden, Known, Lines, conditional_deviation, linear_form
from fedcert.check.projected.inversion import Row, lower_tail
from fedcert.check.projected.layers import RandomLayer, Unproven, largest, root, square_root, unit
from fedcert.check.projected.moments import exponent, moments
from fedcert.check.projected.movement import Moved, movement

TAIL_RATES = (1.0, 0.85, 1.2, 0.7, 1.5, 0.5)  # multiples of the rate that is best for a Gaussian
LEAST_RATE, MOST_RATE = arb(0.1), arb(50)  # in units of 1 / deviation
LEAST_UNIT = 1e-9  # of the constant: where hardly anything is random, any large rate will do
SMALL_ENOUGH = 1e-18  # a tail that no other rate needs to improve
WORTH_INVERTING = 1e-10
HOPELESS = 6.0  # deviations below zero of a mean


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
        """The property of a box [lower, upper]."""
        low, high = exact(lower), exact(upper)
        return cls((low + high) / 2, (high - low) / 2, exact(C), exact(d))

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
    """

    ranges: Array
    movement: Array
    deviation: Array
    sign: Sequence[Array]
    below: Sequence[Array]
    slope: Sequence[Array]
    rate: Sequence[Array]
    mean_rate: Sequence[Array]


def width(failure: float) -> arb:
    """The u with e^(−u²/2) = failure."""
    return (-2 * arb(failure).log()).sqrt()


def violation(
    layers: Sequence[RandomLayer], region: Region, choices: Choices, only: int | None = None
) -> tuple[list[arb], arb]:
    """Upper bounds of each constraint's tail, and of the probability that some event fails.

    Args:
        layers: the network and its law.
        region: the property.
        choices: any choices.
        only: the one constraint whose tail is asked for; all where None.
    """
    if only is not None:
        region = replace(region, C=region.C[only : only + 1], d=region.d[only : only + 1])
    certain = [known for known in settled(region) if known is not None]
    if len(certain) == len(region.d):
        return certain, ZERO
    u = [width(f) for f in choices.movement.tolist()]
    moving = [arb(f) for f in choices.movement.tolist()]
    deviating = [arb(f) for f in choices.deviation.tolist()]
    mean, deviation = first_law(layers[0], region.centre)
    constraints = len(region.d)
    if len(layers) == 1:
        margin = region.C @ mean + region.d - movement(region.C, layers, region.radius, (), u[0])
        spread = root((region.C * region.C) @ (deviation * deviation))
        found = [
            known if known is not None else tail(m / s)
            for known, m, s in zip(settled(region), margin, spread, strict=True)
        ]
        return found, constraints * moving[0]
    moved = Moved(movement(unit(layers[0].outputs), layers[:1], region.radius, (), u[0]), choices.sign[0])
    price = _flips(mean, deviation, moved) + layers[0].outputs * moving[0]
    known = Known(mean, deviation, region.radius, (moved,), (), u[1], width(choices.deviation[1]))
    for depth in range(1, len(layers) - 1):
        known, cost = _next_layer(layers[: depth + 1], known, choices, depth)
        events = 4 * (2 * depth + 1) * moving[depth] + (2 * (depth - 1) + 1) * deviating[depth]
        price = price + cost + layers[depth].outputs * events
        known = replace(known, u=u[depth + 1], width=width(choices.deviation[depth + 1]))
    form = linear_form(region.C, layers, known)
    form = replace(form, constant=form.constant + region.d)
    deep = (len(layers) - 2) * deviating[-1]
    price = price + constraints * ((2 * len(layers) - 1) * moving[-1] + deep)
    tails = [s if s is not None else row_tail(form, r) for r, s in enumerate(settled(region))]
    return tails, price


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
            price = price + tail((sign * mu - D) / t)
    return price


def _next_layer(
    layers: Sequence[RandomLayer], known: Known, choices: Choices, depth: int
) -> tuple[Known, arb]:
    """What is known with one hidden layer more, and the price of its ranges and means."""
    layer, place = layers[-1], depth - 1
    neurons, sign = layer.outputs, choices.sign[depth]
    rows = unit(neurons)
    most, failure = arb(float(choices.ranges[depth])), arb(float(choices.deviation[depth]))
    sides = [(j, 1) for j in range(neurons) if sign[j] >= 0] + [
        (j, -1) for j in range(neurons) if sign[j] <= 0
    ]
    form = linear_form(np.array([side * rows[j] for j, side in sides], dtype=object), layers, known)
    low, high, price = [ZERO] * neurons, [ZERO] * neurons, neurons * failure
    for r, (j, side) in enumerate(sides):
        rate = arb(float(choices.rate[place][j if side > 0 else neurons + j]))
        K = _exponent(form, r, rate)
        if sign[j]:
            price = price + (ONE if K is None else K.exp())
            continue
        price = price + most
        bound = side * _quantile(K, rate, most)
        (low if side > 0 else high)[j] = bound
    means = linear_form(-rows, layers, known).without_own_noise()
    rates = [arb(rate) for rate in choices.mean_rate[place].tolist()]
    mean = [-_quantile(_exponent(means, j, rate), rate, failure) for j, rate in enumerate(rates)]
    noise, bias_noise = layer.deviations(rows)
    before = known.hidden[-1] if known.hidden else known
    own = conditional_deviation(noise, bias_noise, before.mean, before.deviation, known.width)
    lines = Lines.over(choices.below[place], choices.slope[place], sign, _array(low), _array(high))
    moved = Moved(movement(rows, layers, known.radius, known.moved, known.u), sign)
    hidden = Hidden(lines, _array(mean), own)
    return replace(known, moved=(*known.moved, moved), hidden=(*known.hidden, hidden)), price


def _array(values: list[arb]) -> Balls:
    return np.array(values, dtype=object)


def _quantile(exponent: arb | None, rate: arb, failure: arb) -> arb:
    """A y with Pr(Y ≤ y) ≤ failure, from K(λ)."""
    if exponent is None:
        raise Unproven("an exponential moment is infinite")
    return (failure.log() - exponent) / rate


def _exponent(form: Form, r: int, rate: arb) -> arb | None:
    """K(λ) of one row."""
    variance = sum((own[r] ** 2 for own in form.later), form.bias_noise[r] ** 2)
    return exponent(
        rate,
        form.constant[r],
        form.coefficient[r].tolist(),
        form.noise[r].tolist(),
        variance,
        form.mean[r].tolist(),
        form.scale.tolist(),
    )


def row_tail(form: Form, r: int) -> arb:
    """An upper bound of Pr(Y ≤ 0) for one row, by an exponential moment or by inversion."""
    centre, spread = _rough(form, r)
    if not (centre.is_finite() and spread.is_finite() and spread > 0):
        return ONE
    best, least = min(max((centre / spread).mid(), LEAST_RATE), MOST_RATE), ONE
    unit = largest(spread, LEAST_UNIT * (1 + abs(form.constant[r])))
    for factor in TAIL_RATES:
        K = _exponent(form, r, (factor * best / unit).mid())
        if K is not None:
            least = min(least, K.exp().upper())
        if least < SMALL_ENOUGH:
            break
    if least < WORTH_INVERTING or centre < -HOPELESS * spread:
        return least
    last, *between = [own[r] for own in form.later] or [ZERO]
    reflected = square_root(sum((s * s for s in between), ZERO))
    row = Row(
        form.constant[r],
        form.coefficient[r].tolist(),
        form.noise[r].tolist(),
        form.bias_noise[r],
        reflected,
        last,
        form.mean[r].tolist(),
        form.scale.tolist(),
    )
    return largest(min(least, lower_tail(row, centre, spread).upper()), ZERO)


def _rough(form: Form, r: int) -> tuple[arb, arb]:
    """Mean and deviation of a form, roughly, as exact numbers: they only choose rates and steps."""
    centre = form.constant[r]
    variance = sum((own[r] * own[r] for own in form.later), form.bias_noise[r] * form.bias_noise[r])
    for A, noise, mu, t in zip(form.coefficient[r], form.noise[r], form.mean[r], form.scale, strict=True):
        first, second, spread = moments(mu, t)
        centre, variance = centre + A * first, variance + A * A * spread + noise * noise * second
    return centre.mid(), variance.mid().sqrt().mid()
