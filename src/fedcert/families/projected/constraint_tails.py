"""Upper bounds of the probabilities that the constraints' linear forms are not positive."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int32
from torch import Tensor

from fedcert.families.projected.centre import LinearForm
from fedcert.families.projected.chernoff import deviation, moments, rough_mean
from fedcert.families.projected.inversion import Row, enough_terms, lower_tail

TAIL_RATES = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5)  # multiples of the rate that is best for a Gaussian tail
HOPELESS = 6.0  # a mean this many deviations below zero has a tail of practically 1
WORTH_INVERTING = 1e-9  # smaller tails from Chernoff's inequality are small enough


@dataclass(frozen=True)
class TailChoices:
    """The choices made to bound the constraints' tails; any choice is sound.

    Attributes:
        rate: λ of the exponential moment.
        centre: the approximate mean, which chooses the step of the inversion.
        spread: the approximate deviation, which does the same.
        terms: the number of terms of the inversion; 0 where no tail was inverted.
        lowest: λ of the exponential moments that bound the later layers' deviations from below.
    """

    rate: Float64[Tensor, "P R"]
    centre: Float64[Tensor, "P R"]
    spread: Float64[Tensor, "P R"]
    terms: Int32[Tensor, "P R"]
    lowest: Float64[Tensor, "P R later"]


def constraint_tails(
    form: LinearForm, lowest: Sequence[Float64[Tensor, "P R"]], rates: Float64[Tensor, "P R later"]
) -> tuple[Float64[Tensor, "P R"], TailChoices]:
    """Upper bounds of Pr(Y ≤ 0), by an exponential moment and, where that is too coarse, by inversion.

    Args:
        form: Y.
        lowest: lower bounds of the deviations of its later layers.
        rates: the λ that gave them.
    """
    centre, spread = rough_mean(form), deviation(form)
    factors = torch.tensor(TAIL_RATES, dtype=centre.dtype, device=centre.device).view(-1, 1, 1)
    best = (centre / spread).clamp(0.1, 50.0)
    tails, rate = moments(form, factors * best).probability(torch.zeros_like(centre))
    worth = (tails > WORTH_INVERTING) & (centre > -HOPELESS * spread)
    terms = torch.zeros_like(centre, dtype=torch.int32)
    for p, r in worth.nonzero().tolist():
        row, about = _row(form, lowest, p, r), (centre[p, r].item(), spread[p, r].item())
        exact = lower_tail(row, *about)
        if exact < tails[p, r]:
            tails[p, r], terms[p, r] = exact, enough_terms(row, *about)
    return tails, TailChoices(rate, centre, spread, terms, rates)


def _row(form: LinearForm, lowest: Sequence[Float64[Tensor, "P R"]], p: int, r: int) -> Row:
    """One form, with the noise of its later layers between half normals of fixed deviations."""
    return Row(
        form.constant[p, r].item(),
        form.coefficient[p, r].cpu().numpy(),
        form.noise[p, r].cpu().numpy(),
        form.bias_noise[p, r].item(),
        tuple((s[p, r].item(), own[p, r].item()) for s, own in zip(lowest, form.later, strict=True)),
        form.mean[p, r].cpu().numpy(),
        form.scale[p].cpu().numpy(),
    )
