"""Weighted balls: the region holds every real input of the ball, and the checker sees one that does not."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import torch
from problems import normal, uniform

from fedcert.errors import InvalidProperty
from fedcert.model.properties import Properties as Asked
from fedcert.model.properties import linf_robustness
from fedcert_check.errors import InvalidCertificate
from fedcert_check.properties import Properties
from fedcert_check.regions import outward, require_regions
from fuzz.hostile import choice
from fuzz.verdicts import Verdict

WIDTH = 4


def weighted(generator: torch.Generator) -> Iterator[Verdict]:
    """One ball of any magnitude."""
    x = choice(generator, 0.0, 1e-300, 1e-8, 1.0, 1e15) * normal(generator, 1, WIDTH)
    weights = choice(generator, 0.0, 1e-320, 1e-160, 0.1, 1.0, 1e200) * uniform(generator, 1, WIDTH)
    weights[:, 0] = 0.0
    radius = (choice(generator, 0.0, 1e-310, 1e-165, 0.3, 1.0, 2.0) * uniform(generator, 1)).item()
    try:
        asked = linf_robustness(x, [0], radius, classes=2, domain=(-torch.inf, torch.inf), weights=weights)
    except InvalidProperty:
        yield Verdict(True, False)
        return
    lower, upper = (end[0].tolist() for end in (asked.regions.lower, asked.regions.upper))
    for j in range(WIDTH):
        reach = Fraction(radius) * Fraction(weights[0, j].item())
        centre = Fraction(x[0, j].item())
        inside = Fraction(lower[j]) <= centre - reach and centre + reach <= Fraction(upper[j])
        fixed = reach > 0 or lower[j] == upper[j] == x[0, j].item()
        proved = _agrees(_checked(asked), x, weights, radius)
        unseen = _agrees(_smaller(_checked(asked), j), x, weights, radius)
        what = f"{x[0, j]} ± {radius} × {weights[0, j]}"
        yield Verdict(inside and fixed and not unseen, True, what, proved)


def _checked(asked: Asked) -> Properties:
    lower, upper = (end.numpy().copy() for end in (asked.regions.lower, asked.regions.upper))
    return Properties(lower, upper, asked.C.numpy(), asked.d.numpy())


def _smaller(properties: Properties, j: int) -> Properties:
    """The region without a few floats at the end of coordinate j, more than what was rounded outward."""
    for _ in range(4):
        properties.upper[0, j] = np.nextafter(properties.upper[0, j], -np.inf)
    return properties


def _agrees(properties: Properties, x: torch.Tensor, weights: torch.Tensor, radius: float) -> bool:
    try:
        require_regions(
            properties, (x.numpy(), x.numpy()), outward(np.array([[radius]]), weights.numpy()), None
        )
    except InvalidCertificate:
        return False
    return True
