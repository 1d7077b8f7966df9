"""The layers under sums of blocks, in balls: by parts, or by one covariance if layers are joined."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

import numpy as np
from flint import arb, arb_mat, ctx

from fedcert_check.balls import Balls, exact, matrix, zeros
from fedcert_check.blocks import DENSE, DIAGONAL, KRONECKER, Block, BlockGaussian
from fedcert_check.image_layers import AvgPool2d, Conv2d
from fedcert_check.layers import Linear, Network
from fedcert_check.masses import Gaussian
from fedcert_check.projected.affine_part import first_random
from fedcert_check.projected.any_layer import Layer
from fedcert_check.projected.convolution import ConvLayer
from fedcert_check.projected.dependent import DependentLayer
from fedcert_check.projected.dependent_convolution import DependentConvLayer
from fedcert_check.projected.kronecker_part import KroneckerPart
from fedcert_check.projected.layers import random_layer
from fedcert_check.projected.parts import BiasPart, DensePart, DiagonalPart, Part
from fedcert_check.projected.stack import Stack, stacked
from fedcert_check.rules import LinearRule
from fedcert_check.validation import Array, require

AnyGaussian = Gaussian | BlockGaussian
"""One Gaussian of a client: with independent parameters, in balls, or a sum of blocks, as stated."""


def block_stack(network: Network, rule: LinearRule, laws: Sequence[AnyGaussian]) -> Stack:
    """The network under N(v + Σ_i w_i μ_i, Σ_i w_i² Cov_i).

    Args:
        network: any; between layers that depend on each other there are no means over windows.
        rule: with one weight a client.
        laws: one for each client.
    """
    require(
        bool((rule.weights == rule.weights[:, :1]).all()),
        "laws whose parameters depend on each other need a rule with one weight a client",
    )
    weighed = list(zip(rule.weights[:, 0].tolist(), laws, strict=True))
    loc = rule.start(network.dimension)
    for weight, law in weighed:
        loc = loc + arb(weight) * (exact(law.loc) if isinstance(law, BlockGaussian) else law.loc)
    ends = np.cumsum([0, *(sum(layer.sizes) for layer in network.linear)])
    used = [(w, law) for w, law in weighed if w != 0]
    if any(_spans(own, ends) for _, law in used for own in _blocks(law)):
        require(
            first_random(network) == 0 and not any(isinstance(layer, AvgPool2d) for layer in network.layers),
            "parameters of several layers that depend on each other: these must be affine layers and ReLUs, "
            "without means over windows",
        )
        joined = iter(_joined_layers(network, loc, used, ends))
        return stacked(network, lambda layer, start: next(joined))

    def build(layer: Linear | Conv2d, start: int) -> Layer:
        weights, biases = layer.sizes
        M, m = loc[start : start + weights].reshape(biases, -1), loc[start + weights :][:biases]
        parts = list(_parts(layer, start, used))
        diagonal = [part for part in parts if isinstance(part, DiagonalPart)]
        if len(diagonal) == len(parts):
            variances = _summed(diagonal, M, m)
            if isinstance(layer, Conv2d):
                return ConvLayer(layer, M, m, *variances)
            return random_layer(M, m, *variances)
        return _dependent(layer, M, m, parts)

    return stacked(network, build)


def _blocks(law: AnyGaussian) -> list[Block]:
    """The blocks of a law that have noise."""
    return [own for own in law.blocks if own.random] if isinstance(law, BlockGaussian) else []


def _spans(own: Block, ends: Array) -> bool:
    """Whether a dense block is about several layers."""
    within = (ends[:-1] <= own.start) & (own.stop <= ends[1:])
    return own.code == DENSE and not bool(within.any())


def _dependent(
    layer: Linear | Conv2d, M: Balls, m: Balls, parts: Sequence[Part], joint: arb_mat | None = None
) -> Layer:
    if isinstance(layer, Conv2d):
        return DependentConvLayer.of_parts(layer, M, m, parts, joint)
    return DependentLayer(matrix(M), m, tuple(parts), joint)


def _summed(diagonal: Sequence[DiagonalPart], M: Balls, m: Balls) -> tuple[Balls, Balls]:
    """The variances of weights and biases, added up."""
    S2 = np.asarray(sum((part.weight_variances for part in diagonal), zeros(*M.shape)), dtype=object)
    return S2, np.asarray(sum((part.bias_variances for part in diagonal), zeros(len(m))), dtype=object)


def _parts(
    layer: Linear | Conv2d, start: int, weighed: Sequence[tuple[float, AnyGaussian]]
) -> Iterator[Part]:
    """The parts of one layer's noise; dense blocks are added up."""
    weights, m = layer.sizes
    k = weights // m
    stop = start + m * k + m
    biases, every = zeros(m, m), zeros(0, 0)
    some_biases = False
    for weight, law in weighed:
        if not isinstance(law, BlockGaussian):
            variances = (arb(weight) * law.scale[start:stop]) ** 2
            if not all(v == 0 for v in variances):
                yield DiagonalPart(variances[: m * k].reshape(m, k), variances[m * k :])
            continue
        for own in _blocks(law):
            low, high = max(start, own.start), min(stop, own.stop)
            if low >= high:
                continue
            if own.code == KRONECKER:
                require(
                    own.start == start and (own.first, own.second) == (m, k),
                    "a Kronecker block is not about the weight matrix of a layer",
                )
                left, right, scale = own.kronecker
                square = (exact(scale) * arb(weight)) ** 2
                yield KroneckerPart(matrix(exact(left)), matrix(exact(right)), matrix(square))
                continue
            rows = own.matrix[low - own.start : high - own.start]
            if own.code == DIAGONAL:
                variances = zeros(stop - start)
                variances[low - start : high - start] = (exact(rows[:, 0]) * arb(weight)) ** 2
                yield DiagonalPart(variances[: m * k].reshape(m, k), variances[m * k :])
            elif low >= start + m * k:
                biases, some_biases = biases + _embedded(rows, weight, low - start - m * k, m), True
            else:
                own_part = _embedded(rows, weight, low - start, stop - start)
                every = own_part if every.size == 0 else every + own_part
    if some_biases:
        yield BiasPart(k, biases)
    if every.size:
        yield DensePart(m, every)


def _embedded(rows: Array, weight: float, place: int, size: int) -> Balls:
    """w² F Fᵀ among `size` parameters, from this place on."""
    whole = zeros(size, size)
    scaled = matrix(exact(rows) * arb(weight))
    entries = np.empty(len(rows) ** 2, dtype=object)
    entries[:] = (scaled * scaled.transpose()).entries()
    whole[place : place + len(rows), place : place + len(rows)] = entries.reshape(len(rows), len(rows))
    return whole


def _joined_layers(
    network: Network, loc: Balls, weighed: Sequence[tuple[float, AnyGaussian]], ends: Array
) -> list[Layer]:
    """The layers under one covariance of all parameters."""
    covariance = _covariance(Recipe.of(weighed, network.dimension))
    joint = covariance if any(_crosses(own, ends) for _, law in weighed for own in _blocks(law)) else None
    entries = np.empty(covariance.nrows() * covariance.ncols(), dtype=object)
    entries[:] = covariance.entries()
    whole = entries.reshape(covariance.nrows(), covariance.ncols())
    found: list[Layer] = []
    for layer, start, stop in zip(network.linear, ends[:-1], ends[1:], strict=True):
        weights, biases = layer.sizes
        M, m = loc[start : start + weights].reshape(biases, -1), loc[start + weights : stop]
        part = DensePart(biases, whole[start:stop, start:stop])
        found.append(_dependent(layer, M, m, [part], joint))
    return found


def _crosses(own: Block, ends: Array) -> bool:
    """Whether some normal of a block has a part in the parameters of several layers."""
    if own.code == DIAGONAL:
        return False
    seen = _normals(own)
    whole = np.zeros((ends[-1], seen.shape[1]), dtype=bool)
    whole[own.start : own.stop] = seen
    used = np.stack([part.any(0) for part in np.split(whole, ends[1:-1])])
    return bool((used.sum(0) > 1).any())


def _normals(own: Block) -> Array:
    """Which of its normals each parameter of a block is made of; nothing says that a block is one layer's."""
    if own.code == KRONECKER:
        left, right, scale = own.kronecker
        return np.kron(left != 0, right != 0) & (scale.ravel() != 0)
    return np.asarray(own.matrix != 0)


@dataclass(frozen=True)
class Recipe:
    """What a covariance is computed from; recipes of one digest and precision are equal.

    Attributes:
        digest: of weights and laws.
        bits: the precision.
        dimension: n_w.
        weighed: weights and laws of the clients.
    """

    digest: str
    bits: int
    dimension: int
    weighed: Sequence[tuple[float, AnyGaussian]] = field(compare=False)

    @classmethod
    def of(cls, weighed: Sequence[tuple[float, AnyGaussian]], dimension: int) -> "Recipe":
        """The recipe of Σ_i w_i² Cov_i."""
        content = sha256()
        for weight, law in weighed:
            content.update(f"{weight!r} ".encode())
            for own in _blocks(law):
                content.update(f"block {own[:4]} ".encode() + own.numbers.tobytes())
            if not isinstance(law, BlockGaussian):
                ends = [(v.mid().man_exp(), v.rad().man_exp()) for v in law.scale]
                content.update(f"diagonal {ends}".encode())
        return cls(content.hexdigest(), ctx.prec, dimension, weighed)


@lru_cache(maxsize=4)
def _covariance(recipe: Recipe) -> arb_mat:
    """Σ_i w_i² Cov_i."""
    n = recipe.dimension
    total = arb_mat(n, n)
    for weight, law in recipe.weighed:
        if not isinstance(law, BlockGaussian):
            for d, scale in enumerate(law.scale):
                total[d, d] = total[d, d] + (arb(weight) * scale) ** 2
        for own in _blocks(law):
            whole = zeros(n, _factor(own).shape[1])
            whole[own.start : own.stop] = _factor(own) * arb(weight)
            scaled = matrix(whole)
            total = total + scaled * scaled.transpose()
    return total


def _factor(own: Block) -> Balls:
    """A block as a factor, in balls."""
    if own.code == DENSE:
        return exact(own.matrix)
    if own.code == DIAGONAL:
        factor = zeros(own.size, own.size)
        factor[range(own.size), range(own.size)] = exact(own.matrix[:, 0])
        return factor
    left, right, scale = (exact(part) for part in own.kronecker)
    whole = left[:, None, :, None] * right[None, :, None, :] * scale[None, None]
    return whole.reshape(own.size, own.size)
