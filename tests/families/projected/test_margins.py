import pytest
import torch
from problems import normal, uniform

from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.margins import may_be_negative
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream


@pytest.mark.parametrize("widths", [(3, 2), (3, 6, 2), (3, 6, 6, 2)])
def test_margins_of_unknown_sign_are_possible_and_far_ones_are_not(widths: tuple[int, ...]) -> None:
    generator = stream(0, "margins")
    network = mlp(*widths)
    loc = network.initialise(generator).double()
    law = DiagonalGaussian(loc, 0.01 * (0.5 + uniform(generator, len(loc))))
    x, C = normal(generator, 20, widths[0]), normal(generator, 20, 1, widths[-1])
    theta = law.loc + law.scale * normal(generator, 400, network.parameters)
    margins = (network(theta, x).unsqueeze(-2) * C).sum(-1)
    sigmas = torch.tensor([3.0, 30.0], dtype=torch.float64).repeat(10).unsqueeze(-1)
    d = sigmas * margins.std(0) - margins.mean(0)
    found = may_be_negative(random_layers(network, law), Properties(Box.point(x), -C, -d))
    assert found[::2].all()
    assert not found[1::2].any()
