from dataclasses import dataclass
from fractions import Fraction

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import exact
from problems import normal, uniform
from torch import Tensor

from fedcert.errors import UnsupportedLayer
from fedcert.families.projected.layers import random_layers
from fedcert.laws import DiagonalGaussian
from fedcert.laws.affine import FAR_NORMALS, MAX_NORMAL
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.model.layers import Linear, ReLU, registry
from fedcert.model.network import Network, mlp
from fedcert.randomness import stream

SPECIFICATIONS = st.fixed_dictionaries({
    "seed": st.integers(0, 2**32),
    "inputs": st.integers(1, 4),
    "outputs": st.integers(1, 5),
    "size": st.sampled_from([1e-100, 1e-3, 1.0, 1e30]),
    "scale": st.sampled_from([1e-98, 1e-5, 1.0, 1e30, 1e99]),
    "error": st.sampled_from([0.0, 1e-12, 0.05]),
})
ROW_SIZES = st.sampled_from([0.0, 1e-310, 1e-170, 1e-100, 1e-8, 1.0, 1e30])


def one_layer(seed, inputs, outputs, size, scale, error) -> tuple[DiagonalGaussian, DiagonalAffine]:
    generator = stream(seed, "layers")
    count = outputs * (inputs + 1)
    law = DiagonalGaussian(
        size * normal(generator, count),
        scale * (0.1 + uniform(generator, count)),
        error * size * uniform(generator, count) if error else None,
        error,
    )
    return law, random_layers(mlp(inputs, outputs), law)[0]


def rationals(x: Tensor) -> list:
    return [rationals(row) for row in x] if x.dim() else exact(x)


def extremes(mean: Tensor, error: Tensor) -> list[list]:
    """The exact means that are farthest from the given ones, in rational arithmetic."""
    return [shifted(mean, error, sign) for sign in (-1, 0, 1)]


def shifted(mean: Tensor, error: Tensor, sign: int) -> list:
    if mean.dim():
        return [shifted(m, e, sign) for m, e in zip(mean, error, strict=True)]
    return exact(mean) + sign * exact(error)


def product(row: list[Fraction], matrix: list[list[Fraction]]) -> list[Fraction]:
    return [sum(b * w for b, w in zip(row, column, strict=True)) for column in zip(*matrix, strict=True)]


@settings(max_examples=60)
@given(SPECIFICATIONS, ROW_SIZES)
def test_products_enclose_those_of_every_law_within_the_error(specification: dict, size: float) -> None:
    _, layer = one_layer(**specification)
    rows = size * normal(stream(specification["seed"], "rows"), 3, layer.outputs)
    (values, errors), (offsets, offset_errors) = layer.product(rows), layer.offset(rows)
    weights, biases = extremes(layer.weight, layer.weight_error), extremes(layer.bias, layer.bias_error)
    for r, row in enumerate(rationals(rows)):
        for weight, bias in zip(weights, biases, strict=True):
            for k, truth in enumerate(product(row, weight)):
                assert abs(exact(values[r, k]) - truth) <= exact(errors[r, k])
            truth = sum(b * m for b, m in zip(row, bias, strict=True))
            assert abs(exact(offsets[r]) - truth) <= exact(offset_errors[r])


def test_products_of_an_exact_law_are_charged_little() -> None:
    _, layer = one_layer(0, 4, 5, 1.0, 1.0, 0.0)
    rows = normal(stream(0, "rows"), 3, 5)
    for _, error in (layer.product(rows), layer.offset(rows)):
        assert error.max() < 1e-13


@settings(max_examples=60)
@given(SPECIFICATIONS, ROW_SIZES)
@example({"seed": 0, "inputs": 2, "outputs": 2, "size": 1.0, "scale": 1e99, "error": 0.0}, 1e-170)
def test_deviations_exceed_the_exact_ones_by_no_more_than_the_looseness(specification, size) -> None:
    """Squares are compared, so that everything is rational; scales shrink as far as the law allows."""
    _, layer = one_layer(**specification)
    rows = size * normal(stream(specification["seed"], "rows"), 3, layer.outputs)
    noise = layer.noise(rows)
    weight, bias = noise.weight, noise.bias
    shrunk = 1 - exact(layer.shrinkage)
    squares = [[b * b for b in row] for row in rationals(rows)]
    scales = [[s * s for s in row] for row in rationals(layer.weight_scale)]
    bias_scales = [s * s for s in rationals(layer.bias_scale)]
    for r, square in enumerate(squares):
        found = [*weight[r], bias[r]]
        truths = [*product(square, scales), sum(b * s for b, s in zip(square, bias_scales, strict=True))]
        for deviation, truth in zip(found, truths, strict=True):
            assert truth <= exact(deviation) ** 2
            least = exact(deviation) - exact(layer.looseness(deviation))
            assert least <= 0 or least**2 <= truth * shrunk**2


@settings(max_examples=60)
@given(SPECIFICATIONS)
def test_layers_allow_for_the_errors_of_their_law(specification: dict) -> None:
    law, layer = one_layer(**specification)
    error, shrunk = exact(law.scale_error), 1 - exact(layer.shrinkage)
    scale = torch.cat([layer.weight_scale.flatten(), layer.bias_scale])
    for given_scale, found in zip(law.scale, scale, strict=True):
        assert exact(given_scale) * (1 + error) <= exact(found)
        assert exact(found) * shrunk <= exact(given_scale) * (1 - error)
    loc_error = torch.zeros_like(law.loc) if law.loc_error is None else law.loc_error
    assert torch.equal(torch.cat([layer.weight.flatten(), layer.bias]), law.loc)
    assert torch.equal(torch.cat([layer.weight_error.flatten(), layer.bias_error]), loc_error)


def test_an_exact_law_is_taken_as_it_is() -> None:
    law, layer = one_layer(1, 3, 2, 1.0, 0.1, 0.0)
    assert layer.shrinkage == 0.0
    assert torch.equal(torch.cat([layer.weight_scale.flatten(), layer.bias_scale]), law.scale)


@settings(max_examples=40)
@given(SPECIFICATIONS)
def test_the_ceiling_is_above_every_pre_activation_of_ordinary_normals(specification: dict) -> None:
    """The worst signs of all normals, at the farthest, for activations at their bounds."""
    _, layer = one_layer(**specification)
    h = 3 * uniform(stream(specification["seed"], "ceiling"), 2, specification["inputs"])
    ceiling = layer.ceiling(h)
    farthest = exact(MAX_NORMAL)
    bias = zip(layer.bias, layer.bias_error, layer.bias_scale, strict=True)
    for j, (m, m_error, s) in enumerate(bias):
        row = zip(layer.weight[j], layer.weight_error[j], layer.weight_scale[j], strict=True)
        weights = [abs(exact(w)) + exact(e) + farthest * exact(t) for w, e, t in row]
        for p in range(2):
            truth = sum((w * exact(a) for w, a in zip(weights, h[p], strict=True)), Fraction(0))
            truth += abs(exact(m)) + exact(m_error) + farthest * exact(s)
            assert truth <= exact(ceiling[p, j])


def test_normals_beyond_the_farthest_are_as_improbable_as_stated() -> None:
    """Q(z) ≤ e^(−z²/2) / 2, even for 2^100 weights."""
    assert -(MAX_NORMAL**2) / 2 + 100 * 0.6932 < -1000 * 0.6931
    assert FAR_NORMALS > 0


def test_layers_come_in_the_order_of_the_network() -> None:
    network = mlp(2, 3, 4, 1)
    generator = stream(0, "order")
    law = DiagonalGaussian(
        normal(generator, network.parameters), 0.1 + uniform(generator, network.parameters)
    )
    layers = random_layers(network, law)
    assert [layer.outputs for layer in layers] == [3, 4, 1]
    x = normal(generator, 5, 2)
    h = x
    for layer in layers[:-1]:
        h = (h @ layer.weight.mT + layer.bias).clamp(min=0.0)
    assert torch.allclose(h @ layers[-1].weight.mT + layers[-1].bias, network(law.loc, x))


@dataclass(frozen=True)
class Squared(ReLU):
    """A subclass may compute anything."""

    name = "squared"
    modules = ()


@pytest.mark.parametrize(
    "layers",
    [
        (Linear(2, 2), ReLU()),
        (Linear(2, 2), ReLU(), ReLU(), Linear(2, 2)),
        (Linear(2, 2), Squared(), Linear(2, 2)),
    ],
)
def test_other_layers_are_refused(layers: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._BY_NAME, Squared.name, Squared)
    network = Network(layers)
    law = DiagonalGaussian(*(torch.ones(network.parameters, dtype=torch.float64) for _ in range(2)))
    with pytest.raises(UnsupportedLayer, match="projected events"):
        random_layers(network, law)
