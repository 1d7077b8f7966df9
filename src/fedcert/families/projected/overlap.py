"""Constraints that are violated together: what a sum of tails counts twice (docs/soundness.md, 15.11).

With N of the constraints violated at one point of the region, and N' ≥ N somewhere in it,

    Pr(N' ≥ 1) = E N' − E (N' − 1)⁺ ≤ Σ_r Pr(r is violated somewhere) − E (N − 1)⁺.

Behind fixed layers the margins at the point are jointly normal, with means g, variances s² and covariances
K_rs. If K_rs ≥ c_r c_s for numbers c ≥ 0, then by Slepian's inequality no constraint is violated with a
probability of at least that under one shared normal T,

    Pr(N = 0) ≥ ∫ φ(t) Π_r Φ((g_r + c_r t) / √(s_r² − c_r²)) dt,
    E (N − 1)⁺ = Σ_r Q(g_r / s_r) − 1 + Pr(N = 0).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.families.projected.carried import Head
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.gaussian import log_mass_lower, tail, tail_lower, tail_upper
from fedcert.numerics.rounding import above, below, down, exp_down, rounding_error, sum_down, up

REACH, STEP = 8.0, 2.0**-8
"""The shared normal is cut into cells of this width between −REACH and REACH."""
MAX_CONSTRAINTS = 64
"""More have no overlap computed: each pair is a row of its own."""
WORTH_SHARING = 2.0**-20
"""The probability that may be counted twice, below which nothing is computed, nor checked."""
SLACK = 2.0**-30
"""By which a share stays below what covariances allow, so that a checker finds it below them as well."""
ALONE = -1.0
"""In the place of a share: the constraint is left out."""
MAX_HELD_ELEMENTS = 2**22
LEADERS = 3
"""Constraints that are tried as the one that all others share with, those violated most often."""


@dataclass(frozen=True)
class Margins:
    """Jointly normal margins at one point of each region.

    Attributes:
        mean: g.
        deviation: s.
        covariance: lower bounds of K; the diagonal is not read.
    """

    mean: Enclosure
    deviation: Enclosure
    covariance: Float64[Tensor, "P R R"]

    @classmethod
    def at(cls, head: Head) -> "Margins":
        """Those of a random last layer behind fixed ones.

        2 K_rs = s_r² + s_s² − Var(ξ_r − ξ_s), and ξ_r − ξ_s is the noise of the row C_r − C_s.

        Args:
            head: on regions that are points.
        """
        C, layer = head.properties.C, head.view.layers[-1]
        constraints = C.shape[-2]
        deviation = _deviations(head, C)
        r, s = torch.triu_indices(constraints, constraints, 1)
        rows, exact = _differences(C[:, r], C[:, s])
        squares = deviation.square()
        twice = squares[:, r] + squares[:, s] - _deviations(head, rows).square()
        known = torch.where(exact, (twice / 2).lower, -torch.inf)
        covariance = C.new_full((len(C), constraints, constraints), -torch.inf)
        covariance[:, r, s] = covariance[:, s, r] = known
        (h, reach), (A, error), (offset, lost) = head.features, layer.product(C), layer.offset(C)
        h, reach, d = h.unsqueeze(-2), reach.unsqueeze(-2), head.properties.d
        value, terms = (A * h).sum(-1) + offset + d, h.shape[-1] + 4
        size = (A * h).abs().sum(-1) + offset.abs() + d.abs()
        moved = (error * up(h.abs() + reach) + A.abs() * reach).sum(-1)
        charge = above(moved + lost + rounding_error(terms, size), terms + 4)
        return cls(Enclosure.around(value, charge), deviation, covariance)


def worth_sharing(tails: Float64[Tensor, "P R"]) -> Bool[Tensor, "P"]:
    """Whether much may be counted twice: at most all tails but the largest.

    Args:
        tails: bounds of the constraints' tails.
    """
    few = tails.shape[-1] <= MAX_CONSTRAINTS
    return few & (tails.sum(-1) - tails.amax(-1) > WORTH_SHARING)


def most_overlap(margins: Margins) -> tuple[Float64[Tensor, "P"], Float64[Tensor, "P R"]]:
    """The largest overlap that some leader's shares show, and these shares.

    Args:
        margins: at a point of each region.
    """
    tried = [shares(margins, leader) for leader in range(min(LEADERS, margins.covariance.shape[-1]))]
    found, best = torch.stack([overlap(margins, chosen) for chosen in tried]).max(0)
    return found, torch.stack(tried)[best, torch.arange(len(best), device=best.device)]


def shares(margins: Margins, leader: int = 0) -> Float64[Tensor, "P R"]:
    """Numbers c with c_r c_s ≤ K_rs, about as large as that allows; `ALONE` for constraints left out.

    The leader and the one that is violated most often beside it share what their covariance is; each further
    one, in the order of how often they are violated, as much as its covariances with those before it allow.

    Args:
        margins: at a point of each region.
        leader: its place in that order.
    """
    least = margins.deviation.lower
    order = (margins.mean.lower / margins.deviation.upper).nan_to_num(torch.inf).argsort(-1)
    order = torch.cat([order[:, leader : leader + 1], order[:, :leader], order[:, leader + 1 :]], dim=-1)
    chosen, each = torch.full_like(least, ALONE), torch.arange(len(least), device=least.device)
    for place in range(least.shape[-1]):
        own = order[:, place]
        covariance, deviation = margins.covariance[each, own], least[each, own]
        if place == 0:
            next_one = order[:, min(1, least.shape[-1] - 1)]
            both = covariance[each, next_one].clamp(min=0.0) * deviation / least[each, next_one]
            allowed = both.sqrt()
        else:
            others = chosen >= 0
            free = (chosen == 0) & (covariance >= 0)
            ratio = torch.where(others & ~free, covariance / chosen, torch.inf)
            allowed = ratio.amin(-1)
        share = torch.minimum(allowed, deviation * (1 - SLACK)) * (1 - SLACK)
        member = (deviation > 0) & (allowed >= 0) & share.isfinite()
        chosen[each, own] = torch.where(member, share, ALONE)
    return chosen


def overlap(margins: Margins, chosen: Float64[Tensor, "P R"]) -> Float64[Tensor, "P"]:
    """Lower bounds of E (N − 1)⁺ for the constraints that have a share; 0 where nothing is known.

    Args:
        margins: at a point of each region.
        chosen: any shares.
    """
    member = chosen >= 0
    alone = (tail(margins.mean / margins.deviation).lower * member).unbind(-1)
    sums = torch.stack([*alone, _none_violated(margins, chosen), torch.full_like(chosen[:, 0], -1.0)], dim=-1)
    useful = _allowed(margins, chosen) & (member.sum(-1) >= 2)
    return torch.where(useful, sum_down(sums).nan_to_num(0.0).clamp(0.0, 1.0), 0.0)


def _allowed(margins: Margins, chosen: Float64[Tensor, "P R"]) -> Bool[Tensor, "P"]:
    """Whether c_r c_s ≤ K_rs for all pairs, and 0 < s_r, c_r² ≤ s_r²."""
    member = chosen >= 0
    pairs = member.unsqueeze(-1) & member.unsqueeze(-2)
    pairs = pairs & ~torch.eye(chosen.shape[-1], dtype=torch.bool, device=chosen.device)
    one, other = chosen.unsqueeze(-1), chosen.unsqueeze(-2)
    product = torch.where((one == 0) | (other == 0), 0.0, up(one * other))
    least = margins.deviation.lower
    each = ~member | ((least > 0) & (chosen <= least))
    return (~pairs | (product <= margins.covariance)).flatten(1).all(-1) & each.all(-1)


def _none_violated(margins: Margins, chosen: Float64[Tensor, "P R"]) -> Float64[Tensor, "P"]:
    """The integral from below: Π_r Φ(…) rises with t, so that it is least where a cell begins."""
    t = torch.arange(-REACH, REACH + STEP, STEP, dtype=torch.float64, device=chosen.device)
    beyond = tail_lower(t[-1:])
    masses = torch.cat([exp_down(log_mass_lower(t[:-1], t[1:])), beyond])
    rest = (margins.deviation.square() - Enclosure.exactly(chosen).square()).sqrt()
    size = max(1, MAX_HELD_ELEMENTS // len(t))
    parts = (
        margins.mean.lower.split(size),
        chosen.split(size),
        rest.lower.split(size),
        rest.upper.split(size),
    )
    return torch.cat([
        sum_down(below(_all_hold(g, c, least, most, t) * masses, 2))
        for g, c, least, most in zip(*parts, strict=True)
    ])  # fmt: skip


def _all_hold(
    mean: Float64[Tensor, "P R"],
    chosen: Float64[Tensor, "P R"],
    least: Float64[Tensor, "P R"],
    most: Float64[Tensor, "P R"],
    t: Float64[Tensor, "T"],
) -> Float64[Tensor, "P T"]:
    """Lower bounds of Π_r Φ((g_r + c_r t) / ρ_r), for deviations ρ between two ends."""
    product = mean.new_ones(len(mean), len(t))
    for g, c, low, high in zip(*(own.unbind(-1) for own in (mean, chosen, least, most)), strict=True):
        distance = down(g.unsqueeze(-1) + down(c.unsqueeze(-1) * t))
        divisor = torch.where(distance >= 0, high.unsqueeze(-1), low.unsqueeze(-1))
        z = torch.where(distance == 0, 0.0, down(distance / divisor)).nan_to_num(-torch.inf)
        inside = torch.where(z > 0, down(1 - tail_upper(z.clamp(min=0.0))), tail_lower(-z.clamp(max=0.0)))
        factor = torch.where(c.unsqueeze(-1) >= 0, inside.clamp(min=0.0), 1.0)
        product = down(product * factor).clamp(min=0.0)
    return product


def _deviations(head: Head, rows: Float64[Tensor, "P R m"]) -> Enclosure:
    """Of the noise of rows at the features of the point, which are known up to their reach."""
    noise = head.noise_of(rows)
    h, reach = head.features
    moved = above((noise.weight * reach.unsqueeze(-2)).sum(-1), reach.shape[-1] + 2)
    return Enclosure.between(down(noise.at_least(h) - moved).clamp(min=0.0), up(noise.at(h) + moved))


def _differences(
    a: Float64[Tensor, "P R m"], b: Float64[Tensor, "P R m"]
) -> tuple[Float64[Tensor, "P R m"], Bool[Tensor, "P R"]]:
    """A − b, and whether no entry of it was rounded: the error of a sum is a float that is found exactly."""
    found = a - b
    back = found - a
    error = (a - (found - back)) - (b + back)
    return found, (error == 0).all(-1)
