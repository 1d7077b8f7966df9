import math

import pytest
import torch
from problems import normal

from fedcert.federation.normals import quantiles
from fedcert.federation.numbered import GaussianDraws, draws_of
from fedcert.federation.straying import margins_of_draws
from fedcert.laws import DiagonalGaussian
from fedcert.model.layers import AvgPool2d, Linear
from fedcert.model.network import Network, mlp
from fedcert.model.properties import linf_robustness
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify.interval import IntervalVerifier


def test_sums_of_quantiles_are_no_wider_than_sums_of_normals() -> None:
    z = quantiles(torch.device("cpu")).double()
    for t in (0.1, 1.0, 3.0, 9.0):
        assert (t * z).exp().mean().log().item() <= t * t / 2


@pytest.mark.parametrize("widths", [(30, 3), (30, 8, 3), (30, 8, 6, 3)], ids=str)
@pytest.mark.parametrize("scale", [1e-5, 1e-2])
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.2])
def test_margins_of_draws_are_within_the_limits(
    widths: tuple[int, ...], scale: float, epsilon: float
) -> None:
    generator, network = stream(0, "straying"), mlp(*widths)
    law = DiagonalGaussian(
        normal(generator, network.parameters),
        scale * torch.rand(network.parameters, generator=generator, dtype=torch.float64),
    )
    draws = draws_of(law, generator)
    assert isinstance(draws, GaussianDraws)
    x = torch.rand(20, 30, generator=generator, dtype=torch.float64)
    asked = linf_robustness(x, torch.arange(20) % 3, epsilon, classes=3)
    limits = margins_of_draws(draws, network, asked)
    assert limits is not None
    least, most = limits
    margins = IntervalVerifier().margins(network, Box.point(draws(0, 300).double()), asked)
    assert ((margins >= least) & (margins <= most)).all()
    assert ((most - least) > 0.5 * (margins.amax(0) - margins.amin(0))).all()
    assert (most - least).max() < 60 * (margins.amax(0) - margins.amin(0)).max() + 1e-3


def test_many_inputs_stray_less_than_their_box() -> None:
    network = mlp(400, 2)
    law = DiagonalGaussian(torch.zeros(802).double(), torch.ones(802).double())
    asked = linf_robustness(torch.ones(1, 400).double(), [0], 0.0, classes=2)
    draws = draws_of(law, stream(0, "many"))
    assert isinstance(draws, GaussianDraws)
    least, most = margins_of_draws(draws, network, asked) or (None, None)
    assert least is not None
    assert (most - least).item() == pytest.approx(2 * 2 * 9.0 * math.sqrt(401), rel=1e-3)


def test_other_layers_are_left_to_boxes() -> None:
    network = Network((AvgPool2d((1, 4, 4), (2, 2), (2, 2)), Linear(4, 2)))
    law = DiagonalGaussian(torch.zeros(10).double(), torch.ones(10).double())
    asked = linf_robustness(torch.ones(1, 16).double(), [0], 0.0, classes=2)
    draws = draws_of(law, stream(0, "others"))
    assert isinstance(draws, GaussianDraws)
    assert margins_of_draws(draws, network, asked) is None
