"""Lower bounds of the deviations of later layers, against sampled and against fixed networks."""

from dataclasses import replace

import pytest
import torch
from problems import normal, uniform, vector
from torch import Tensor

from fedcert.certificate import clopper_pearson
from fedcert.families.projected.bound import analysis
from fedcert.families.projected.centre import Known, LinearForm, linear_form
from fedcert.families.projected.later import lowest_deviations
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.split import uniform_split
from fedcert.laws import DiagonalGaussian
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream

SAMPLES = 4_000
WIDTHS = [(2, 6, 5, 3), (3, 5, 4, 6, 2)]


def known_of(widths: tuple[int, ...], scale: float) -> tuple[list[DiagonalAffine], Tensor, Known, Tensor]:
    """Layers, one constraint, what is known of the hidden layers, and the centre."""
    generator, network = stream(len(widths), "later"), mlp(*widths)
    loc = 0.7 * normal(generator, network.parameters)
    law = DiagonalGaussian(loc, scale * (0.1 + uniform(generator, len(loc))))
    layers, x = list(random_layers(network, law)), normal(generator, 1, widths[0])
    C = normal(generator, 1, 1, widths[-1])
    properties = Properties(Box.around(x, 0.01 * torch.ones_like(x)), C, C[..., 0])
    found = analysis(layers, properties, uniform_split(layers, properties, (1e-6, 1e-9, 1e-9)))[1]
    assert found is not None
    return layers, C, found[0], x


def deviations(form: LinearForm, layers: list[DiagonalAffine], x: Tensor) -> list[Tensor]:
    """Sampled σ_l of the form's first row, from the last layer down."""
    generator, h, found = stream(0, "sampled"), x.expand(SAMPLES, -1), []
    for depth, layer in enumerate(layers):
        if depth > 1:
            noise = form.noises[len(layers) - 1 - depth]
            square = (h**2) @ (noise.weight[0, 0] ** 2) + noise.bias[0, 0] ** 2
            found.insert(0, square.sqrt())
        mean = h @ layer.weight.mT + layer.bias
        spread = ((h**2) @ (layer.weight_scale**2).mT + layer.bias_scale**2).sqrt()
        h = (mean + spread * torch.randn(mean.shape, generator=generator, dtype=torch.float64)).clamp(min=0.0)
    return found


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
@pytest.mark.parametrize("scale", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("failure", [0.2, 0.02])
def test_deviations_fall_below_their_bounds_no_more_often_than_stated(widths, scale, failure) -> None:
    layers, C, known, x = known_of(widths, scale)
    form = linear_form(C, layers, known)
    lowest, _ = lowest_deviations(form, layers, known, vector(failure))
    sampled = deviations(form, layers, x)
    assert len(lowest) == len(sampled) == len(widths) - 3
    for low, own in zip(lowest, sampled, strict=True):
        broken = int((own < low[0, 0]).sum())
        assert clopper_pearson(broken, SAMPLES, 1 - 1e-6)[0] <= failure
        if scale == 0.02:
            assert 0.5 * own.mean() < low[0, 0]


def test_bounds_shrink_with_the_failure_probability_and_unknown_ones_are_zero() -> None:
    layers, C, known, _ = known_of((2, 6, 5, 3), 0.1)
    form = linear_form(C, layers, known)
    bounds = [lowest_deviations(form, layers, known, vector(f))[0][0].item() for f in (1e-1, 1e-4, 1e-9)]
    assert bounds == sorted(bounds, reverse=True)
    spoiled = replace(known, first=replace(known.first, mean=known.first.mean * torch.nan))
    assert lowest_deviations(form, layers, spoiled, vector(0.1))[0][0].item() == 0.0


def test_a_network_of_two_layers_has_no_later_noise() -> None:
    layers, C, known, _ = known_of((2, 6, 3), 0.1)
    lowest, rates = lowest_deviations(linear_form(C, layers, known), layers, known, vector(0.1))
    assert lowest == []
    assert rates.shape == (1, 1, 0)
