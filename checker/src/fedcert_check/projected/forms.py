"""Backward linear bounds to the first hidden layer's law (docs/soundness.md, 9.4 and 9.5), in balls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls, size, zeros
from fedcert_check.projected.excess import Excess
from fedcert_check.projected.layers import RandomLayer, greatest, root, times
from fedcert_check.projected.lines import Lines, parts, rising_part, through_relu
from fedcert_check.projected.moments import exponent, second_moment
from fedcert_check.projected.movement import Moved, movement_of_inputs, noise_over, norm, read, still
from fedcert_check.validation import Array


@dataclass(frozen=True)
class Hidden:
    """A hidden layer beyond the first, on its events.

    Attributes:
        lines: around its ReLUs.
        mean: upper bounds of the conditional means at the centre.
        deviation: upper bounds of the conditional deviations at the centre.
        excess: how far they are beyond thresholds, on average.
    """

    lines: Lines
    mean: Balls
    deviation: Balls
    excess: Excess


@dataclass(frozen=True)
class Known:
    """The layers so far.

    Attributes:
        mean: μ of the first pre-activations at the centre.
        deviation: t, their deviations.
        radius: of the region around the centre.
        moved: how far the region moves each hidden layer.
        hidden: the hidden layers from the second.
        u: width of the events of movement for the next rows.
        width: width of their events of deviation.
    """

    mean: Balls
    deviation: Balls
    radius: Balls
    moved: tuple[Moved, ...]
    hidden: tuple[Hidden, ...]
    u: arb
    width: arb

    def at_centre(self, layers: int) -> "Known":
        """The first layers at the centre alone, where nothing moves."""
        still = tuple(replace(own, radius=own.radius * 0) for own in self.moved[:layers])
        return replace(self, radius=self.radius * 0, moved=still, hidden=self.hidden[: layers - 1])


@dataclass(frozen=True)
class Form:
    """g + Σ_k (A_k + N_k) relu(μ'_k + t_k Z_k) + N_b + Σ N_l', one for each row.

    Attributes:
        constant: g.
        coefficient: A.
        noise: deviations of the N_k.
        bias_noise: deviation of N_b.
        later: bounds of the conditional deviations of the N_l', from the last layer down.
        mean: μ', row by row.
        scale: t > 0.
        excess: E T for rows whose lines may be exceeded: they are a lower bound less T.
    """

    constant: Balls
    coefficient: Balls
    noise: Balls
    bias_noise: Balls
    later: tuple[Balls, ...]
    mean: Balls
    scale: Balls
    excess: Balls

    def without_own_noise(self) -> "Form":
        """The form without the noise of the layer that its rows belong to."""
        if self.later:
            return replace(self, later=self.later[1:])
        return replace(self, noise=self.noise * 0, bias_noise=self.bias_noise * 0)

    def exponent(self, r: int, rate: arb) -> arb | None:
        """K(λ) of one row (9.6); None where it is not known to be finite."""
        variance = sum((own[r] ** 2 for own in self.later), self.bias_noise[r] ** 2)
        rows = (own[r].tolist() for own in (self.coefficient, self.noise, self.mean))
        coefficient, noise, mean = rows
        return exponent(rate, self.constant[r], coefficient, noise, variance, mean, self.scale.tolist())


def linear_form(rows: Balls, layers: Sequence[RandomLayer], known: Known, reach: Array | None = None) -> Form:
    """Lower bounds of B·a_l(x) over the region for rows B of the last layer, on the events.

    Args:
        rows: B.
        layers: up to the last.
        known: of the layers before.
        reach: of each row's lines, which may be exceeded; None for lines that hold.
    """
    constant, excess, later = zeros(len(rows)), zeros(len(rows)), []
    for depth in reversed(range(1, len(layers))):
        layer = layers[depth]
        noise, bias_noise = layer.deviations(rows)
        constant = constant + rows @ layer.bias
        coefficient = times(rows, layer.mean)
        if depth == 1:
            break
        constant = constant - noise_over(read(depth, layers, known.radius, known.moved), noise, known.u)
        before = known.hidden[depth - 2]
        later.append(conditional_deviation(noise, bias_noise, before.mean, before.deviation, known.width))
        rows, drop, more = through_layer(coefficient, before, reach)
        constant, excess = constant + drop, excess + more
    mean, loss, theta = _moved_means(coefficient, known)
    moved = _moved(coefficient * theta, noise, mean, layers[0], known)
    constant = constant - (size(coefficient) * loss).sum(-1) - moved
    form = Form(constant, coefficient, noise, bias_noise, tuple(later), mean, known.deviation, excess)
    return folded(form)


def through_layer(coefficient: Balls, before: Hidden, reach: Array | None) -> tuple[Balls, Balls, Balls]:
    """Rows before a layer's ReLUs, what its lines lose, and what these are exceeded by on average."""
    if reach is None or not (reach > 0).any():
        return *through_relu(coefficient, before.lines), zeros(len(coefficient))
    lines, average = before.excess.lines(before.lines, reach)
    return *through_relu(coefficient, lines), (-parts(coefficient)[1] * average).sum(-1)


def folded(form: Form) -> Form:
    """The form without its neurons of t = 0: h'_k = relu(μ'_k) is a number.

    A_k h'_k joins g, and N_k h'_k joins N_b, whose deviation becomes √(r_b² + Σ_k r_k² h'_k²).
    """
    fixed = np.array([t == 0 for t in form.scale], dtype=bool)
    if not fixed.any():
        return form
    h = np.asarray(rising_part(form.mean[:, fixed]), dtype=object)
    noise = form.noise[:, fixed] * h
    return replace(
        form,
        constant=form.constant + (form.coefficient[:, fixed] * h).sum(-1),
        coefficient=form.coefficient[:, ~fixed],
        noise=form.noise[:, ~fixed],
        bias_noise=root(form.bias_noise * form.bias_noise + (noise * noise).sum(-1)),
        mean=form.mean[:, ~fixed],
        scale=form.scale[~fixed],
    )


def _moved_means(coefficient: Balls, known: Known) -> tuple[Balls, Balls, Balls]:
    """μ', what is lost beside it, and θ (9.4.3), by the sign of A.

    Where A is positive θ is 0 or 1 by the sign of μ. If its sign is not decided it is taken for
    negative, which costs another 2 D |A|.
    """
    first = known.moved[0]
    means, losses, thetas = (np.empty_like(coefficient) for _ in range(3))
    for k, (mu, D, sign) in enumerate(zip(known.mean, first.radius, first.sign.tolist(), strict=True)):
        chord = _chord(mu, D)
        rises = bool(mu.mid() > 0)
        for r in range(len(coefficient)):
            A = coefficient[r, k]
            if sign:
                means[r, k], losses[r, k], thetas[r, k] = mu, ZERO, ONE if sign > 0 else ZERO
            elif A > 0:
                means[r, k] = mu + D if rises else mu - D
                losses[r, k], thetas[r, k] = (D, ONE) if rises else (ZERO, ZERO)
            else:
                means[r, k] = mu + (1 - 2 * chord) * D
                losses[r, k], thetas[r, k] = chord * D + (ZERO if A <= 0 else 2 * D), chord
    return means, losses, thetas


def _chord(mu: arb, D: arb) -> arb:
    """About the slope of the chord of relu over μ ± D, an exact number of [0, 1]; any would be valid."""
    low, high = float(mu.mid() - D.mid()), float(mu.mid() + D.mid())
    if not low < 0 < high:
        return ONE if high > 0 else ZERO
    return arb(min(1.0, max(0.0, high / (high - low))))


def _moved(rows: Balls, noise: Balls, mean: Balls, layer: RandomLayer, known: Known) -> Balls:
    """What the region moves of B·Δ_1(x) + N·(h_1(x) − h'), N the noise of layer 2; two events a row."""
    first = known.moved[0]
    if still(known.radius):
        return zeros(len(rows))
    delta = first.activations + size(mean - known.mean)
    average = movement_of_inputs(rows, layer, known.radius, known.u, noise * first.steepness)
    return np.asarray(average + known.u * norm(noise * delta), dtype=object)


def conditional_deviation(noise: Balls, bias_noise: Balls, mean: Balls, deviation: Balls, u: arb) -> Balls:
    """√(Σ_k r_k² E h_k² + r_b²) + u max_k r_k t_k ≥ √(Σ_k r_k² h_k² + r_b²) but for Q(u)."""
    moments = np.array([second_moment(m, t) for m, t in zip(mean, deviation, strict=True)], dtype=object)
    square = (noise * noise) @ moments + bias_noise * bias_noise
    steepest = greatest(noise * deviation)
    return root(square) + steepest * u
