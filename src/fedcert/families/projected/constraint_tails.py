"""The constraints' linear forms, and upper bounds of the probabilities that they are not positive."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64, Int32
from torch import Tensor

from fedcert.families.projected.centre import Known, LinearForm, linear_form
from fedcert.families.projected.chernoff import deviation, moments, rough_mean
from fedcert.families.projected.excess import reach_for
from fedcert.families.projected.inversion import Row, enough_terms, lower_tail
from fedcert.families.projected.inversions import Rows, lower_tails
from fedcert.laws.affine import IndependentAffine

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
        reach: of lines that may be exceeded, in units of 1/λ; 0 for lines that hold.
    """

    rate: Float64[Tensor, "P R"]
    centre: Float64[Tensor, "P R"]
    spread: Float64[Tensor, "P R"]
    terms: Int32[Tensor, "P R"]
    lowest: Float64[Tensor, "P R later"]
    reach: Float64[Tensor, "P R"]


def constraint_forms(
    C: Float64[Tensor, "P R K"],
    d: Float64[Tensor, "P R"],
    layers: Sequence[IndependentAffine],
    known: Known,
    factor: Float64[Tensor, "P"],
) -> tuple[LinearForm, Float64[Tensor, "P R"]]:
    """The constraints' linear forms, and the reach of their lines; 0 for lines that hold on the events.

    Args:
        C: the constraints.
        d: their offsets.
        layers: the network and its law.
        known: what is known of the hidden layers.
        factor: a multiple of the reach; 0 for lines that hold.
    """
    if not known.hidden or not (factor > 0).any():
        form = linear_form(C, layers, known).shifted(d)
        return form, torch.zeros_like(form.constant)
    about = linear_form(C, layers, known, torch.ones_like(d)).shifted(d)
    reach = reach_for(rough_mean(about), deviation(about), factor)
    return linear_form(C, layers, known, reach).shifted(d), reach


def constraint_tails(
    form: LinearForm,
    lowest: Sequence[Float64[Tensor, "P R"]],
    rates: Float64[Tensor, "P R later"],
    reach: Float64[Tensor, "P R"],
) -> tuple[Float64[Tensor, "P R"], TailChoices]:
    """Upper bounds of Pr(Y ≤ 0), by an exponential moment and, where that is too coarse, by inversion.

    Args:
        form: Y.
        lowest: lower bounds of the deviations of its later layers.
        rates: the λ that gave them.
        reach: of the lines in the form.
    """
    centre, spread = rough_mean(form), deviation(form)
    factors = torch.tensor(TAIL_RATES, dtype=centre.dtype, device=centre.device).view(-1, 1, 1)
    best = (centre / spread).clamp(0.1, 50.0)
    tails, rate = moments(form, factors * best).probability()
    worth = (tails > WORTH_INVERTING) & (centre > -HOPELESS * spread)
    terms = torch.zeros_like(centre, dtype=torch.int32)
    if centre.device.type != "cpu" and worth.any():
        exact, behind = lower_tails(_rows(form, lowest, worth), centre[worth], spread[worth])
        terms[worth] = torch.where(exact < tails[worth], behind, 0)
        tails[worth] = torch.minimum(exact, tails[worth])
        return tails, TailChoices(rate, centre, spread, terms, rates, reach)
    for p, r in worth.nonzero().tolist():
        row, about = _row(form, lowest, p, r), (centre[p, r].item(), spread[p, r].item())
        found = lower_tail(row, *about)
        if found < tails[p, r]:
            tails[p, r], terms[p, r] = found, enough_terms(row, *about)
    return tails, TailChoices(rate, centre, spread, terms, rates, reach)


def _rows(form: LinearForm, lowest: Sequence[Float64[Tensor, "P R"]], chosen: Bool[Tensor, "P R"]) -> Rows:
    """The chosen forms, with the noise of their later layers between half normals of fixed deviations."""
    none = form.constant.new_zeros(int(chosen.sum()), 0)
    return Rows(
        form.constant[chosen],
        form.coefficient[chosen],
        form.noise[chosen],
        form.bias_noise[chosen],
        torch.stack([own[chosen] for own in lowest], -1) if form.later else none,
        torch.stack([own[chosen] for own in form.later], -1) if form.later else none,
        form.mean[chosen],
        form.scale[chosen.nonzero(as_tuple=True)[0]],
    )


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
