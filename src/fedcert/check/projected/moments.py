"""Moments of h = relu(μ + t Z), and of linear forms in them (docs/soundness.md, 9.5 and 9.6), in balls."""

from collections.abc import Sequence

from flint import arb

from fedcert.check.balls import ONE, ZERO, tail


def below(z: arb) -> arb:
    """Φ(z)."""
    return tail(-z)


def second_moment(mean: arb, deviation: arb) -> arb:
    """E h² = (μ² + t²) Φ(ν) + μ t φ(ν), ν = μ/t; at the upper ends of μ and t, since it grows with both."""
    _, second = moments(mean.upper(), deviation.upper())
    return second


def moments(mu: arb, t: arb) -> tuple[arb, arb]:
    """E h = μ Φ(ν) + t φ(ν) and E h², ν = μ/t."""
    nu = mu / t
    share, density = below(nu), (-nu * nu / 2).exp() / (2 * arb.pi()).sqrt()
    return mu * share + t * density, (mu * mu + t * t) * share + mu * t * density


def log_moment(linear: arb, quadratic: arb, mean: arb, deviation: arb) -> arb | None:
    """Log E exp(c h + q² h²/2), or None where it is not known to be finite.

    E = Φ(−ν) + (1 − w)^-½ exp[(ν² w + 2 ν v + v²)/(2 (1 − w))] Φ((ν + v)/√(1 − w)), v = c t, w = q² t².
    """
    nu, v, w = mean / deviation, linear * deviation, (quadratic * deviation) ** 2
    rest = ONE - w
    if not rest > 0:
        return None
    exponent = (nu * nu * w + 2 * nu * v + v * v) / (2 * rest)
    value = below(-nu) + exponent.exp() * below((nu + v) / rest.sqrt()) / rest.sqrt()
    return value.log()


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
