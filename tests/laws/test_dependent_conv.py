"""A convolution with a dependent kernel, against the dense law of the matrix of all its neurons."""

import math

import pytest
import torch
from flint import arb
from fuzz.balls import EXACT, balls, dot, norm, precision
from problems import normal, uniform
from torch import Tensor

from fedcert.errors import UnsupportedLayer
from fedcert.laws import BlockGaussian, DenseGaussian
from fedcert.laws.affine import JoinedAffine, RandomAffine, RowNoise
from fedcert.laws.block_protocol import Block
from fedcert.laws.blocks import DenseBlock, DiagonalBlock, KroneckerBlock
from fedcert.laws.dependent_conv import DependentConvAffine
from fedcert.model.layers import AvgPool2d, Conv2d, Linear
from fedcert.model.network import Network, mlp
from fedcert.randomness import stream

SAMPLES = 20_000
LAYERS = {
    "plain": Conv2d((1, 3, 3), 2, (2, 2)),
    "strided": Conv2d((2, 3, 4), 2, (2, 3), (2, 1), (1, 0)),
    "grouped": Conv2d((2, 2, 3), 4, (1, 2), groups=2),
    "dilated": Conv2d((1, 3, 4), 1, (2, 2), padding=(0, 1), dilation=(2, 2)),
    "overlapping": Conv2d((1, 3, 3), 3, (3, 3), padding=(1, 1)),
}
KINDS = ("kronecker", "dense", "biases", "all")


def law_of(layer: Conv2d, kind: str) -> BlockGaussian:
    generator = stream(0, f"dependent conv {kind}")
    filters, entries = layer.filters, math.prod(layer.shapes[0][1:])
    weights, count = filters * entries, filters * entries + filters
    kronecker = KroneckerBlock(
        0,
        normal(generator, filters, filters),
        normal(generator, entries, entries),
        0.1 + uniform(generator, filters, entries),
    )
    blocks: dict[str, list[Block]] = {
        "kronecker": [kronecker, DenseBlock(weights, normal(generator, filters, 2))],
        "dense": [DenseBlock(0, normal(generator, count, 3))],
        "biases": [
            DiagonalBlock(0, uniform(generator, weights)), DenseBlock(weights, normal(generator, filters, 2))
        ],
    }  # fmt: skip
    chosen = [own for some in blocks.values() for own in some] if kind == "all" else blocks[kind]
    return BlockGaussian(normal(generator, count), tuple(chosen))


def factor(law: BlockGaussian) -> Tensor:
    """The columns that the blocks' normals are multiplied by."""
    columns = []
    for own in law.blocks:
        unit = torch.eye(own.columns, dtype=torch.float64)
        columns.append(
            torch.nn.functional.pad(own.noise(unit), (own.start, law.dimension - own.start - own.size))
        )
    return torch.cat(columns)


def conv(layer: Conv2d, kind: str) -> DependentConvAffine:
    (own,) = law_of(layer, kind).layers(Network((layer,)))
    assert isinstance(own, DependentConvAffine)
    return own


def unrolled(layer: Conv2d, theta: Tensor) -> Tensor:
    """The entries of the matrix, row by row, and the offsets of all neurons."""
    matrix, offset = layer.unrolled(Network((layer,)).unflatten(theta)[0])
    return torch.cat([matrix.flatten(-2), offset], -1)


def dense(layer: Conv2d, law: BlockGaussian) -> RandomAffine:
    """The layer as a fully connected one whose weights are equal or 0 where those of the matrix are."""
    outputs = math.prod(layer.output_shape(()))
    stated = DenseGaussian(unrolled(layer, law.loc), unrolled(layer, factor(law)).mT)
    (own,) = stated.layers(mlp(layer.inputs, outputs))
    return own


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_it_is_the_dense_law_of_all_neurons(name: str, kind: str) -> None:
    layer = LAYERS[name]
    own, other = conv(layer, kind), dense(layer, law_of(layer, kind))
    assert isinstance(own, RandomAffine)
    rows = normal(stream(1, name), 2, 5, own.outputs)
    h, x = uniform(stream(2, name), 2, own.inputs), normal(stream(3, name), 2, own.inputs)
    noise, expected = own.noise(rows), other.noise(rows)
    assert isinstance(noise, RowNoise)
    for mine, theirs in (
        (noise.weight, expected.weight),
        (noise.bias, expected.bias),
        (noise.at(x), expected.at(x)),
    ):
        torch.testing.assert_close(mine, theirs, rtol=2e-6, atol=1e-6)
    torch.testing.assert_close(own.at(x).mean, other.at(x).mean)
    assert (own.at(x).deviation >= other.at(x).deviation * (1 - 1e-6)).all()
    assert (own.ceiling(h) >= other.at(h).mean.abs() + 30 * other.at(h).deviation).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_deviations_are_those_of_exact_arithmetic_from_above(name: str, kind: str) -> None:
    layer, law = LAYERS[name], law_of(LAYERS[name], kind)
    own = conv(layer, kind)
    rows, h = normal(stream(1, name), 1, 3, own.outputs), normal(stream(2, name), 1, layer.inputs)
    noise, delta = own.noise(rows), h.abs()
    columns = [unrolled(layer, column) for column in factor(law)]
    pixels = torch.eye(layer.inputs, dtype=torch.float64)
    corners = [delta[0] * normal(stream(seed, name), layer.inputs).sign() for seed in range(8)]
    with precision(EXACT):
        split = [
            (balls(own[: rows.shape[-1] * len(h[0])].view(-1, len(h[0]))), balls(own[-rows.shape[-1] :]))
            for own in columns
        ]

        def deviation(row: list[arb], x: Tensor, constant: bool) -> arb:
            v = balls(x)
            return norm(*[
                dot(row, [dot(w, v) + (c if constant else arb(0)) for w, c in zip(W, b, strict=True)])
                for W, b in split
            ])  # fmt: skip

        for j, row in enumerate(balls(rows[0])):
            assert deviation(row, h[0], True) <= arb(noise.at(h)[0, j].item())
            assert deviation(row, 0 * h[0], True) <= arb(noise.bias[0, j].item())
            for pixel, found in zip(pixels, noise.weight[0, j].tolist(), strict=True):
                assert deviation(row, pixel, False) <= arb(found)
            for corner in corners:
                assert deviation(row, corner, False) <= arb(noise.steepest(delta)[0, j].item())


@pytest.mark.parametrize("u", [0.5, 2.0])
@pytest.mark.parametrize("name", LAYERS)
def test_noise_exceeds_its_bounds_no_more_often_than_stated(name: str, u: float) -> None:
    layer, law = LAYERS[name], law_of(LAYERS[name], "all")
    own = conv(layer, "all")
    rows, delta = normal(stream(1, name), 1, 4, own.outputs), uniform(stream(2, name), 1, own.inputs)
    theta = law.sample(SAMPLES, stream(3, name)) - law.loc
    W = unrolled(layer, theta)[:, : own.outputs * own.inputs].view(-1, own.outputs, own.inputs)
    width, chance = torch.full((1,), u, dtype=torch.float64), 0.5 * math.erfc(u / 2**0.5) + 4 / SAMPLES**0.5
    values = (rows[0] @ W).abs() @ delta[0]
    assert ((values > own.noise(rows).over(delta, width)).double().mean(0) <= chance).all()
    mean = unrolled(layer, law.loc)[: own.outputs * own.inputs].view(own.outputs, own.inputs)
    drifts = (rows[0] @ (mean + W)).abs() @ delta[0]
    assert ((drifts > own.movement(rows, delta, width)).double().mean(0) <= chance).all()
    spread = (rows[0].square() @ (mean + W).square()).sqrt() @ delta[0]
    assert ((spread > own.spread_inputs(rows.abs(), delta, width)).double().mean(0) <= chance).all()


@pytest.mark.parametrize("kind", ["kronecker", "all"])
@pytest.mark.parametrize("name", LAYERS)
def test_deviations_within_a_box_bound_those_at_all_its_points(name: str, kind: str) -> None:
    own = conv(LAYERS[name], kind)
    noise = own.noise(normal(stream(1, name), 2, 5, own.outputs))
    low = uniform(stream(2, name), 2, own.inputs)
    high = low + uniform(stream(3, name), 2, own.inputs)
    bound = noise.within(low, high)
    for seed in range(20):
        share = uniform(stream(seed, "in"), 2, own.inputs)
        share = share.round() if seed % 2 else share
        assert (noise.at(low + share * (high - low)) <= bound).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_one_position_is_the_same_layer(name: str, kind: str) -> None:
    layer = LAYERS[name]
    spans = [d * (k - 1) + 1 for d, k in zip(layer.dilation, layer.kernel, strict=True)]
    own = conv(layer, kind).on((layer.image[0], spans[0], spans[1]))
    alone = own.at_one_position()
    assert own.places == 1
    assert (alone is own) == (kind in ("dense", "all") or (layer.groups > 1 and kind == "kronecker"))
    rows, h = normal(stream(1, name), 2, 5, own.outputs), normal(stream(2, name), 2, own.inputs)
    for mine, theirs in (
        (alone.noise(rows).at(h), own.noise(rows).at(h)),
        (alone.noise(rows).weight, own.noise(rows).weight),
        (alone.product(rows)[0], own.product(rows)[0]),
        (alone.at(h).mean, own.at(h).mean),
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-7)


def test_layers_that_are_joined_have_the_coefficients_of_one_projection() -> None:
    network = Network((Conv2d((1, 3, 3), 2, (2, 2)), Linear(8, 2)))
    generator = stream(0, "joined")
    law = DenseGaussian(normal(generator, network.parameters), normal(generator, network.parameters, 4))
    layers = law.layers(network)
    rows = [normal(generator, 1, 3, 8), normal(generator, 1, 3, 2)]
    inputs = [normal(generator, 1, 9), normal(generator, 1, 8)]
    parts = []
    for layer, B, h in zip(layers, rows, inputs, strict=True):
        assert isinstance(layer, JoinedAffine)
        parts.append(layer.coefficients(B, h)[0][0])
    theta = law.sample(1, generator)[0]
    seen = torch.zeros(3).double()
    for layer, own, B, h in zip(network.layers, network.unflatten(theta), rows, inputs, strict=True):
        seen = seen + (layer(own, h) * B[0]).sum(-1)
    torch.testing.assert_close(torch.cat(parts, -1) @ theta, seen)
    pooled = Network((Conv2d((1, 3, 3), 1, (2, 2)), AvgPool2d((1, 2, 2), (2, 2), (2, 2)), Linear(1, 2)))
    joined = DenseGaussian(torch.zeros(pooled.parameters).double(), torch.ones(pooled.parameters, 1).double())
    with pytest.raises(UnsupportedLayer, match="means over windows"):
        joined.layers(pooled)


def test_what_underflows_in_the_norms_of_factors_is_not_lost() -> None:
    """U = V = 1e-82 and D = 1e82: ‖U‖² ‖V‖² underflows, and the deviation is 1e-82."""
    one, layer = torch.ones(1, 1, dtype=torch.float64), Conv2d((1, 1, 2), 1, (1, 1))
    law = BlockGaussian(torch.zeros(2).double(), (KroneckerBlock(0, 1e-82 * one, 1e-82 * one, 1e82 * one),))
    (own,) = law.layers(Network((layer,)))
    moved = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    rows = torch.tensor([[[1.0, 0.0]]], dtype=torch.float64)
    assert 1e-82 <= own.noise(rows).steepest(moved).item() <= 2e-82
