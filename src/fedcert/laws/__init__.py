"""Laws: probability distributions of a parameter vector."""

from fedcert.laws.diagonal import LARGEST, SMALLEST, DiagonalGaussian
from fedcert.laws.mixture import GaussianMixture
from fedcert.laws.protocol import Law

__all__ = ["LARGEST", "SMALLEST", "DiagonalGaussian", "GaussianMixture", "Law"]
