"""Properties that need no draws: all networks that can be drawn have them, or none has.

Draws of Gaussian laws come from 65,536 quantiles, so they lie in a box around the mean. At a small posterior
scale interval bounds of that box settle most properties.
"""

from collections.abc import Callable, Iterable

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from fedcert.federation.normals import quantiles
from fedcert.federation.numbered import GaussianDraws, Numbered
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.verify.interval import IntervalVerifier

SINGLE_PRECISION = 2.0**-20  # more than the relative rounding of a draw
Judge = Callable[[Float[Tensor, "count n_w"]], Bool[Tensor, "count P"]]


def settled(
    draws: Numbered, network: Network, properties: Properties
) -> tuple[Bool[Tensor, "P"], Bool[Tensor, "P"]]:
    """Which properties interval bounds prove for every draw, and which ones no draw has at the centre.

    Nothing is settled where single precision, in which networks are drawn, does not hold the parameters.

    Args:
        draws: of the deployed model.
        network: f_θ.
        properties: the properties.
    """
    nothing = torch.zeros(len(properties), dtype=torch.bool, device=properties.d.device)
    if not isinstance(draws, GaussianDraws):
        return nothing, nothing
    centre, scale = draws.centre.double(), draws.scale.double()
    largest = quantiles(draws.centre.device).amax().double()
    reach = largest * scale * (1 + SINGLE_PRECISION) + SINGLE_PRECISION * centre.abs()
    if not (centre.isfinite() & reach.isfinite()).all():
        return nothing, nothing
    boxes, verifier = Box.around(centre, reach)[None], IntervalVerifier()
    middle = (properties.regions.lower + properties.regions.upper) / 2
    negated = Properties(Box.point(middle), -properties.C, -properties.d)
    violated = verifier.margins(network, boxes, negated)[0] > 0
    return verifier(network, boxes, properties)[0], violated.any(-1)


def count_successes(
    draws: Numbered,
    network: Network,
    properties: Properties,
    judge: Callable[[Properties], Judge],
    batches: Iterable[tuple[int, int]],
    samples: int,
) -> Int64[Tensor, "P"]:
    """How many networks fulfil each property; those that are settled are not judged.

    Args:
        draws: of the deployed model.
        network: f_θ.
        properties: the properties.
        judge: decides draws for some properties.
        batches: the first number and the count of the networks that are drawn at a time.
        samples: how many there are.
    """
    always, never = settled(draws, network, properties)
    found, left = samples * always.long(), ~(always | never)
    if left.any():
        decide = judge(properties[left])
        found[left] = torch.stack([decide(draws(first, count)).sum(0) for first, count in batches]).sum(0)
    return found
