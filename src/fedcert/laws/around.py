"""Boxes around points, in deviations of a law."""

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.protocol import DiagonalLaw
from fedcert.numerics.box import Box
from fedcert.numerics.rounding import down, up

NARROWEST = 2.0**-1000  # so that no end point around 0 is a denormal number


def around(
    law: DiagonalLaw, centre: Float64[Tensor, "*batch n_w"], deviations: Float64[Tensor, "*#batch 1"] | float
) -> Box:
    """The box c ± r σ, end points rounded to nearest; around a fixed parameter the narrowest that counts it.

    A mass counts a parameter with σ = 0 only strictly inside a box, so the box has a little width there.

    Args:
        law: gives σ, and the means of fixed parameters.
        centre: c.
        deviations: r.
    """
    box, fixed = Box.around(centre, deviations * law.scale), law.scale == 0
    if not fixed.any():
        return box
    error = torch.zeros_like(law.loc) if law.loc_error is None else law.loc_error
    low = down(down(law.loc - error) - NARROWEST)
    high = up(up(law.loc + error) + NARROWEST)
    return Box(torch.where(fixed, low, box.lower), torch.where(fixed, high, box.upper))
