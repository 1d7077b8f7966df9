"""Tails and quantiles of a linear form from its exponential moments.

For every λ > 0, E exp(−λ Y) ≤ e^K(λ) with

    K(λ) = −λ g + Σ_k log E exp(−λ A_k h'_k + λ² r_k² h'_k² / 2) + λ² (r_b² + Σ_l' s_l'²) / 2,

by taking expectations first over the layers beyond the second, one after the other, each Gaussian given
those before, then over layer 2 given h', then over h'. Markov's inequality gives
Pr(Y ≤ y) ≤ e^(K(λ) + λ y).

The noise N of the layer that the rows belong to is Gaussian given all layers before, with a deviation of at
most s: for Y = X + N, Pr(Y ≤ y) ≤ E V((X − y)/s) ≤ C(λ s) E e^(−λ (X − y)) with V and C as in
`numerics/envelope.py`. So log C(λ s) may take the place of what N adds to K(λ), λ² s²/2 for a deviation s.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.families.projected.centre import LinearForm
from fedcert.families.projected.excess import RATE, Excess
from fedcert.families.projected.spread import concentration_width
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.envelope import log_envelope
from fedcert.numerics.parts import in_blocks
from fedcert.numerics.rectified import log_moment
from fedcert.numerics.rounding import rounding_error, up

QUANTILE_RATES = (0.6, 0.8, 1.0, 1.25)  # multiples of the rate that is best for a Gaussian quantile


@dataclass(frozen=True)
class Moments:
    """Exponential moments of a form at several λ.

    Attributes:
        rate: λ > 0.
        exponent: upper bounds of K(λ).
    """

    rate: Float64[Tensor, "L P R"]
    exponent: Float64[Tensor, "L P R"]

    def probability(
        self, y: Float64[Tensor, "P R"] | None = None
    ) -> tuple[Float64[Tensor, "P R"], Float64[Tensor, "P R"]]:
        """An upper bound of Pr(Y ≤ y), 1 where nothing is known, and its λ; y is 0 where None."""
        exponent = self.exponent if y is None else (self.exponent + Enclosure.exactly(self.rate) * y).upper
        least, which = exponent.min(0)
        return Enclosure.exactly(least.clamp(max=0.0)).exp().upper.clamp(max=1.0), self._rate(which)

    def quantile(
        self, failure: Float64[Tensor, "P"]
    ) -> tuple[Float64[Tensor, "P R"], Float64[Tensor, "P R"]]:
        """A y with Pr(Y ≤ y) ≤ failure, −inf where nothing is known; and the λ that gave it."""
        room = Enclosure.exactly(failure.view(1, -1, 1)).log() - self.exponent
        greatest, which = (room / self.rate).lower.max(0)
        return greatest, self._rate(which)

    def integrated(self) -> tuple[Float64[Tensor, "P R"], Float64[Tensor, "P R"]]:
        """The first λ, and K(λ) − log λ: E (y − Y)⁺, an integral of Pr(Y ≤ y), is at most e^(that + λ y)."""
        rate = self.rate[0]
        return rate, (self.exponent[0] - Enclosure.exactly(rate).log()).upper

    def _rate(self, which: Int64[Tensor, "P R"]) -> Float64[Tensor, "P R"]:
        return self.rate.gather(0, which.unsqueeze(0)).squeeze(0)


def moments(form: LinearForm, multiples: Float64[Tensor, "L #P #R"]) -> Moments:
    """The exponential moments of a form at several rates.

    Args:
        form: Y.
        multiples: the rates λ > 0, in units of 1 / deviation of Y.
    """
    rates = _rates(form, multiples)
    return Moments(rates, _exponents(form, rates))


def own_moments(
    form: LinearForm, own: Float64[Tensor, "P R"], multiples: Float64[Tensor, "L #P #R"]
) -> Moments:
    """The exponential moments of a form whose rows' own layer has noise of at most a given deviation.

    Args:
        form: Y.
        own: s.
        multiples: as for `moments`.
    """
    rates = _rates(form, multiples)
    envelope = log_envelope(up(rates * own))
    exponents = up(_exponents(form.without_own_noise(), rates) + envelope)
    if form.later:
        return Moments(rates, exponents)
    # the noise of layer 2 is exactly that of its form, and may be much less than its bound
    worse = (envelope > rates * rates * _rough_variances(form)[1] / 2).any(0)
    if worse.any():
        exact = _exponents(form.chosen(worse), rates[:, worse].unsqueeze(-1)).squeeze(-1)
        exponents[:, worse] = torch.minimum(exponents[:, worse], exact)
    return Moments(rates, exponents)


def average_excess(form: LinearForm, own: Float64[Tensor, "P R"]) -> Excess:
    """How far a form is below thresholds, on average; the arguments are those of `own_moments`.

    Args:
        form: Y.
        own: s.
    """
    found = own_moments(form, own, torch.full_like(form.constant[:1, :1], RATE).unsqueeze(0))
    return Excess(rough_mean(form), *found.integrated())


def _rates(form: LinearForm, multiples: Float64[Tensor, "L #P #R"]) -> Float64[Tensor, "L P R"]:
    """λ, from multiples of 1 / deviation."""
    least = 1e-9 * (1 + form.constant.abs())  # where nothing is random, any large rate works
    return multiples / torch.maximum(deviation(form), least)


def quantile_rates(failure: Float64[Tensor, "P"]) -> Float64[Tensor, "L P 1"]:
    """Rates, in units of 1/deviation, around the rate that is best for a Gaussian quantile."""
    scales = torch.tensor(QUANTILE_RATES, dtype=failure.dtype, device=failure.device)
    return (scales.unsqueeze(-1) * concentration_width(failure)).unsqueeze(-1)


def _exponents(form: LinearForm, rates: Float64[Tensor, "L P R"]) -> Float64[Tensor, "L P R"]:
    """Upper bounds of K(λ)."""
    logs, sizes = torch.empty_like(rates), torch.empty_like(rates)
    terms, noisy = form.coefficient.shape[-1], bool(form.noise.any())
    for at in in_blocks((rates.shape[1], rates.shape[2]), len(rates) * terms, rates.device):
        rate, scale = rates[:, *at].unsqueeze(-1), form.scale[at[0]]
        noise = rate * form.noise[at] if noisy else None
        own = log_moment(-rate * form.coefficient[at], noise, form.mean[at], scale)
        logs[:, *at], sizes[:, *at] = own.sum(-1), own.abs_().sum(-1)
    variance = form.bias_noise * form.bias_noise + sum((s * s for s in form.later), torch.zeros_like(rates))
    value = logs - rates * form.constant + rates * rates * variance / 2
    magnitude = sizes + (rates * form.constant).abs() + rates * rates * variance
    return up(value + rounding_error(2 * terms + 4 * len(form.later) + 16, magnitude))


def deviation(form: LinearForm) -> Float64[Tensor, "P R"]:
    """The approximate deviation of a form: it only chooses rates and steps."""
    known, noise = _rough_variances(form)
    return sum((s * s for s in form.later), known + noise).sqrt()


def _rough_variances(form: LinearForm) -> tuple[Float64[Tensor, "P R"], Float64[Tensor, "P R"]]:
    """The approximate variances of Σ A_k h'_k, and of the noise of layer 2."""
    mean, square = _rough_moments(form)
    t = form.scale.unsqueeze(-2)
    least = (t * torch.special.ndtr(form.mean / t) / 2) ** 2  # where the difference of squares cancels
    variance = form.coefficient**2 * torch.maximum(square - mean * mean, least)
    return variance.sum(-1), (form.noise**2 * square).sum(-1) + form.bias_noise**2


def rough_mean(form: LinearForm) -> Float64[Tensor, "P R"]:
    """The approximate mean of a form: it only chooses rates and steps."""
    return form.constant + (form.coefficient * _rough_moments(form)[0]).sum(-1)


def _rough_moments(form: LinearForm) -> tuple[Tensor, Tensor]:
    """First and second moments of the h'_k, in plain floating point."""
    t = form.scale.unsqueeze(-2)
    nu = form.mean / t
    density, below = torch.exp(-nu * nu / 2) / (2 * torch.pi) ** 0.5, torch.special.ndtr(nu)
    return form.mean * below + t * density, (form.mean**2 + t**2) * below + form.mean * t * density
