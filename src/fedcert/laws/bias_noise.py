"""The noise of biases alone: one part of a layer's noise (`noise_parts.py`)."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.covariance import Covariance


@dataclass(frozen=True)
class BiasPart:
    """b̃ with any covariance, and no noise of the weights.

    Attributes:
        shape: (m, k).
        covariance: of b.
    """

    shape: tuple[int, int]
    covariance: Covariance

    @property
    def fixed_weights(self) -> bool:
        """The weights have no noise."""
        return True

    @cached_property
    def weight_deviation(self) -> Float64[Tensor, "m k"]:
        """0."""
        return self.covariance.deviation.new_zeros(self.shape)

    @property
    def bias_deviation(self) -> Float64[Tensor, "m"]:
        """Bounds of the deviations of the biases."""
        return self.covariance.deviation

    def noise(self, rows: Float64[Tensor, "P R m"]) -> "BiasNoise":
        """What rows B see of it."""
        least = self.covariance.least_projection(rows)
        return BiasNoise(self.covariance.of_projection(rows), least, self.shape[1])


@dataclass(frozen=True)
class BiasNoise:
    """B·b̃.

    Attributes:
        bias: upper bounds of its deviations.
        least: lower bounds of them.
        inputs: k.
    """

    bias: Float64[Tensor, "P R"]
    least: Float64[Tensor, "P R"]
    inputs: int

    @property
    def weight(self) -> Float64[Tensor, "P R k"]:
        """0."""
        return self.bias.new_zeros(*self.bias.shape, self.inputs)

    def at(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """The same at all inputs."""
        return self.bias

    def at_least(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """The same at all inputs."""
        return self.least

    def along(self, directions: Float64[Tensor, "P k J"]) -> Float64[Tensor, "P R J"]:
        """0."""
        return self.bias.new_zeros(*self.bias.shape, directions.shape[-1])

    def covariances(
        self, h: Float64[Tensor, "P k"]
    ) -> tuple[Float64[Tensor, "P R k"], Float64[Tensor, "P R k"]]:
        """0."""
        return self.weight, self.weight

    def steepest(self, delta: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """0: biases do not move.

        Args:
            delta: δ.
        """
        return torch.zeros_like(self.bias)
