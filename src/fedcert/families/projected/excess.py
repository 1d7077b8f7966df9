"""Lines above the ReLUs that may be exceeded: what they are exceeded by is paid for on average.

A line s a + t that is above relu(a) at l ≤ 0 and at u ≥ 0 is so between them, and for all a

    relu(a) ≤ s a + t + s (l − a)⁺ + (1 − s) (a − u)⁺.

So rows with coefficients A_k < 0 that replace relu(a_k) by such lines lose at most
T = Σ_k |A_k| (s_k (l_k − a_k)⁺ + (1 − s_k) (a_k − u_k)⁺) more, whatever the ranges [l_k, u_k]. T depends on
the layers before the last one, whose noise N is Gaussian given these, of deviation σ ≥ s on the events. Its
density is at most 1/(√(2π) s), so that for every X that depends on the layers before the last one

    Pr(X + N ≤ T) ≤ Pr(X + N ≤ 0) + E T / (√(2π) s).

A range that holds but for a small probability is wide, and its chord far above the ReLU; here a range of one
or two deviations will do. From exponential moments, E (l − Y)⁺, the integral of Pr(Y ≤ y) over y ≤ l, is at
most e^(K(λ) + λ l)/λ.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.families.projected.relaxation import Above, Lines
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.rounding import above, up

RATE = 2.0  # λ, in units of 1 / deviation
LEAST_REACH = 1.4  # of a constraint of mean 0, in units of 1/λ
MAX_REACH = 8.0  # of lines that are worth it: beyond, ranges that hold are no wider
_PEAK = math.nextafter(1 / math.sqrt(2 * math.pi), 1.0)  # above 1/√(2π), the largest density of a normal


@dataclass(frozen=True)
class Excess:
    """How far the neurons of a layer are beyond a threshold, on average: E (y − Y)⁺ ≤ e^(exponent + λ y).

    Y is the lower bound of a neuron over the region, then that of its negative.

    Attributes:
        centre: the approximate means of Y, from which thresholds are chosen.
        rate: λ.
        exponent: K(λ) − log λ.
    """

    centre: Float64[Tensor, "P sides"]
    rate: Float64[Tensor, "P sides"]
    exponent: Float64[Tensor, "P sides"]

    @classmethod
    def unknown(cls, like: Float64[Tensor, "P sides"]) -> "Excess":
        """Nothing is known: lines must hold."""
        return cls(torch.zeros_like(like), torch.ones_like(like), torch.full_like(like, math.inf))

    def lines(self, hard: Lines, reach: Float64[Tensor, "P R"]) -> tuple[Above, Float64[Tensor, "P R m"]]:
        """The chords of ranges that reach so far, in units of 1/λ; and what they are exceeded by, on average.

        A neuron whose sign is known keeps its line, and all neurons do in rows of reach 0.

        Args:
            hard: the lines of ranges that hold on the events.
            reach: how far the ranges reach from the means; any are sound.
        """
        at = self.centre.unsqueeze(-2) - reach.unsqueeze(-1) / self.rate.unsqueeze(-2)
        low, high = at.chunk(2, dim=-1)[0].clamp(max=0.0), -at.chunk(2, dim=-1)[1].clamp(max=0.0)
        slope = (high / (high - low)).nan_to_num(nan=1.0).clamp(0.0, 1.0)
        height = torch.maximum(up(-slope * low), up(up(1 - slope) * high))
        below, over = self._beyond(torch.cat([low, -high], dim=-1)).chunk(2, dim=-1)
        average = above(slope * below + (1 - slope) * over, 8)
        soft = (hard.widest > 0).unsqueeze(-2) & (reach > 0).unsqueeze(-1)
        kept = Above.of(hard)
        lines = Above(torch.where(soft, slope, kept.slope), torch.where(soft, height, kept.height))
        return lines, torch.where(soft, average, 0.0)

    def _beyond(self, at: Float64[Tensor, "P R sides"]) -> Float64[Tensor, "P R sides"]:
        """Upper bounds of E (y − Y)⁺; infinite where nothing is known."""
        exponent = Enclosure.exactly(self.rate.unsqueeze(-2)) * at + self.exponent.unsqueeze(-2)
        return exponent.exp().upper.nan_to_num(math.inf, math.inf)


def reach_for(
    mean: Float64[Tensor, "P R"], deviation: Float64[Tensor, "P R"], factor: Float64[Tensor, "P"]
) -> Float64[Tensor, "P R"]:
    """Reaches that suit constraints of these means and deviations: any are sound.

    An excess of relative size e^−κ at a reach κ weighs as the peak of a density, the height of a line as the
    density at 0, about e^(−z²/2) of that for a mean of z deviations. Lines of hopelessly wide ranges are 0.

    Args:
        mean: of the rows, about.
        deviation: theirs, about.
        factor: a multiple; 0 for ranges that hold.
    """
    z = (mean / deviation).clamp(min=0.0).nan_to_num(nan=0.0)
    reach = (LEAST_REACH + z * z / 2) * factor.unsqueeze(-1)
    return torch.where(reach <= MAX_REACH, reach, 0.0)


def price_of_excess(
    average: Float64[Tensor, "P R"], deviation: Float64[Tensor, "P R"]
) -> Float64[Tensor, "P R"]:
    """An upper bound of E T / (√(2π) s), 0 where T is 0.

    Args:
        average: bounds of E T.
        deviation: s ≥ 0, lower bounds of the deviation of the last layer's noise.
    """
    price = above(_PEAK * average / deviation, 8).nan_to_num(math.inf, math.inf)
    return torch.where(average == 0, 0.0, price)
