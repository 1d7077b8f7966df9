"""What Pyro's guides draw is the law that is read of them."""

from typing import Any

import pytest
import torch
from integrations import assert_law, library, small_data, small_module
from torch import Tensor, nn

from fedcert.adapters import from_pyro
from fedcert.errors import InvalidLaw, UnsupportedLayer
from fedcert.model.network import mlp

pyro = library("pyro")
autoguide = library("pyro.infer.autoguide")
dist, pyro_nn = pyro.distributions, library("pyro.nn")
NAMES = ["0.weight", "0.bias", "2.weight", "2.bias"]


def random_module(*fixed: str) -> Any:
    """A module whose parameters are sampled, those that are fixed apart."""
    module = small_module()
    pyro_nn.module.to_pyro_module_(module)
    for place, own in module.named_modules():
        for name, value in list(own.named_parameters(recurse=False)):
            if f"{place}.{name}" not in fixed:
                prior = dist.Normal(0.0, 1.0).expand(value.shape).to_event(value.dim())
                setattr(own, name, pyro_nn.PyroSample(prior))
    return module


def trained(module: Any, kind: str, steps: int = 3) -> Any:
    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    x, y = small_data()

    def model(x: Tensor, y: Tensor) -> None:
        logits = module(x)
        pyro.sample("noise", dist.LogNormal(0.0, 1.0))
        with pyro.plate("data", len(x)):
            pyro.sample("y", dist.Categorical(logits=logits), obs=y)

    guide = getattr(autoguide, kind)(model)
    svi = pyro.infer.SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), pyro.infer.Trace_ELBO())
    for _ in range(steps):
        svi.step(x, y)
    return guide


@pytest.mark.parametrize("kind", ["AutoNormal", "AutoDiagonalNormal"])
def test_samples_have_the_moments_of_the_law(kind: str) -> None:
    module = random_module()
    guide = trained(module, kind)
    found = from_pyro(guide, module)
    assert found.network == mlp(2, 5, 3)
    draws = [guide(*small_data()) for _ in range(1500)]
    assert_law(found, NAMES, {name: torch.stack([own[name].detach() for own in draws]) for name in NAMES})
    medians = guide.median()
    assert torch.equal(found.law.loc, torch.cat([medians[name].flatten() for name in NAMES]).double())
    assert isinstance(module[0], pyro_nn.PyroModule)


def test_a_plain_module_of_the_same_names_will_do() -> None:
    module = random_module()
    guide = trained(module, "AutoNormal")
    assert torch.equal(from_pyro(guide, small_module()).law.scale, from_pyro(guide, module).law.scale)


def test_parameters_that_are_not_sampled_are_fixed() -> None:
    module = random_module("0.weight", "0.bias")
    law = from_pyro(trained(module, "AutoDiagonalNormal"), module).law
    assert (law.scale[:15] == 0).all()
    assert (law.scale[15:] > 0).all()
    assert torch.equal(law.loc[:10], module[0].weight.detach().flatten().double())
    biases = random_module("0.bias")
    assert (from_pyro(trained(biases, "AutoNormal"), biases).law.scale[10:15] == 0).all()


class Classifier(pyro_nn.PyroModule):
    """A model that holds its network and its observations."""

    def __init__(self) -> None:
        super().__init__()
        self.net = random_module()

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        logits: Tensor = self.net(x)
        with pyro.plate("data", len(x)):
            pyro.sample("y", dist.Categorical(logits=logits), obs=y)
        return logits


def test_a_model_with_pyro_statements_is_read_by_its_description() -> None:
    model = Classifier()
    guide = autoguide.AutoNormal(model)
    guide(*small_data())
    assert from_pyro(guide, model, chain=["net"]).network == mlp(2, 5, 3)
    with pytest.raises(UnsupportedLayer, match="chain"):
        from_pyro(guide, model)


def handwritten(support: Any) -> Any:
    """A guide over a weight and a bias that are no module's."""

    def model() -> None:
        pyro.sample("w", dist.Normal(0.0, 1.0).expand([2, 2]).to_event(2))
        pyro.sample("b", support.expand([2]).to_event(1))

    pyro.clear_param_store()
    guide = autoguide.AutoNormal(model)
    guide()
    return guide


def test_sites_may_have_other_names() -> None:
    module, names = nn.Sequential(nn.Linear(2, 2)), {"w": "0.weight", "b": "0.bias"}
    guide = handwritten(dist.Normal(0.0, 1.0))
    assert torch.equal(
        from_pyro(guide, module, sites=names).law.loc[:4], guide.locs.w.detach().flatten().double()
    )
    with pytest.raises(InvalidLaw, match=r"no site is named as a parameter.*w, b.*0.weight"):
        from_pyro(guide, module)
    with pytest.raises(InvalidLaw, match="the guide has no site v, but w, b"):
        from_pyro(guide, module, sites={"v": "0.weight"})
    with pytest.raises(InvalidLaw, match="two sites are the same parameter"):
        from_pyro(guide, module, sites={"w": "0.weight", "b": "0.weight"})


def test_a_site_that_is_not_any_real_number_is_refused() -> None:
    names = {"w": "0.weight", "b": "0.bias"}
    with pytest.raises(InvalidLaw, match=r"the site b has the support .*all reals"):
        from_pyro(handwritten(dist.LogNormal(0.0, 1.0)), nn.Sequential(nn.Linear(2, 2)), sites=names)


def test_other_guides_are_refused_by_name() -> None:
    module = random_module()
    with pytest.raises(InvalidLaw, match="AutoMultivariateNormal: supported are AutoNormal"):
        from_pyro(trained(module, "AutoMultivariateNormal"), module)
    with pytest.raises(InvalidLaw, match="not seen the model"):
        from_pyro(autoguide.AutoNormal(module), module)


def test_a_random_parameter_without_a_site_is_refused() -> None:
    guide = trained(random_module("0.bias"), "AutoNormal")
    with pytest.raises(InvalidLaw, match=r"0\.bias is random, but no site"):
        from_pyro(guide, random_module())
