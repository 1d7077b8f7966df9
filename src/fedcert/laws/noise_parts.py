"""The noise of a layer as a sum of independent parts: what each part says of rows B."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.covariance import HIDDEN, Covariance, rows_at_a_time, weighed_sizes
from fedcert.laws.independent_noise import IndependentNoise
from fedcert.numerics.rounding import above, up


@runtime_checkable
class PartNoise(Protocol):
    """B·(W̃ h + b̃) for rows B and one part of the noise."""

    @property
    def weight(self) -> Float64[Tensor, "P R k"]:
        """Bounds of the deviations of (B W̃)_k."""
        ...

    @property
    def bias(self) -> Float64[Tensor, "P R"]:
        """Bounds of the deviations of B·b̃."""
        ...

    def at(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """Bounds of the deviations at fixed inputs h."""
        ...

    def at_least(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """Lower bounds of the deviations at fixed inputs h."""
        ...

    def along(self, directions: Float64[Tensor, "P k J"]) -> Float64[Tensor, "P R J"]:
        """Bounds of the deviations of B W̃ t, for each column t."""
        ...

    def covariances(
        self, h: Float64[Tensor, "P k"]
    ) -> tuple[Float64[Tensor, "P R k"], Float64[Tensor, "P R k"]]:
        """Cov((B W̃)_k, B·(W̃ h + b̃)) at fixed inputs h, and bounds of its error."""
        ...

    def steepest(self, delta: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """Bounds of the deviations of B W̃ v for all |v| ≤ δ."""
        ...


@runtime_checkable
class NoisePart(Protocol):
    """One of the independent parts of a layer's noise.

    `weight_deviation` and `bias_deviation` bound the deviations of single weights and biases.
    """

    @property
    def weight_deviation(self) -> Float64[Tensor, "m k"]:
        """Bounds of the deviations of the weights."""
        ...

    @property
    def bias_deviation(self) -> Float64[Tensor, "m"]:
        """Bounds of the deviations of the biases."""
        ...

    @property
    def fixed_weights(self) -> bool:
        """Whether the part says nothing of the weights."""
        ...

    def noise(self, rows: Float64[Tensor, "P R m"]) -> PartNoise:
        """What rows B see of it."""
        ...


@dataclass(frozen=True)
class DensePart:
    """W̃ and b̃ with any covariance.

    Attributes:
        shape: (m, k).
        covariance: of the entries of W, row by row, and then of b.
        fixed_weights: whether only biases are random.
    """

    shape: tuple[int, int]
    covariance: Covariance
    fixed_weights: bool = False

    @cached_property
    def weight_deviation(self) -> Float64[Tensor, "m k"]:
        """Bounds of the deviations of the weights."""
        m, k = self.shape
        return self.covariance.deviation[: m * k].view(m, k)

    @cached_property
    def bias_deviation(self) -> Float64[Tensor, "m"]:
        """Bounds of the deviations of the biases."""
        m, k = self.shape
        return self.covariance.deviation[m * k :]

    @cached_property
    def weights(self) -> Float64[Tensor, "m k m k"]:
        """The covariances of the weights."""
        m, k = self.shape
        return self.covariance.matrix[: m * k, : m * k].view(m, k, m, k)

    def noise(self, rows: Float64[Tensor, "P R m"]) -> "DenseNoise":
        """What rows B see of it."""
        return DenseNoise(self, rows)


@dataclass(frozen=True)
class DenseNoise:
    """N·h + B·b̃, N = B W̃; G_kl = Cov(N_k, N_l) is known up to a multiple of e_k e_l, e_k = Σ_j |B_j| d_jk.

    Attributes:
        part: the noise.
        rows: B.
    """

    part: DensePart
    rows: Float64[Tensor, "P R m"]

    @cached_property
    def weight(self) -> Float64[Tensor, "P R k"]:
        """Upper bounds r of the deviations of the N_k."""
        own = torch.einsum("jklk->kjl", self.part.weights)
        inner = torch.einsum("prj,kjl->prkl", self.rows, own)  # first: products of rows alone may underflow
        value = (inner * self.rows.unsqueeze(-2)).sum(-1)
        return self.part.covariance.root(value, self.rows.abs() @ self.part.weight_deviation)

    @cached_property
    def bias(self) -> Float64[Tensor, "P R"]:
        """Upper bounds of the deviation of B·b̃."""
        m, k = self.part.shape
        own = self.part.covariance.matrix[m * k :, m * k :]
        value = ((self.rows @ own) * self.rows).sum(-1)
        return self.part.covariance.root(value, self.rows.abs() @ self.part.bias_deviation)

    def at(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """The deviation of the projection with coefficients B_j h_k and B_j."""
        return self.part.covariance.of_projection(coefficients(self.rows, h))

    def at_least(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """The same, from below."""
        return self.part.covariance.least_projection(coefficients(self.rows, h))

    def along(self, directions: Float64[Tensor, "P k J"]) -> Float64[Tensor, "P R J"]:
        """√(t·G t), for each column t."""
        found = []
        for rows, own in zip(self.rows, directions, strict=True):
            value = ((self._gram(rows) @ own) * own).sum(-2)
            size = (rows.abs() @ self.part.weight_deviation + HIDDEN) @ own.abs()  # what underflows in G
            found.append(self.part.covariance.root(value, size))
        return torch.stack(found)

    def covariances(
        self, h: Float64[Tensor, "P k"]
    ) -> tuple[Float64[Tensor, "P R k"], Float64[Tensor, "P R k"]]:
        """Σ_j B_j (Σ c)_jk for c = (B_j h_k, B_j), with the charge of a quadratic form."""
        (m, k), covariance = self.part.shape, self.part.covariance
        given = coefficients(self.rows, h)
        seen: Tensor = (given @ covariance.matrix)[..., : m * k].unflatten(-1, (m, k))
        size = given.abs() @ covariance.deviation + HIDDEN
        reach = self.rows.abs() @ self.part.weight_deviation + HIDDEN
        lost = covariance.charge * reach * size.unsqueeze(-1)
        return torch.einsum("prj,prjk->prk", self.rows, seen), up(lost)

    def steepest(self, delta: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """√Σ_kl δ_k δ_l |G_kl| ≥ √(v·G v) for all |v| ≤ δ, from above.

        Args:
            delta: δ.
        """
        m, k = self.part.shape
        count, rows = self.rows.shape[:2]
        weights = delta.unsqueeze(-2).expand(-1, rows, -1).reshape(-1, k)
        flat = self.rows.reshape(-1, m)
        step, charge = rows_at_a_time(k * m * k), self.part.covariance.charge
        found = [
            weighed_sizes(self._gram(part), own, part.abs() @ self.part.weight_deviation, charge)
            for part, own in zip(flat.split(step), weights.split(step), strict=True)
        ]
        return torch.cat(found).view(count, rows)

    def _gram(self, rows: Float64[Tensor, "N m"]) -> Float64[Tensor, "N k k"]:
        """G, in floating point."""
        m, k = self.part.shape
        once = (rows @ self.part.weights.reshape(m, k * m * k)).view(len(rows), k, m, k)
        return torch.einsum("nkjl,nj->nkl", once, rows)


@dataclass(frozen=True)
class DiagonalPart:
    """W̃ and b̃ of independent normals.

    Attributes:
        weight_deviation: bounds of the deviations of the weights.
        bias_deviation: bounds of the deviations of the biases.
    """

    weight_deviation: Float64[Tensor, "m k"]
    bias_deviation: Float64[Tensor, "m"]

    @property
    def fixed_weights(self) -> bool:
        """Whether no weight is random."""
        return not bool(self.weight_deviation.any())

    def noise(self, rows: Float64[Tensor, "P R m"]) -> IndependentNoise:
        """What rows B see of it: √Σ_j B_j² S_jk² and √Σ_j B_j² s_j²; B_j² is rounded up before."""
        square, roundings = up(rows * rows), len(self.bias_deviation) + 4
        weight = above(square @ (self.weight_deviation * self.weight_deviation), roundings)
        bias = above(square @ (self.bias_deviation * self.bias_deviation), roundings)
        return IndependentNoise(up(weight.sqrt()), up(bias.sqrt()))


def coefficients(rows: Float64[Tensor, "P R m"], h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R n"]:
    """(B_j h_k)_jk and B: the coefficients of W, row by row, and b in B·(W h + b).

    Args:
        rows: B.
        h: the inputs.
    """
    weights = rows.unsqueeze(-1) * h[:, None, None, :]
    return torch.cat([weights.flatten(-2), rows], dim=-1)
