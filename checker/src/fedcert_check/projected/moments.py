"""Moments of h = relu(μ + t Z), and of linear forms in them (docs/soundness.md, 9.5 and 9.6), in balls."""

from collections.abc import Sequence
from functools import cache

from flint import arb, ctx

from fedcert_check.balls import ONE, ZERO, tail

FAR_DEVIATIONS = 1000  # beyond which powers of e are kept apart
HALF, QUARTER = arb(1) / 2, arb(1) / 4


def below(z: arb) -> arb:
    """Φ(z)."""
    return tail(-z)


def second_moment(mean: arb, deviation: arb) -> arb:
    """E h² = (μ² + t²) Φ(ν) + μ t φ(ν), ν = μ/t; at the upper ends of μ and t, since it grows with both."""
    if deviation == 0:
        return mean.upper().max(ZERO) ** 2
    return moments(mean.upper(), deviation.upper())[1]


def moments(mu: arb, t: arb) -> tuple[arb, arb, arb]:
    """E h = μ Φ(ν) + t φ(ν), E h², and Var h = t² [Φ(ν) + ν² Φ(ν) Φ(−ν) + ν φ(ν) (Φ(−ν) − Φ(ν)) − φ(ν)²]."""
    nu = mu / t
    share, rest, density = below(nu), below(-nu), (-nu * nu / 2).exp() / (2 * arb.pi()).sqrt()
    variance = share + nu * nu * share * rest + nu * density * (rest - share) - density * density
    return mu * share + t * density, (mu * mu + t * t) * share + mu * t * density, t * t * variance


def log_moment(linear: arb, quadratic: arb, mean: arb, deviation: arb) -> arb | None:
    """The log of E exp(c h + q² h²/2), or None where it is not known to be finite.

    E = Φ(−ν) + (1 − w)^-½ exp[(ν² w + 2 ν v + v²)/(2 (1 − w))] Φ((ν + v)/√(1 − w)), v = c t, w = q² t².
    """
    variance, square = deviation * deviation, quadratic * quadratic
    w, edge = square * variance, mean + linear * variance
    rest = ONE - w
    if not rest > 0:
        return None
    lasting, missed = _lasting(ctx.prec)
    far = lasting * deviation
    if mean >= ZERO and edge >= far:
        return (square * mean * mean + linear * (mean + edge)) / (2 * rest) - rest.log() * HALF + missed
    if -mean >= far and edge <= ZERO and rest >= QUARTER:
        return missed
    nu, v, root = mean / deviation, linear * deviation, rest.sqrt()
    exponent, edge = (nu * nu * w + 2 * nu * v + v * v) / (2 * rest), (nu + v) / root
    if not (abs(exponent) < FAR_DEVIATIONS and abs(nu) < FAR_DEVIATIONS):
        return _far_log_moment(exponent, nu, edge, root)
    return (below(-nu) + exponent.exp() * below(edge) / root).log()


@cache
def _lasting(bits: int) -> tuple[arb, arb]:
    """An L with e^(−L²/2) ≤ 2^-p, and [±2^-p]: where a sign lasts L deviations, one term is enough.

    Active, ν ≥ 0 and ν + v ≥ L: the moment is e^E/√(1 − w) times Φ(z) + √(1 − w) e^-E Φ(−ν), z ≥ L, within
    e^(−z²/2)/2 of 1, since e^-E Φ(−ν) = e^(−z²/2) e^(ν²/2) Q(ν). Inactive, −ν ≥ L and ν + v ≤ 0: the moment
    is within e^(−ν²/2) of 1 if √(1 − w) ≥ ½, since e^E Φ(z) = e^(−ν²/2) e^(z²/2) Q(−z).
    """
    return (2 * bits * arb(2).log()).sqrt().upper(), arb(0, arb(2) ** -bits)


def _far_log_moment(E: arb, nu: arb, z: arb, root: arb) -> arb:
    """The log of Φ(−ν) + e^E Φ(z)/√(1 − w), E = (z² − ν²)/2, where a factor may be 0 to any precision.

    The greatest power of e is taken out of the sum. The cases are true of all numbers, so midpoints choose.
    """
    if nu.mid() > 0 and z.mid() > 0:
        return E + (below(z) / root + scaled_tail(nu) * (-z * z / 2).exp()).log()
    if nu.mid() > 0:
        return -nu * nu / 2 + (scaled_tail(nu) + scaled_tail(-z) / root).log()
    if z.mid() > 0 and E.mid() > 0:
        return E + (below(z) / root + below(-nu) * (-E).exp()).log()
    if z.mid() > 0:
        return (below(-nu) + E.exp() * below(z) / root).log()
    return (below(-nu) + (-nu * nu / 2).exp() * scaled_tail(-z) / root).log()


def scaled_tail(x: arb) -> arb:
    """e^(x²/2) Q(x); far out, between two convergents of the continued fraction of Mills' ratio."""
    if not x > FAR_DEVIATIONS:
        return (x * x / 2).exp() * tail(x)
    square = x * x
    above = (square + 2) / (x * (square + 3))
    under = x * (square + 5) / (square * square + 6 * square + 3)
    return above.union(under) / (2 * arb.pi()).sqrt()


def exponent(
    rate: arb,
    constant: arb,
    coefficient: Sequence[arb],
    noise: Sequence[arb],
    variance: arb,
    mean: Sequence[arb],
    scale: Sequence[arb],
) -> arb | None:
    """K(λ) = −λ g + Σ_k log E exp(−λ A_k h_k + λ² r_k² h_k²/2) + λ² s²/2, or None where it is infinite.

    Args:
        rate: λ > 0.
        constant: g.
        coefficient: A.
        noise: r.
        variance: s², of all other noise.
        mean: μ of each h.
        scale: t of each h.
    """
    if not rate > 0:
        return None
    total = ZERO
    for A, r, mu, t in zip(coefficient, noise, mean, scale, strict=True):
        term = log_moment(-rate * A, rate * r, mu, t)
        if term is None:
            return None
        total = total + term
    return total - rate * constant + rate * rate * variance / 2
