"""A folded batch normalisation has the law of what the module computes."""

import pytest
import torch
from torch import nn

from fedcert.errors import InvalidLaw
from fedcert.model.torch_module.read import read_module
from fedcert.randomness import stream

DRAWS = 40_000


def module() -> nn.Module:
    own = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2)).double().eval()
    norm = own[1]
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([-2.0, 0.0, 0.5]))
        norm.bias.copy_(torch.tensor([0.3, 0.2, 0.1]))
        norm.running_mean.copy_(torch.tensor([1.0, -1.0, 0.5]))
        norm.running_var.copy_(torch.tensor([0.25, 4.0, 1.0]))
    return own


def deviations(own: nn.Module, *fixed: str) -> dict[str, torch.Tensor]:
    return {
        name: torch.rand(value.shape, generator=stream(1, name)).double() * (name not in fixed)
        for name, value in own.named_parameters()
    }


def test_moments_of_the_folded_layer_are_those_of_layer_and_normalisation() -> None:
    """Outputs before the rectifier are linear in θ, so that means and deviations say all of their law."""
    own = module()
    reading, spread = read_module(own), deviations(own, "1.weight")
    loc, scale = (reading.network.unflatten(own)[0] for own in reading.vectors(reading.own, spread))
    x, generator = torch.tensor([0.7, -1.2], dtype=torch.float64), stream(2, "draws")
    W, b, beta = (
        own.get_parameter(name).detach()
        + spread[name] * torch.randn(DRAWS, *spread[name].shape, generator=generator, dtype=torch.float64)
        for name in ("0.weight", "0.bias", "1.bias")
    )
    with torch.no_grad():
        drawn = own[1](W @ x + b) - own[1].bias + beta
    mean = loc[0] @ x + loc[1]
    deviation = torch.sqrt((scale[0] * x).square().sum(-1) + scale[1].square())
    sampling = 5 / DRAWS**0.5  # of a mean, in deviations; that of a deviation is smaller
    assert ((drawn.mean(0) - mean).abs() <= sampling * deviation).all()
    assert ((drawn.std(0) - deviation).abs() <= sampling * deviation).all()


def test_a_random_scale_is_refused() -> None:
    own = module()
    reading = read_module(own)
    with pytest.raises(InvalidLaw, match=r"1\.weight is random.*dependent"):
        reading.vectors(reading.own, deviations(own))


def test_random_statistics_are_refused() -> None:
    reading = read_module(module())
    with pytest.raises(InvalidLaw, match=r"1\.running_mean is random"):
        reading.vectors(reading.own, {"1.running_mean": torch.ones(3)})


def test_statistics_come_from_the_means_that_are_given() -> None:
    """A fresh module says only what the architecture is."""
    own = module()
    fresh = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2)).eval()
    loc, _ = read_module(fresh).vectors(own.state_dict(), {})
    assert torch.equal(loc, read_module(own).theta)
