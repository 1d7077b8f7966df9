"""What a law must offer."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.diagonal import DiagonalGaussian
from fedcert.numerics.box import Box


@runtime_checkable
class Law(Protocol):
    """A probability law q on parameter vectors."""

    @property
    def dimension(self) -> int:
        """n_w, the length of a parameter vector."""
        ...

    @property
    def loc(self) -> Float64[Tensor, "n_w"]:
        """The mean."""
        ...

    @property
    def components(self) -> tuple[DiagonalGaussian, ...]:
        """The Gaussians that the law is a mixture of; a Gaussian is its own only component."""
        ...

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n_w"]:
        """Draw independent parameter vectors."""
        ...

    def log_mass(self, box: Box) -> Float64[Tensor, "*batch"]:
        """A lower bound of log q(H) for each box H."""
        ...

    def log_mass_upper(self, box: Box) -> Float64[Tensor, "*batch"]:
        """An upper bound of log q(H) for each box H."""
        ...
