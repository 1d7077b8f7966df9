"""The lower tail of a linear form by inversion of its characteristic function.

    Y = g + Σ_k (A_k + N_k) h_k + N_b − Σ_l (s'_l max(Z_l, 0) − s_l max(−Z_l, 0)),

all independent given h, has the characteristic function

    φ(τ) = e^(iτg − τ² r_b²/2) Π_k E exp(iτ A_k h_k − τ² r_k² h_k²/2) Π_l (w(−τs'_l/√2) + w(τs_l/√2)) / 2,

w being the Faddeeva function: E e^(ic|Z|) = w(c/√2).

With a step η, τ_k = (k + ½) η and w = 2π/η (Davies, Biometrika 60, 1973),

    Pr(Y < 0) ≤ ½ − Σ_k Im φ(τ_k) / (π (k + ½)) + Pr(Y < −w) :

Σ_k sin((k + ½) x) / (k + ½) is π/2 times a square wave of x = ηY, so the series is the probability that Y
lies in [−w, 0], or an even multiple of w away from there. |φ| is at most the decreasing function

    ψ(τ) = e^(−τ² r_b²/2) Π_k E exp(−τ² r_k² h_k²/2),

which bounds what is left out after K terms: ψ(τ_K) (1 + 1/(η τ_K r_b²)) / (π (K + ½)). Pr(Y < −w) is bounded
by an exponential moment. Where r_b is 0 nothing makes |φ| fall, so that a little noise is added first: with
an independent normal Z*,

    Pr(Y ≤ 0) ≤ Pr(Y + ς Z* − κς ≤ 0) + Q(κ)    for any ς and κ > 0.

Libraries are trusted only up to `ERROR`, a bound on the absolute error of one
factor that the tests compare with ball arithmetic.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, wofz

ERROR = 2.0**-41
"""Charged for each call of the Faddeeva function, an exponential or a normal probability of size ≤ 1."""
MOST_TERMS = 4096  # maximum number of terms of the series
RATES = (0.5, 1.0, 2.0, 3.0, 6.0, 9.0)  # λ of Markov's inequality, in units of 1 / deviation
NEGLIGIBLE = 1e-13  # no more terms are added once the bound of those left out is at most this
NOT_CONVERGED = 2.0**-8
"""Relative amount added to what is left out, so that the checker does not find a larger tail.

A partial sum that is far from the limit depends on the last digits of a form, and the exact form differs from
this one by what was charged for rounding.
"""

NO_NOISE = 2.0**-400
"""A deviation below this is that of a bias that is fixed: nothing but an underflow."""
ADDED_NOISE = 2.0**-6  # √(r_b² + ς²), in deviations of Y
ADDED_REACH = 5.0  # κ
ADDED_TAIL = 2.9e-7  # above Q(5)

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class Row:
    """One linear form, with the terms that dominate its later layers.

    Attributes:
        constant: g.
        coefficient: A.
        noise: r, the deviations of the N_k.
        bias_noise: r_b.
        later: s and s', bounds of the deviation of each layer beyond the second, from below and from above.
        mean: μ of h = relu(μ + t Z).
        deviation: t.
    """

    constant: float
    coefficient: Real
    noise: Real
    bias_noise: float
    later: tuple[tuple[float, float], ...]
    mean: Real
    deviation: Real


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # a result that is not finite becomes 1
def lower_tail(row: Row, centre: float, spread: float) -> float:
    """An upper bound of Pr(Y ≤ 0), at most 1.

    Args:
        row: Y.
        centre: the approximate mean of Y.
        spread: the approximate deviation of Y; both only choose the step.
    """
    if not (math.isfinite(centre) and 0 < spread < math.inf):
        return 1.0
    noisy = _noisy(row, spread)
    price, row = (0.0 if noisy is row else ADDED_TAIL), noisy
    width = abs(centre) + 10 * spread
    step, terms = 2 * math.pi / width, enough_terms(row, centre, spread)
    half: Real = np.arange(terms, dtype=np.float64) + 0.5
    value, error = characteristic(row, half * step)
    weight = 1 / (math.pi * half)
    series = 0.5 - float((value.imag * weight).sum())
    inexact = float(((error + 4 * terms * 2.0**-53) * weight).sum()) * 2
    left_out = _left_out(row, terms, step) * (1 + NOT_CONVERGED)
    tail = series + inexact + left_out + _beyond(row, width * (1 - 2.0**-40), spread)
    tail = tail + price if price else tail
    return min(1.0, max(tail, 0.0) * (1 + 2.0**-40)) if math.isfinite(tail) else 1.0


def _noisy(row: Row, spread: float) -> Row:
    """The row itself; if it has no bias noise, Y + ς Z* − κ√(r_b² + ς²), which is less than with κς.

    A row without neurons stays as it is: only the later layers are random, and lines bound them better. So
    does one whose noise is NaN, of which nothing is claimed.
    """
    noise = ADDED_NOISE * spread
    fixed = row.bias_noise < min(NO_NOISE, noise)
    if not fixed or not row.coefficient.any():
        return row
    reach = math.nextafter(ADDED_REACH * noise, math.inf)
    return replace(row, constant=math.nextafter(row.constant - reach, -math.inf), bias_noise=noise)


def characteristic(row: Row, tau: Real) -> tuple[Complex, Real]:
    """φ at the given τ > 0, and a bound of its absolute error."""
    column = tau[:, None]
    factors, error = _rectified(column * row.coefficient, column * row.noise, row.mean, row.deviation)
    phase, damping = tau * row.constant, (tau * row.bias_noise) ** 2 / 2
    value = factors.prod(-1) * np.exp(1j * phase - damping)
    total = error.sum(-1) + ERROR + 4 * 2.0**-53 * np.abs(phase)
    for lowest, highest in row.later:
        halves = wofz(-tau * highest / math.sqrt(2)) + wofz(tau * lowest / math.sqrt(2))
        value, total = value * (halves / 2), total + 2 * ERROR
    return value, 2 * total


def _rectified(linear: Real, quadratic: Real, mean: Real, deviation: Real) -> tuple[Complex, Real]:
    """E exp(i c h − q² h²/2) for h = relu(μ + t Z), and a bound of its absolute error.

    With ν = μ/t, v = c t, x = q² t² and ζ = (ν + i v)/√(1 + x), the Gaussian integral over h > 0 gives

        Φ(−ν) + (1 + x)^-½ exp[(2iνv − ν²x − v²) / (2 (1 + x))] Φ(ζ),

    where exp(ζ²/2) Φ(ζ) = w(−iζ/√2)/2 for Re ζ ≤ 0 and Φ(ζ) = 1 − Φ(−ζ); then |w| ≤ 1, and the exponential of
    ζ²/2 − ν²/2 is the one above.
    """
    nu, v, x = mean / deviation, linear * deviation, (quadratic * deviation) ** 2
    root = np.sqrt(1 + x)
    zeta = (nu + 1j * v) / root
    positive = nu > 0
    half = 0.5 * np.exp(-nu * nu / 2) * wofz(np.where(positive, 1j, -1j) * zeta / math.sqrt(2))
    full = np.exp((2j * nu * v - nu * nu * x - v * v) / (2 * (1 + x)))
    value = ndtr(-nu) + np.where(positive, full - half, half).astype(np.complex128) / root
    error = 4 * ERROR + 16 * 2.0**-53 * np.abs(nu * v)
    return value, error


def _damping(row: Row, tau: float) -> float:
    """An upper bound of log ψ(τ): every factor is the one above with c = 0, a real number."""
    nu, x = row.mean / row.deviation, (tau * row.noise * row.deviation) ** 2
    active = -nu * nu * x / (2 * (1 + x)) + log_ndtr(nu / np.sqrt(1 + x)) - np.log1p(x) / 2
    logs = np.logaddexp(log_ndtr(-nu), active)
    gaussian = -((tau * row.bias_noise) ** 2) / 2
    return (float(np.minimum(logs, 0.0).sum()) + gaussian) * (1 - 2.0**-30) + 2.0**-40 * len(logs)


def _left_out(row: Row, terms: int, step: float) -> float:
    """An upper bound of the sum of |φ(τ_k)| / (π (k + ½)) over k ≥ terms."""
    tau = (terms + 0.5) * step
    decay = step * tau * row.bias_noise * row.bias_noise
    if not decay > 0:
        return math.inf
    others = 1 + 1 / decay
    return math.exp(_damping(row, tau)) * others / (math.pi * (terms + 0.5)) * (1 + 2.0**-30)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def enough_terms(row: Row, centre: float, spread: float) -> int:
    """The number of terms after which what is left out is negligible, at most `MOST_TERMS`.

    Args:
        row: Y.
        centre: as for `lower_tail`.
        spread: as for `lower_tail`.
    """
    row = _noisy(row, spread)
    step, terms = 2 * math.pi / (abs(centre) + 10 * spread), 16
    while terms < MOST_TERMS and _left_out(row, terms, step) > NEGLIGIBLE:
        terms += terms // 2
    return min(terms, MOST_TERMS)


def _beyond(row: Row, width: float, spread: float) -> float:
    """An upper bound of Pr(Y < −w), by Markov's inequality for exp(−λY) at a few λ."""
    return min(math.exp(min(0.0, _log_moment(row, c / spread) - c / spread * width)) for c in RATES)


def _log_moment(row: Row, rate: float) -> float:
    """An upper bound of log E exp(−λY), infinite where the latter (nearly) is.

    E exp(λ (s' max(Z, 0) − s max(−Z, 0))) ≤ E e^(λs'|Z|) ≤ 2 e^(λ²s'²/2).
    """
    nu, v = row.mean / row.deviation, -rate * row.coefficient * row.deviation
    w = (rate * row.noise * row.deviation) ** 2
    if not (w <= 0.5).all():
        return math.inf
    edge = (nu + v) / np.sqrt(1 - w)
    exponent = (nu * nu * w + 2 * nu * v + v * v) / (2 * (1 - w))
    active, inactive = exponent + log_ndtr(edge) - np.log1p(-w) / 2, log_ndtr(-nu)
    logs = np.logaddexp(inactive, active)
    noises = rate * np.array([row.bias_noise, *(highest for _, highest in row.later)])
    variance = float((noises * noises).sum()) / 2
    doubled = math.log(2) * len(row.later)
    # each term's error counts by its share of the sum, at most exp(−|gap|)
    gap = inactive - active
    size = (nu * nu * w + 2 * np.abs(nu * v) + v * v + np.minimum(edge, 0) ** 2) * np.exp(np.minimum(-gap, 0))
    size = size + np.maximum(nu, 0) ** 2 * np.exp(np.minimum(gap, 0)) + np.abs(logs) + 1
    slack = (len(logs) + 64) * 2.0**-48 * (float(size.sum()) + abs(rate * row.constant) + variance)
    return float(logs.sum()) - rate * row.constant + variance + doubled + slack
