"""What bayesian-torch draws is the law that is read of it."""

from typing import Any

import pytest
import torch
from integrations import library, small_module
from torch import Tensor, nn

from fedcert.adapters import from_bayesian_torch
from fedcert.errors import InvalidLaw, UnsupportedLayer
from fedcert.model.network import mlp

layers = library("bayesian_torch.layers")
conversion = library("bayesian_torch.models.dnn_to_bnn")
NAMES = ["0.weight", "0.bias", "2.weight", "2.bias"]
PRIOR = {
    "prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.3, "posterior_rho_init": -1.0,
    "moped_enable": False,
}  # fmt: skip


def converted(kind: str) -> nn.Sequential:
    model = small_module()
    conversion.dnn_to_bnn(model, {**PRIOR, "type": kind})
    return model


class ByHand(nn.Module):
    """A forward that adds up the divergences, as the library's own models do."""

    def __init__(self) -> None:
        super().__init__()
        self.first = layers.LinearReparameterization(2, 5)
        self.act = layers.ReLU()
        self.last = layers.LinearFlipout(5, 3, bias=False)

    def forward(self, x: Tensor) -> Any:
        total: Any = 0
        x, kl = self.first(x)
        total += kl
        x, kl = self.act((x, kl))
        x, kl = self.last(x)
        total += kl
        return x, total


@pytest.mark.parametrize("kind", ["Reparameterization", "Flipout"])
def test_samples_have_the_moments_of_the_law(kind: str) -> None:
    """What a layer makes of zero is its bias, of a unit vector a column of its weights plus its bias."""
    torch.manual_seed(0)
    model = converted(kind)
    found = from_bayesian_torch(model)
    assert found.network == mlp(2, 5, 3)
    locs, scales = (found.network.unflatten(own)[::2] for own in (found.law.loc, found.law.scale))
    for layer, (W, b), (S, s) in zip((model[0], model[2]), locs, scales, strict=True):
        inputs = torch.cat([torch.zeros(1, layer.in_features), torch.eye(layer.in_features)])
        with torch.no_grad():
            drawn = torch.stack([layer(inputs) for _ in range(4000)]).double()
        mean = torch.cat([b.unsqueeze(0), b + W.T])
        deviation = torch.cat([s.unsqueeze(0), torch.sqrt(S.T.square() + s.square())])
        assert ((drawn.mean(0) - mean).abs() <= 6 * deviation / 4000**0.5).all()
        assert ((drawn.std(0) / deviation - 1).abs() <= 6 / 8000**0.5).all()


def test_means_and_deviations_are_those_of_the_layers() -> None:
    model = converted("Reparameterization")
    law = from_bayesian_torch(model).law
    order = [(place, part) for place in (0, 2) for part in ("weight", "bias")]
    mu = torch.cat([getattr(model[place], f"mu_{part}").flatten() for place, part in order])
    rho = torch.cat([getattr(model[place], f"rho_{part}").flatten() for place, part in order])
    assert torch.equal(law.loc, mu.double())
    assert torch.equal(law.scale, torch.log1p(torch.exp(rho)).double())
    torch.testing.assert_close(law.scale, nn.functional.softplus(rho.double()), rtol=1e-6, atol=0.0)


def test_a_forward_with_divergences_is_read_and_left_as_it_is() -> None:
    model = ByHand()
    found = from_bayesian_torch(model)
    assert found.network == mlp(2, 5, 3)
    assert isinstance(model.first, layers.LinearReparameterization)
    assert found.law.scale[-3:].tolist() == [0.0, 0.0, 0.0]
    described = from_bayesian_torch(model, chain=["first", nn.ReLU(), "last"])
    assert torch.equal(described.law.loc, found.law.loc)


def test_some_layers_may_be_ordinary() -> None:
    model = converted("Flipout")
    model[0] = nn.Linear(2, 5)
    law = from_bayesian_torch(model).law
    assert (law.scale[:15] == 0).all()
    assert (law.scale[15:] > 0).all()
    assert torch.equal(law.loc[:10], model[0].weight.flatten().double())


def test_what_is_not_supported_is_named() -> None:
    with pytest.raises(InvalidLaw, match="no LinearReparameterization"):
        from_bayesian_torch(small_module())
    convolution = nn.Sequential(
        layers.Conv2dReparameterization(1, 1, 1), layers.LinearReparameterization(2, 2)
    )
    with pytest.raises(UnsupportedLayer, match=r"Conv2dReparameterization|no chain|cannot be traced"):
        from_bayesian_torch(convolution)
    prepared = converted("Reparameterization")
    prepared[0].quant_prepare = True
    with pytest.raises(InvalidLaw, match="quantisation"):
        from_bayesian_torch(prepared)
