"""The largest certified radius of each input, by bisection: one radius for each input in every proof.

The probability that the label wins on the whole ball falls with the radius, so that there is a largest radius
at which it is at least τ. The proven bound L need not fall, and bisection may miss a larger radius; what is
returned is a certificate of its own, proven at the radii that it names.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.certificate import Certificate
from fedcert.progress import Tracker, silent

SMALLEST_RADIUS = 2.0**-12
LARGEST_RADIUS = 1.0
LARGEST_FACTOR = 16.0  # of a radius that counts measurement errors
STEPS = 10  # of the bisection, after the radius is known up to a factor of 2
SHRINK = 0.999  # factor for a radius whose bound fell below the threshold in the last proof
LAST_TRIES = 4

Prove = Callable[[Float64[Tensor, "P"]], Certificate]
"""The certificate at one radius for each input."""


@dataclass(frozen=True)
class CertifiedRadii:
    """The radii up to which inputs are certified.

    Attributes:
        radius: for each input the radius; 0 where not even `SMALLEST_RADIUS` reaches the threshold.
        certificate: proven at these radii; L ≥ τ wherever the radius is above 0.
    """

    radius: Float64[Tensor, "P"]
    certificate: Certificate


def certified_radii(
    prove: Prove,
    count: int,
    threshold: float,
    device: str = "cpu",
    track: Tracker = silent,
    largest: float = LARGEST_RADIUS,
) -> CertifiedRadii:
    """For each input the largest radius that bisection finds with L ≥ τ.

    Radii double from `SMALLEST_RADIUS` until all inputs fail or the largest is reached; then the
    logarithm is bisected.

    Args:
        prove: makes a certificate at given radii.
        count: P, the number of inputs.
        threshold: τ.
        device: of the bounds.
        track: shows progress.
        largest: at which the search ends, a power of two.
    """
    good = torch.zeros(count, dtype=torch.float64, device=device)
    bad = torch.full_like(good, 2 * largest)
    radius = torch.full_like(good, SMALLEST_RADIUS)
    growing = torch.ones_like(good, dtype=torch.bool)
    while growing.any():
        holds = prove(radius).lower >= threshold
        good = torch.where(growing & holds, radius, good)
        bad = torch.where(growing & ~holds, radius, bad)
        growing &= holds & (radius < largest)
        radius = torch.where(growing, 2 * radius, good)
    open_ones = (good > 0) & (bad <= largest)
    for _ in track(range(STEPS if open_ones.any() else 0), f"searching radii for {threshold:g}"):
        middle = torch.where(open_ones, (good * bad).sqrt(), good)
        holds = prove(middle).lower >= threshold
        good = torch.where(open_ones & holds, middle, good)
        bad = torch.where(open_ones & ~holds, middle, bad)
    return _proven(prove, good, threshold)


def _proven(prove: Prove, radius: Float64[Tensor, "P"], threshold: float) -> CertifiedRadii:
    """The certificate at these radii, or smaller ones where the bound differs from the one in the search."""
    certificate = prove(radius)
    for left in reversed(range(LAST_TRIES)):
        short = (certificate.lower < threshold) & (radius > 0)
        if not short.any():
            break
        radius = torch.where(short, radius * SHRINK if left else torch.zeros_like(radius), radius)
        certificate = prove(radius)
    short = (certificate.lower < threshold) & (radius > 0)
    if short.any():
        radius = torch.zeros_like(radius)
        certificate = prove(radius)
    return CertifiedRadii(radius, certificate)
