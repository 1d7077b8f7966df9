"""The layers of a network under a sum of blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws.affine import RandomAffine
from fedcert.laws.bias_noise import BiasPart
from fedcert.laws.block_protocol import Block
from fedcert.laws.blocks import DenseBlock, DiagonalBlock, KroneckerBlock
from fedcert.laws.conv_affine import ConvAffine
from fedcert.laws.covariance import Covariance
from fedcert.laws.dense import DenseGaussian, require_dense
from fedcert.laws.dependent_affine import DependentAffine, root_of_squares
from fedcert.laws.dependent_conv import DependentConvAffine
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.laws.kronecker import KroneckerPart
from fedcert.laws.noise_parts import DensePart, DiagonalPart, NoisePart
from fedcert.laws.places import Place, parameter_places
from fedcert.model.layers import AvgPool2d, Conv2d
from fedcert.model.network import Network
from fedcert.numerics.rounding import gamma, up


@dataclass(frozen=True)
class Blocks:
    """The noise of a law.

    Attributes:
        loc: the means of the parameters.
        loc_error: bounds of their errors.
        blocks: the noise.
        error: of the blocks' scales and factors, relative.
    """

    loc: Float64[Tensor, "n_w"]
    loc_error: Float64[Tensor, "n_w"]
    blocks: tuple[Block, ...]
    error: float

    def layers(self, network: Network) -> Sequence[RandomAffine]:
        """The affine layers of a network; without noise, or with diagonal blocks alone, they are independent.

        A dense block about several layers joins all of them: the whole law is then taken as a dense one.

        Args:
            network: whose parameters the law is about.
        """
        places = parameter_places(network)
        whole = replace(self, blocks=tuple(own for own in self.blocks if own.random))
        if any(isinstance(own, DenseBlock) and _layers_of(own, places) > 1 for own in whole.blocks):
            return whole.dense().layers(network)
        return [whole.layer(place) for place in places]

    def dense(self) -> DenseGaussian:
        """The same law by one factor; a Kronecker product of three numbers is rounded twice."""
        n = len(self.loc)
        require_dense(n)
        columns = [self.loc.new_zeros(n, 0)]
        for own in self.blocks:
            column = _factor(own)
            columns.append(torch.nn.functional.pad(column, (0, 0, own.start, n - own.start - own.size)))
        error = 2 * self.error + 2.0**-50
        return DenseGaussian(self.loc, torch.cat(columns, dim=1), self.loc_error, error)

    def layer(self, place: Place) -> RandomAffine:
        """One layer; the noise of a kernel is that of the matrix with a row for each filter.

        Args:
            place: the layer and its parameters.
        """
        if isinstance(place.layer, AvgPool2d):
            return ConvAffine.mean_pool(place.layer, self.loc.device)
        weights, biases = place.weights, place.biases
        means = (self.loc[weights], self.loc[biases])
        errors = (self.loc_error[weights], self.loc_error[biases])
        parts = list(self._parts(place))
        diagonal = [part for part in parts if isinstance(part, DiagonalPart)]
        if len(diagonal) < len(parts):
            if not isinstance(place.layer, Conv2d):
                return DependentAffine(*means, *errors, tuple(parts))
            known = ConvAffine.fixed_at(place.layer, *means, *errors)
            return DependentConvAffine.of_parts(known, tuple(parts))
        scale = _combined([part.weight_deviation.view_as(means[0]) for part in diagonal], means[0])
        bias_scale = _combined([part.bias_deviation.view_as(means[1]) for part in diagonal], means[1])
        shrinkage = 4 * self.error + gamma(8 * (len(parts) + 8)) if parts else 0.0
        if isinstance(place.layer, Conv2d):
            return ConvAffine(place.layer, *means, scale, bias_scale, *errors, shrinkage)
        return DiagonalAffine(*means, scale, bias_scale, *errors, shrinkage)

    def _parts(self, place: Place) -> Iterator[NoisePart]:
        """The blocks that are about a layer's parameters, with the largest scales within the error."""
        weights, biases = place.weights.flatten(0, -2), place.biases.flatten()
        own_places = place.every.to(self.loc.device)
        dense: list[Tensor] = []
        for own in self.blocks:
            inside = (own_places >= own.start) & (own_places < own.start + own.size)
            if not inside.any():
                continue
            places = own_places[inside] - own.start
            if isinstance(own, DiagonalBlock):
                yield self._diagonal(_spread(own.scale[places], inside), weights, biases)
            elif isinstance(own, DenseBlock):
                dense.append(_spread(own.factor[places], inside))
            else:
                yield self._kronecker(own, weights)
        if dense:
            yield self._dense(torch.cat(dense, dim=1), weights)

    def _diagonal(
        self, scale: Float64[Tensor, "n"], weights: Int64[Tensor, "m k"], biases: Int64[Tensor, "m"]
    ) -> DiagonalPart:
        largest = torch.where(scale == 0, 0.0, up(up(scale * (1 + 2 * self.error)))) if self.error else scale
        weight, bias = largest.split([weights.numel(), biases.numel()])
        return DiagonalPart(weight.view(weights.shape), bias.view(biases.shape))

    def _dense(self, factor: Float64[Tensor, "n q"], weights: Int64[Tensor, "m k"]) -> NoisePart:
        m, k = weights.shape
        if not factor[: m * k].any():
            return BiasPart((m, k), Covariance.of_factor(factor[m * k :], self.error))
        require_dense(len(factor))
        return DensePart((m, k), Covariance.of_factor(factor, self.error))

    def _kronecker(self, own: Block, weights: Int64[Tensor, "m k"]) -> KroneckerPart:
        first = int(weights[0, 0])
        in_order = torch.equal(weights.flatten(), torch.arange(first, first + weights.numel()))
        if not isinstance(own, KroneckerBlock) or not in_order or own.start != first:
            raise InvalidLaw("a Kronecker block is about the weight matrix of a layer, and nothing else")
        if own.lengths != tuple(weights.shape):
            raise InvalidLaw(f"a Kronecker block of {own.lengths}, a layer of {tuple(weights.shape)} weights")
        scale = up(up(own.scale * (1 + 2 * self.error))) if self.error else own.scale
        shrinkage = 4 * self.error + 2.0**-48 if self.error else 0.0
        return KroneckerPart(own.left, own.right, torch.where(own.scale == 0, 0.0, scale), shrinkage)


def _layers_of(own: Block, places: Sequence[Place]) -> int:
    """The number of layers that a block is about."""
    found = 0
    for place in places:
        each = place.every
        found += bool(((each >= own.start) & (each < own.start + own.size)).any())
    return found


def _combined(scales: Sequence[Tensor], like: Tensor) -> Tensor:
    """√Σ_t S_t², rounded up; 0 where all are 0."""
    found = root_of_squares(scales, like)
    return torch.where(sum(scales, torch.zeros_like(like)) == 0, 0.0, found)


def _spread(rows: Tensor, inside: Tensor) -> Tensor:
    """Rows for some parameters of a layer as rows for all, 0 for the others."""
    every = rows.new_zeros(len(inside), *rows.shape[1:])
    every[inside] = rows
    return every


def _factor(own: Block) -> Float64[Tensor, "n q"]:
    """A block as a factor."""
    if isinstance(own, DiagonalBlock):
        return torch.diag(own.scale)
    if isinstance(own, DenseBlock):
        return own.factor
    if isinstance(own, KroneckerBlock):
        return _kronecker_factor(own)
    raise InvalidLaw(f"a {type(own).__name__} has no factor")


def _kronecker_factor(own: KroneckerBlock) -> Float64[Tensor, "n n"]:
    """The columns of U (D∘Z) Vᵀ; an entry that underflows raises, since a 0 states that there is no noise."""
    factor: Tensor = torch.kron(own.left, own.right) * own.scale.flatten()
    some = torch.kron((own.left != 0).double(), (own.right != 0).double()) * (own.scale.flatten() != 0)
    if ((factor == 0) & (some != 0)).any():
        raise InvalidLaw("a Kronecker block has an entry too small for double precision, but not 0")
    return factor
