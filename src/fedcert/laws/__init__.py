"""Laws: probability distributions of a parameter vector."""

from fedcert.laws.around import around
from fedcert.laws.diagonal import LARGEST, SMALLEST, DiagonalGaussian
from fedcert.laws.mixture import GaussianMixture
from fedcert.laws.protocol import BoxMeasurable, DiagonalLaw, GaussianLaw, Law, diagonal_components

__all__ = [
    "LARGEST",
    "SMALLEST",
    "BoxMeasurable",
    "DiagonalGaussian",
    "DiagonalLaw",
    "GaussianLaw",
    "GaussianMixture",
    "Law",
    "around",
    "diagonal_components",
]
