"""Laws: probability distributions of a parameter vector."""

from fedcert.laws.around import around
from fedcert.laws.block import BlockGaussian
from fedcert.laws.blocks import DenseBlock, DiagonalBlock, KroneckerBlock
from fedcert.laws.dense import DenseGaussian
from fedcert.laws.diagonal import LARGEST, SMALLEST, DiagonalGaussian
from fedcert.laws.mixture import GaussianMixture
from fedcert.laws.protocol import (
    BoxMeasurable,
    DiagonalLaw,
    GaussianLaw,
    Law,
    diagonal_components,
    is_diagonal,
)

__all__ = [
    "LARGEST",
    "SMALLEST",
    "BlockGaussian",
    "BoxMeasurable",
    "DenseBlock",
    "DenseGaussian",
    "DiagonalBlock",
    "DiagonalGaussian",
    "DiagonalLaw",
    "GaussianLaw",
    "GaussianMixture",
    "KroneckerBlock",
    "Law",
    "around",
    "diagonal_components",
    "is_diagonal",
]
