"""The ranges of a layer's neurons over the region, and which neurons keep their sign.

Most neurons of a trained network keep their sign nearly always, as one exponential moment of one side shows.
Only the others need a range, from several moments of either side.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.families.projected.centre import LinearForm
from fedcert.families.projected.chernoff import average_excess, own_moments, quantile_rates
from fedcert.families.projected.excess import Excess
from fedcert.families.projected.spread import concentration_width

NEVER = 1e-12
"""A sign that changes with at most this probability needs no better bound of it."""


@dataclass(frozen=True)
class Ranges:
    """What is known of the pre-activations of a layer, neuron by neuron.

    Attributes:
        lower: bounds from below; 0 for neurons that stay active, −inf for those that stay inactive.
        upper: bounds from above; inf for neurons that stay active, 0 for those that stay inactive.
        active: which neurons stay active.
        inactive: which neurons stay inactive.
        price: the probability that this is wrong.
        rate: the λ that bounded each neuron from below, then from above; 1 where neither was needed.
    """

    lower: Float64[Tensor, "P m"]
    upper: Float64[Tensor, "P m"]
    active: Bool[Tensor, "P m"]
    inactive: Bool[Tensor, "P m"]
    price: Float64[Tensor, "P m"]
    rate: Float64[Tensor, "P sides"]


def ranges(form: LinearForm, own: Float64[Tensor, "P sides"], most: Float64[Tensor, "P"]) -> Ranges:
    """The ranges that exponential moments give.

    A neuron that is active, or inactive, on the whole region except with a probability within that of one
    side of a range pays that probability; any other neuron pays twice that of a side.

    Args:
        form: lower bounds of the neurons, then of their negatives.
        own: bounds of the deviations of their own layer's noise.
        most: the failure probability of one side.
    """
    every = most.unsqueeze(-1).expand_as(own)
    quantile, probability = torch.full_like(own, -torch.inf), torch.ones_like(own)
    quantile_rate, zero_rate = torch.ones_like(own), torch.ones_like(own)
    never = every.clamp(max=NEVER)

    near = _near(form)
    once = own_moments(form.chosen(near), _column(own[near]), concentration_width(never[near]).view(1, -1, 1))
    probability[near], zero_rate[near] = map(_flat, once.probability())

    open_ones = ~_either(probability <= never)
    if open_ones.any():
        failure, reach = every[open_ones], _column(own[open_ones])
        found = own_moments(form.chosen(open_ones), reach, quantile_rates(failure))
        quantile[open_ones], quantile_rate[open_ones] = map(_flat, found.quantile(failure))
        probability[open_ones], zero_rate[open_ones] = map(_flat, found.probability())

    (low, minus_high), (below, over) = quantile.chunk(2, dim=-1), probability.chunk(2, dim=-1)
    active = below <= most.unsqueeze(-1)
    inactive = ~active & (over <= most.unsqueeze(-1))
    return Ranges(
        torch.where(active, 0.0, torch.where(inactive, -torch.inf, low)),
        torch.where(active, torch.inf, torch.where(inactive, 0.0, -minus_high)),
        active,
        inactive,
        torch.where(active, below, torch.where(inactive, over, 2 * most.unsqueeze(-1))),
        torch.where((active | inactive).repeat(1, 2), zero_rate, quantile_rate),
    )


def excess_of(
    form: LinearForm, own: Float64[Tensor, "P sides"], found: Ranges, soft: Bool[Tensor, "P"]
) -> Excess:
    """How far neurons of unknown sign are beyond thresholds, where lines may be exceeded; else unknown.

    Args:
        form: as for `ranges`.
        own: as for `ranges`.
        found: the ranges.
        soft: which properties have lines that may be exceeded.
    """
    excess = Excess.unknown(form.constant)
    needed = soft.unsqueeze(-1) & ~(found.active | found.inactive).repeat(1, 2)
    if not needed.any():
        return excess
    some = average_excess(form.chosen(needed), _column(own[needed]))
    excess.centre[needed], excess.rate[needed] = _flat(some.centre), _flat(some.rate)
    excess.exponent[needed] = _flat(some.exponent)
    return excess


def _near(form: LinearForm) -> Bool[Tensor, "P sides"]:
    """The side of 0 on which each neuron is, about, at the centre."""
    about = form.constant + (form.coefficient * form.mean.clamp(min=0.0)).sum(-1)
    positive = about.chunk(2, dim=-1)[0] >= about.chunk(2, dim=-1)[1]
    return torch.cat([positive, ~positive], dim=-1)


def _either(sides: Bool[Tensor, "P sides"]) -> Bool[Tensor, "P sides"]:
    """For both sides of a neuron, whether it is so for one of them."""
    one, other = sides.chunk(2, dim=-1)
    return (one | other).repeat(1, 2)


def _column(x: Float64[Tensor, "N"]) -> Float64[Tensor, "N 1"]:
    return x.unsqueeze(-1)


def _flat(x: Float64[Tensor, "N 1"]) -> Float64[Tensor, "N"]:
    return x.squeeze(-1)
