"""Properties that need no draws: all networks that can be drawn have them, or none has.

Draws of Gaussian laws come from 65,536 quantiles: their margins stay near those of the mean (`straying.py`),
and they lie in a box around it. At a small posterior scale that settles most properties.
"""

from collections.abc import Callable, Iterable

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from fedcert.federation.normals import quantiles
from fedcert.federation.numbered import GaussianDraws, Numbered
from fedcert.federation.straying import SINGLE_PRECISION, margins_of_draws
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.verify.interval import IntervalVerifier

Judge = Callable[[Float[Tensor, "count n_w"]], Bool[Tensor, "count P"]]


def at_centres(properties: Properties) -> Properties:
    """The same constraints, asked of the centres of the regions alone.

    Args:
        properties: the properties.
    """
    middle = (properties.regions.lower + properties.regions.upper) / 2
    return Properties(Box.point(middle), properties.C, properties.d)


def settled(
    draws: Numbered, network: Network, properties: Properties, needed: Properties
) -> tuple[Bool[Tensor, "P"], Bool[Tensor, "P"]]:
    """Which properties interval bounds show for every draw, and for which no draw has what is needed.

    Nothing is settled where single precision, in which networks are drawn, does not hold the parameters.

    Args:
        draws: of the deployed model.
        network: f_θ.
        properties: the properties.
        needed: what networks are rejected without, by interval bounds.
    """
    nothing = torch.zeros(len(properties), dtype=torch.bool, device=properties.d.device)
    if not isinstance(draws, GaussianDraws):
        return nothing, nothing
    centre, scale = draws.centre.double(), draws.scale.double()
    largest = quantiles(draws.centre.device).amax().double()
    reach = largest * scale * (1 + SINGLE_PRECISION) + SINGLE_PRECISION * centre.abs()
    if not (centre.isfinite() & reach.isfinite()).all():
        return nothing, nothing
    shown, lacking = (margins_of_draws(draws, network, asked) for asked in (properties, needed))
    if shown is None or lacking is None:
        box = Box.around(centre, reach)[None]
        shown, lacking = (_margins_of_box(box, network, asked) for asked in (properties, needed))
    return (shown[0] > 0).all(-1), (lacking[1] < 0).any(-1)


def _margins_of_box(
    box: Box, network: Network, properties: Properties
) -> tuple[Float64[Tensor, "P R"], Float64[Tensor, "P R"]]:
    """Numbers between which interval bounds lie for every network of a box: at most what centres give."""
    verifier, centres = IntervalVerifier(), at_centres(properties)
    negated = Properties(centres.regions, -properties.C, -properties.d)
    return verifier.margins(network, box, properties)[0], -verifier.margins(network, box, negated)[0]


def count_successes(
    draws: Numbered,
    network: Network,
    properties: Properties,
    judge: Callable[[Properties], Judge],
    batches: Iterable[tuple[int, int]],
    samples: int,
    needed: Properties | None = None,
) -> Int64[Tensor, "P"]:
    """How many networks fulfil each property; those that are settled are not judged.

    Args:
        draws: of the deployed model.
        network: f_θ.
        properties: the properties.
        judge: decides draws for some properties.
        batches: the first number and the count of the networks that are drawn at a time.
        samples: how many there are.
        needed: what networks are rejected without, by interval bounds; the properties where None.
    """
    always, never = settled(draws, network, properties, needed or properties)
    found, left = samples * always.long(), ~(always | never)
    if left.any():
        decide = judge(properties[left])
        found[left] = torch.stack([decide(draws(first, count)).sum(0) for first, count in batches]).sum(0)
    return found
