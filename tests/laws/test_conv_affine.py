"""A convolution under independent normals, against the same law of the matrix of all its neurons."""

import math
from fractions import Fraction

import pytest
import torch
from flint import arb
from fuzz.balls import EXACT, balls, dot, norm, precision
from problems import normal, uniform
from torch import Tensor

from fedcert.laws import DenseGaussian, DiagonalGaussian
from fedcert.laws.affine import MovedInputs, RandomAffine, RowNoise
from fedcert.laws.conv_affine import ConvAffine
from fedcert.model.layers import AvgPool2d, Conv2d
from fedcert.model.network import Network, mlp
from fedcert.randomness import stream

SAMPLES = 20_000
LAYERS = {
    "plain": Conv2d((1, 3, 3), 2, (2, 2)),
    "strided": Conv2d((2, 3, 4), 2, (2, 3), (2, 1), (1, 0)),
    "grouped": Conv2d((2, 2, 3), 4, (1, 2), groups=2),
    "dilated": Conv2d((1, 3, 4), 1, (2, 2), padding=(0, 1), dilation=(2, 2)),
}


def law_of(layer: Conv2d, seed: int = 0) -> DiagonalGaussian:
    generator, count = stream(seed, "conv law"), Network((layer,)).parameters
    return DiagonalGaussian(normal(generator, count), 0.1 + uniform(generator, count))


def conv(layer: Conv2d) -> ConvAffine:
    (own,) = law_of(layer).layers(Network((layer,)))
    assert isinstance(own, ConvAffine)
    return own


def unrolled(layer: Conv2d, theta: Tensor) -> Tensor:
    """The entries of the matrix, row by row, and the offsets of all neurons."""
    matrix, offset = layer.unrolled(Network((layer,)).unflatten(theta)[0])
    return torch.cat([matrix.flatten(-2), offset], -1)


def dense(layer: Conv2d) -> RandomAffine:
    """The layer as a fully connected one whose weights are equal or 0 where those of the matrix are."""
    law = law_of(layer)
    factor = unrolled(layer, torch.diag(law.scale)).mT
    (own,) = DenseGaussian(unrolled(layer, law.loc), factor).layers(mlp(layer.inputs, _outputs(layer)))
    return own


def _outputs(layer: Conv2d) -> int:
    return math.prod(layer.output_shape(()))


@pytest.mark.parametrize("name", LAYERS)
def test_it_is_the_dense_law_of_all_neurons(name: str) -> None:
    layer = LAYERS[name]
    own, other = conv(layer), dense(layer)
    assert isinstance(own, RandomAffine)
    assert (own.inputs, own.outputs) == (other.inputs, other.outputs)
    rows = normal(stream(1, name), 2, 5, own.outputs)
    h, x = uniform(stream(2, name), 2, own.inputs), normal(stream(3, name), 2, own.inputs)
    for mine, theirs in zip(
        own.product(rows) + own.offset(rows), other.product(rows) + other.offset(rows), strict=True
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)
    noise, expected = own.noise(rows), other.noise(rows)
    assert isinstance(noise, RowNoise)
    for mine, theirs in (
        (noise.weight, expected.weight),
        (noise.bias, expected.bias),
        (noise.at(x), expected.at(x)),
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(own.at(x).mean, other.at(x).mean)
    torch.testing.assert_close(own.at(x).deviation, other.at(x).deviation, rtol=1e-6, atol=1e-9)
    assert (own.ceiling(h) >= other.at(h).mean.abs() + 30 * other.at(h).deviation).all()
    assert (
        noise.steepest(h) >= expected.at(h).square().sub(expected.bias.square()).clamp(min=0).sqrt() - 1e-6
    ).all()


@pytest.mark.parametrize("name", LAYERS)
def test_a_deviation_is_that_of_exact_arithmetic_from_above(name: str) -> None:
    layer, law = LAYERS[name], law_of(LAYERS[name])
    rows, h = normal(stream(1, name), 1, 3, _outputs(layer)), normal(stream(2, name), 1, layer.inputs)
    found = conv(layer).noise(rows).at(h)[0].tolist()
    columns = [unrolled(layer, unit) for unit in torch.eye(law.dimension, dtype=torch.float64)]
    with precision(EXACT):
        x, scales = balls(h[0]), balls(law.scale)
        for row, deviation in zip(balls(rows[0]), found, strict=True):
            parts = []
            for column, scale in zip(columns, scales, strict=True):
                m, k = len(row), len(x)
                W, b = balls(column[: m * k].view(m, k)), balls(column[m * k :])
                parts.append(scale * dot(row, [dot(w, x) + c for w, c in zip(W, b, strict=True)]))
            assert norm(*parts) <= arb(deviation)
            assert arb(deviation) <= norm(*parts) * (1 + arb(2) ** -35) + arb(2) ** -400


@pytest.mark.parametrize("u", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", LAYERS)
def test_noise_exceeds_its_bounds_no_more_often_than_stated(name: str, u: float) -> None:
    layer = LAYERS[name]
    own, law = conv(layer), law_of(layer)
    rows, delta = normal(stream(1, name), 1, 4, own.outputs), uniform(stream(2, name), 1, own.inputs)
    theta = law.sample(SAMPLES, stream(3, name)) - law.loc
    W = unrolled(layer, theta)[:, : own.outputs * own.inputs].view(-1, own.outputs, own.inputs)
    width, chance = torch.full((1,), u, dtype=torch.float64), 0.5 * math.erfc(u / 2**0.5) + 4 / SAMPLES**0.5
    values = (rows[0] @ W).abs() @ delta[0]
    noise = own.noise(rows)
    assert ((values > noise.over(delta, width)).double().mean(0) <= chance).all()
    moved = MovedInputs(delta, delta, own, delta)
    assert torch.equal(noise.over_moved(moved, width), noise.over(delta, width))
    mean = unrolled(layer, law.loc)[: own.outputs * own.inputs].view(own.outputs, own.inputs)
    drifts = (rows[0] @ (mean + W)).abs() @ delta[0]
    assert ((drifts > own.movement(rows, delta, width)).double().mean(0) <= chance).all()
    spread = (rows[0].square() @ (mean + W).square()).sqrt() @ delta[0]
    assert ((spread > own.spread_inputs(rows.abs(), delta, width)).double().mean(0) <= chance).all()


def test_a_bound_that_ignores_that_a_kernel_is_shared_is_wrong() -> None:
    """One weight at four positions: B·(W̃ h) is four times as wide, not twice."""
    layer = Conv2d((1, 2, 2), 1, (1, 1))
    (own,) = DiagonalGaussian(torch.zeros(2).double(), torch.ones(2).double()).layers(Network((layer,)))
    ones = torch.ones(1, 1, 4).double()
    assert own.noise(ones).at(ones[0]).item() >= math.sqrt(4.0**2 + 4.0**2)
    assert own.noise(ones).over(ones[0], torch.full((1,), 2.0).double()).item() >= 4 * (
        math.sqrt(2 / math.pi) + 2
    )


@pytest.mark.parametrize("name", LAYERS)
def test_deviations_within_a_box_bound_those_at_all_its_points(name: str) -> None:
    own = conv(LAYERS[name])
    noise = own.noise(normal(stream(1, name), 2, 5, own.outputs))
    low = uniform(stream(2, name), 2, own.inputs)
    high = low + uniform(stream(3, name), 2, own.inputs)
    bound = noise.within(low, high)
    for seed in range(40):
        share = uniform(stream(seed, "in"), 2, own.inputs)
        share = share.round() if seed % 2 else share
        assert (noise.at(low + share * (high - low)) <= bound).all()


def test_a_mean_pool_is_a_convolution_that_is_known() -> None:
    pool = AvgPool2d((2, 3, 4), (2, 3), (1, 2), (1, 0))
    own = ConvAffine.mean_pool(pool)
    x = normal(stream(0, "pool"), 5, pool.inputs)
    found = own.at(x)
    assert own.fixed
    assert (found.deviation == 0).all()
    for mine, theirs in zip(found.mean.flatten().tolist(), pool([], x).flatten().tolist(), strict=True):
        assert math.isclose(mine, theirs, rel_tol=1e-13, abs_tol=1e-13)
    matrix = (pool.windows.gather(torch.eye(pool.inputs).double()).sum(-1) / 6).flatten(1).mT
    for row, entries in zip(torch.eye(own.outputs).double(), matrix, strict=True):
        product, error = own.product(row)
        for value, slack, entry in zip(product.tolist(), error.tolist(), entries.tolist(), strict=True):
            exact = Fraction(1, 6) if entry else Fraction(0)
            assert abs(Fraction(value) - exact) <= Fraction(slack) < Fraction(1, 10**10)


@pytest.mark.parametrize("name", LAYERS)
def test_one_position_is_a_layer_of_independent_weights(name: str) -> None:
    layer = LAYERS[name]
    spans = [d * (k - 1) + 1 for d, k in zip(layer.dilation, layer.kernel, strict=True)]
    own = conv(layer).on((layer.image[0], spans[0], spans[1]))
    alone = own.at_one_position()
    assert own.places == 1
    rows, h = normal(stream(1, name), 2, 5, own.outputs), normal(stream(2, name), 2, own.inputs)
    torch.testing.assert_close(alone.noise(rows).at(h), own.noise(rows).at(h))
    torch.testing.assert_close(alone.product(rows)[0], own.product(rows)[0])
    torch.testing.assert_close(alone.at(h).mean, own.at(h).mean)
