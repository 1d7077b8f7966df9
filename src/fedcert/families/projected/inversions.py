"""The inversion of many characteristic functions at once, on another device than a processor.

The formulas, choices and charges are those of `inversion.py`, row by row: see there.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Complex128, Float64, Int32
from torch import Tensor

from fedcert.families.projected.inversion import (
    ADDED_NOISE,
    ADDED_REACH,
    ADDED_TAIL,
    ERROR,
    MOST_TERMS,
    NEGLIGIBLE,
    NO_NOISE,
    NOT_CONVERGED,
    RATES,
)
from fedcert.numerics.faddeeva import faddeeva
from fedcert.numerics.parts import in_parts
from fedcert.numerics.rounding import down, up


@dataclass(frozen=True)
class Rows:
    """N linear forms, with the terms that dominate their later layers; `Row` says what the numbers are.

    Attributes:
        constant: g.
        coefficient: A.
        noise: r.
        bias_noise: r_b.
        lowest: s of each later layer.
        highest: s' of each later layer.
        mean: μ.
        deviation: t.
    """

    constant: Float64[Tensor, "N"]
    coefficient: Float64[Tensor, "N k"]
    noise: Float64[Tensor, "N k"]
    bias_noise: Float64[Tensor, "N"]
    lowest: Float64[Tensor, "N later"]
    highest: Float64[Tensor, "N later"]
    mean: Float64[Tensor, "N k"]
    deviation: Float64[Tensor, "N k"]


def lower_tails(
    rows: Rows, centre: Float64[Tensor, "N"], spread: Float64[Tensor, "N"]
) -> tuple[Float64[Tensor, "N"], Int32[Tensor, "N"]]:
    """Upper bounds of Pr(Y ≤ 0), at most 1, and the numbers of terms behind them.

    Args:
        rows: the Y.
        centre: their approximate means.
        spread: their approximate deviations; both only choose the step.
    """
    rows, price = _noisy(rows, spread)
    width = centre.abs() + 10 * spread
    step = 2 * math.pi / width
    terms = _enough_terms(rows, step)
    most = int(terms.max())
    half = torch.arange(most, dtype=torch.float64, device=step.device) + 0.5
    weight = torch.where(half < terms.unsqueeze(-1), 1 / (math.pi * half), 0.0)
    series, inexact = torch.empty_like(centre), torch.empty_like(centre)
    for part in in_parts(len(centre), 8 * most * rows.mean.shape[-1], step.device):
        own = Rows(*(getattr(rows, name)[part] for name in Rows.__dataclass_fields__))
        value, error = _characteristic(own, half * step[part].unsqueeze(-1))
        series[part] = 0.5 - (value.imag * weight[part]).sum(-1)
        charge = error + 4 * terms[part].unsqueeze(-1) * 2.0**-53
        inexact[part] = 2 * (charge * weight[part]).sum(-1)
    left_out = _left_out(rows, terms, step) * (1 + NOT_CONVERGED)
    tail = series + inexact + left_out + _beyond(rows, width * (1 - 2.0**-40), spread) + price
    known = tail.isfinite() & centre.isfinite() & (spread > 0) & spread.isfinite()
    tail = (tail.clamp(min=0.0) * (1 + 2.0**-40)).clamp(max=1.0)
    return torch.where(known, tail, 1.0), terms


def _noisy(rows: Rows, spread: Float64[Tensor, "N"]) -> tuple[Rows, Float64[Tensor, "N"]]:
    """The rows, with a little noise where a bias is fixed, and its price."""
    noise = ADDED_NOISE * spread
    fixed = (rows.bias_noise < noise.clamp(max=NO_NOISE)) & (rows.coefficient != 0).any(-1)
    shifted = down(rows.constant - up(ADDED_REACH * noise))
    noisy = replace(
        rows,
        constant=torch.where(fixed, shifted, rows.constant),
        bias_noise=torch.where(fixed, noise, rows.bias_noise),
    )
    return noisy, ADDED_TAIL * fixed.to(noise.dtype)


def _characteristic(
    rows: Rows, tau: Float64[Tensor, "N K"]
) -> tuple[Complex128[Tensor, "N K"], Float64[Tensor, "N K"]]:
    """φ at the given τ > 0, and a bound of its absolute error."""
    column = tau.unsqueeze(-1)
    nu = (rows.mean / rows.deviation).unsqueeze(-2)
    v = column * rows.coefficient.unsqueeze(-2) * rows.deviation.unsqueeze(-2)
    x = (column * rows.noise.unsqueeze(-2) * rows.deviation.unsqueeze(-2)).square()
    root, positive = (1 + x).sqrt(), nu > 0
    zeta = torch.complex(*torch.broadcast_tensors(nu / root, v / root))
    half = torch.exp(-nu * nu / 2) / 2 * faddeeva(torch.where(positive, 1j, -1j) * zeta / math.sqrt(2))
    full = torch.exp(torch.complex(-(nu * nu * x + v * v), 2 * nu * v) / (2 * (1 + x)))
    below = torch.erfc(nu * math.sqrt(0.5)) / 2
    factors = below + torch.where(positive, full - half, half) / root
    error = (4 * ERROR + 16 * 2.0**-53 * (nu * v).abs()).sum(-1)
    phase, damping = tau * rows.constant.unsqueeze(-1), (tau * rows.bias_noise.unsqueeze(-1)).square() / 2
    value = factors.prod(-1) * torch.exp(torch.complex(-damping, phase))
    total = error + ERROR + 4 * 2.0**-53 * phase.abs()
    for lowest, highest in zip(rows.lowest.mT, rows.highest.mT, strict=True):
        ends = (-tau * highest.unsqueeze(-1), tau * lowest.unsqueeze(-1))
        halves = [faddeeva(torch.complex(end / math.sqrt(2), torch.zeros_like(end))) for end in ends]
        value, total = value * ((halves[0] + halves[1]) / 2), total + 2 * ERROR
    return value, 2 * total


def _damping(rows: Rows, tau: Float64[Tensor, "N"]) -> Float64[Tensor, "N"]:
    """An upper bound of log ψ(τ)."""
    nu, x = rows.mean / rows.deviation, (tau.unsqueeze(-1) * rows.noise * rows.deviation).square()
    active = -nu * nu * x / (2 * (1 + x)) + torch.special.log_ndtr(nu / (1 + x).sqrt()) - torch.log1p(x) / 2
    logs = torch.logaddexp(torch.special.log_ndtr(-nu), active)
    gaussian = -((tau * rows.bias_noise).square()) / 2
    return (logs.clamp(max=0.0).sum(-1) + gaussian) * (1 - 2.0**-30) + 2.0**-40 * logs.shape[-1]


def _left_out(rows: Rows, terms: Int32[Tensor, "N"], step: Float64[Tensor, "N"]) -> Float64[Tensor, "N"]:
    """An upper bound of the sum of |φ(τ_k)| / (π (k + ½)) over k ≥ terms."""
    tau = (terms + 0.5) * step
    decay = step * tau * rows.bias_noise * rows.bias_noise
    found = torch.exp(_damping(rows, tau)) * (1 + 1 / decay) / (math.pi * (terms + 0.5)) * (1 + 2.0**-30)
    return torch.where(decay > 0, found, math.inf)


def _enough_terms(rows: Rows, step: Float64[Tensor, "N"]) -> Int32[Tensor, "N"]:
    """The numbers of terms after which what is left out is negligible, at most `MOST_TERMS`."""
    terms = torch.full_like(step, 16, dtype=torch.int32)
    while (more := _lacks(rows, terms, step)).any():
        terms = torch.where(more, (terms + terms // 2).clamp(max=MOST_TERMS), terms)
    return terms


def _lacks(rows: Rows, terms: Int32[Tensor, "N"], step: Float64[Tensor, "N"]) -> Bool[Tensor, "N"]:
    return (terms < MOST_TERMS) & (_left_out(rows, terms, step) > NEGLIGIBLE)


def _beyond(rows: Rows, width: Float64[Tensor, "N"], spread: Float64[Tensor, "N"]) -> Float64[Tensor, "N"]:
    """An upper bound of Pr(Y < −w), by Markov's inequality for exp(−λY) at a few λ."""
    rates = torch.tensor(RATES, dtype=width.dtype, device=width.device).unsqueeze(-1) / spread
    return torch.exp((_log_moments(rows, rates) - rates * width).clamp(max=0.0)).nan_to_num(1.0).amin(0)


def _log_moments(rows: Rows, rates: Float64[Tensor, "L N"]) -> Float64[Tensor, "L N"]:
    """Upper bounds of log E exp(−λY), infinite where the latter (nearly) is."""
    rate, nu = rates.unsqueeze(-1), rows.mean / rows.deviation
    v, w = -rate * rows.coefficient * rows.deviation, (rate * rows.noise * rows.deviation).square()
    edge = (nu + v) / (1 - w).sqrt()
    exponent = (nu * nu * w + 2 * nu * v + v * v) / (2 * (1 - w))
    active = exponent + torch.special.log_ndtr(edge) - torch.log1p(-w) / 2
    inactive = torch.special.log_ndtr(-nu)
    logs, gap = torch.logaddexp(inactive, active), inactive - active
    noises = torch.cat([rows.bias_noise.unsqueeze(-1), rows.highest], -1)
    variance = (rate * noises).square().sum(-1) / 2
    size = nu * nu * w + 2 * (nu * v).abs() + v * v + edge.clamp(max=0.0).square()
    size = size * torch.exp((-gap).clamp(max=0.0)) + nu.clamp(min=0.0).square() * torch.exp(
        gap.clamp(max=0.0)
    )
    size = (size + logs.abs() + 1).sum(-1) + (rates * rows.constant).abs() + variance
    slack = (logs.shape[-1] + 64) * 2.0**-48 * size
    found = logs.sum(-1) - rates * rows.constant + variance + math.log(2) * rows.highest.shape[-1] + slack
    return torch.where((w <= 0.5).all(-1), found, math.inf)
