"""Pr(Y ≤ 0) by inverting the characteristic function (docs/soundness.md, 9.7 and 9.8), in balls.

    Y = g + Σ_k (A_k + N_k) h_k + N_b − Σ_l (s'_l max(Z_l, 0) − s_l max(−Z_l, 0))

with h_k = relu(μ_k + t_k Z_k).

A neuron with |μ_k| > 7.5 t_k hardly ever changes its sign: its factor of the characteristic function is
within 2 Q(|μ_k|/t_k) of that of a constant 0, or of a Gaussian, since two numbers of size ≤ 1 differ by 2 at
most. Where r_b is 0 a little noise is added: Pr(Y ≤ 0) ≤ Pr(Y + ς Z* − κς ≤ 0) + Q(κ).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from flint import acb, arb

from fedcert_check.balls import ONE, ZERO, tail
from fedcert_check.projected.moments import below, exponent

STABLE_DEVIATIONS = 7.5  # of its mean from 0, beyond which a neuron hardly ever changes its sign
MAX_TERMS = 4096  # of an inversion
NO_NOISE = arb(2) ** -400  # a smaller deviation of the bias noise is taken for none
ADDED_NOISE = arb(2) ** -6  # √(r_b² + ς²), in deviations of Y
ADDED_REACH = arb(5)  # κ
MARKOV_RATES = (0.5, 1.0, 2.0, 3.0, 6.0, 9.0)  # of Markov's inequality, in units of 1 / deviation


@dataclass(frozen=True)
class Row:
    """One Y.

    Attributes:
        constant: g.
        coefficient: A.
        noise: r, deviations of the N_k.
        bias_noise: r_b.
        later: s_l and s'_l of each layer beyond the second.
        mean: μ.
        scale: t.
    """

    constant: arb
    coefficient: Sequence[arb]
    noise: Sequence[arb]
    bias_noise: arb
    later: Sequence[tuple[arb, arb]]
    mean: Sequence[arb]
    scale: Sequence[arb]

    @cached_property
    def neurons(self) -> list[tuple[arb, arb, arb]]:
        """ν = μ/t, A t and (r t)² of each neuron."""
        parts = zip(self.mean, self.scale, self.coefficient, self.noise, strict=True)
        return [(mu / t, A * t, (r * t) ** 2) for mu, t, A, r in parts]

    @cached_property
    def active(self) -> list[tuple[arb, arb, arb]]:
        """The neurons that are active but for Q(7.5)."""
        return [neuron for neuron in self.neurons if neuron[0] > STABLE_DEVIATIONS]

    @cached_property
    def changing(self) -> list[tuple[arb, arb, arb]]:
        """The neurons that are neither always active nor always inactive."""
        return [neuron for neuron in self.neurons if not abs(neuron[0]) > STABLE_DEVIATIONS]

    @cached_property
    def stable_error(self) -> arb:
        """What the other neurons' factors, of size ≤ 1, are off by together: Π (1 + 2 Q(|ν|)) − 1 at most."""
        missed = sum((2 * tail(abs(nu)) for nu, _, _ in self.neurons if abs(nu) > STABLE_DEVIATIONS), ZERO)
        return missed.exp() - 1


def lower_tail(row: Row, centre: arb, spread: arb, terms: int) -> arb:
    """An upper bound of Pr(Y ≤ 0).

    Args:
        row: Y.
        centre: the mean of Y, roughly.
        spread: its deviation > 0, roughly; both are exact numbers that only choose the step.
        terms: number of terms that are added up; what is left out is charged.
    """
    row, price = _noisy(row, spread)
    if not row.bias_noise > 0:
        return ONE
    step = (2 * arb.pi() / (abs(centre) + 10 * spread)).mid()
    series = sum(
        (characteristic(row, (k + arb(0.5)) * step).imag / (k + arb(0.5)) for k in range(terms)), ZERO
    )
    width = 2 * arb.pi() / step
    return arb(0.5) - series / arb.pi() + _left_out(row, terms, step) + _beyond(row, width, spread) + price


def _noisy(row: Row, spread: arb) -> tuple[Row, arb]:
    """The row itself, or with noise that makes |φ| fall; and the price Q(κ) of that."""
    noise = ADDED_NOISE * spread
    if not (abs(row.bias_noise) < NO_NOISE and row.bias_noise < noise):
        return row, ZERO
    noisy = replace(row, constant=row.constant - ADDED_REACH * noise, bias_noise=noise)
    return noisy, tail(ADDED_REACH)


def characteristic(row: Row, tau: arb) -> acb:
    """φ(τ) for τ > 0."""
    real, phase, shrunk = -((tau * row.bias_noise) ** 2) / 2, tau * row.constant, ONE
    for nu, a, r in row.active:
        v, x = tau * a, tau * tau * r
        twice = 2 * (ONE + x)
        real, phase = real - (nu * nu * x + v * v) / twice, phase + 2 * nu * v / twice
        shrunk = shrunk * (ONE + x)
    value = acb(real, phase).exp() / shrunk.sqrt()
    for nu, a, r in row.changing:
        value = value * rectified(nu, tau * a, tau * tau * r)
    for lowest, highest in row.later:
        value = value * (half_normal(-tau * highest) + half_normal(tau * lowest)) / 2
    error = ZERO.union(row.stable_error).union(-row.stable_error)
    return value + acb(error, error)


def half_normal(c: arb) -> acb:
    """E e^(ic|Z|) = e^(−c²/2) erfc(−ic/√2)."""
    return (-c * c / 2).exp() * acb(ZERO, -c / arb(2).sqrt()).erfc()


def rectified(nu: arb, v: arb, x: arb) -> acb:
    """E exp(i c h − q² h²/2), v = c t, x = q² t².

    Φ(−ν) + (1 + x)^-½ exp[(2iνv − ν²x − v²)/(2 (1 + x))] Φ((ν + i v)/√(1 + x)), Φ(ζ) = erfc(−ζ/√2)/2.
    """
    rest = ONE + x
    root = rest.sqrt()
    full = acb(-(nu * nu * x + v * v) / (2 * rest), nu * v / rest).exp()
    return below(-nu) + full * (acb(-nu, -v) / (root * arb(2).sqrt())).erfc() / (2 * root)


def _left_out(row: Row, terms: int, step: arb) -> arb:
    """Σ_{k ≥ terms} |φ(τ_k)| / (π (k + ½)) at most: |φ| ≤ ψ, which falls at least like e^(−τ² r_b²/2)."""
    tau = (terms + arb(0.5)) * step
    psi = (-((tau * row.bias_noise) ** 2) / 2).exp()
    for nu, _, r in row.neurons:
        rest = ONE + tau * tau * r
        active = (-nu * nu * (rest - 1) / (2 * rest)).exp() * below(nu / rest.sqrt()) / rest.sqrt()
        psi = psi * (below(-nu) + active)
    others = ONE + 1 / (step * tau * row.bias_noise**2)
    return psi * others / (arb.pi() * (terms + arb(0.5)))


def _beyond(row: Row, width: arb, spread: arb) -> arb:
    """Pr(Y < −w) at most, by Markov's inequality: E exp(λ (s' max(Z, 0) − s max(−Z, 0))) ≤ 2 e^(λ² s'²/2)."""
    variance = sum((highest**2 for _, highest in row.later), row.bias_noise**2)
    doubled = 2 ** len(row.later)
    least = ONE
    for c in MARKOV_RATES:
        rate = (c / spread).mid()
        found = exponent(rate, row.constant, row.coefficient, row.noise, variance, row.mean, row.scale)
        if found is not None:
            least = min(least, (doubled * (found - rate * width).exp()).upper())
    return least
