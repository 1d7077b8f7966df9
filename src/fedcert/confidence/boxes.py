"""Verdicts on drawn networks of any layers, by the verifiers of boxes: slower, and only where they reach."""

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.confidence.cascade import Verdicts
from fedcert.confidence.deployed import Drawn
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.interval import Bounds, affine
from fedcert.verify import AnyOf, Safe
from fedcert.verify.attack import ProjectedGradient
from fedcert.verify.interval import MergedIntervalVerifier, layer_parameters
from fedcert.verify.linear import LinearVerifier


def judge_boxes(network: Network, drawn: Drawn, properties: Properties) -> Verdicts:
    """The verdicts on B networks and P properties.

    Args:
        network: of any layers.
        drawn: the parameters of the networks.
        properties: what is safe.
    """
    boxes = drawn.boxes(network)
    linear = () if network.layers[-1].nonlinear else (LinearVerifier(),)
    proven = Safe(network, properties, AnyOf((MergedIntervalVerifier(), *linear)))(boxes)
    x, _ = ProjectedGradient()(network, drawn.centre, properties)
    return Verdicts(proven, breaks_boxes(network, boxes, x, properties) & ~proven)


def breaks_boxes(
    network: Network, boxes: Box, x: Float64[Tensor, "B P p"], properties: Properties
) -> Bool[Tensor, "B P"]:
    """Whether some constraint is negative at an input of the region, for all parameters of the box.

    Args:
        network: of any layers.
        boxes: of the parameters of B networks.
        x: an input for each network and property.
        properties: what is safe.
    """
    regions = properties.regions
    x = torch.clamp(x, regions.lower, regions.upper)
    z = Bounds(x, x)
    for layer, parameters in zip(network.layers, layer_parameters(network, boxes), strict=True):
        z = layer.interval(parameters, z)
    C, d = Bounds(properties.C, properties.C), Bounds(properties.d, properties.d)
    greatest = affine(C, d, z.unsqueeze(-2)).upper.squeeze(-2)
    return ((greatest < 0) & greatest.isfinite()).any(-1)
