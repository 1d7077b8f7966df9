"""What laplace-torch draws is the law that is read of it."""

from typing import Any

import pytest
import torch
from integrations import assert_law, library, small_data, small_module
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from fedcert.adapters import from_laplace
from fedcert.errors import InvalidLaw
from fedcert.model.network import mlp

laplace = library("laplace")
NAMES = ["0.weight", "0.bias", "2.weight", "2.bias"]


def fitted(model: nn.Module, subset: str = "all", structure: str = "diag", **options: Any) -> Any:
    la = laplace.Laplace(model, "classification", subset, structure, prior_precision=3.0, **options)
    la.fit(DataLoader(TensorDataset(*small_data()), batch_size=10))
    return la


def test_samples_have_the_moments_of_the_law() -> None:
    model = small_module()
    la = fitted(model, temperature=0.5)
    found = from_laplace(la)
    sizes = [own.numel() for own in model.parameters()]
    draws = la.sample(4000, generator=torch.Generator().manual_seed(1)).split(sizes, dim=1)
    assert_law(found, NAMES, dict(zip(NAMES, draws, strict=True)))
    assert found.network == mlp(2, 5, 3)
    assert torch.equal(found.law.loc, la.mean.double())
    assert torch.equal(found.law.scale, la.posterior_scale.double())


def test_the_mean_is_that_of_the_fit_whatever_the_model_does_later() -> None:
    model = small_module()
    la = fitted(model)
    mean = la.mean.double().clone()
    with torch.no_grad():
        model[0].weight.zero_()
    assert torch.equal(from_laplace(la).law.loc, mean)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("subset", "structure", "name"),
    [
        ("all", "full", "FullLaplace"),
        ("all", "kron", "KronLaplace"),
        ("last_layer", "diag", "DiagLLLaplace"),
        ("last_layer", "kron", "KronLLLaplace"),
    ],
)
def test_other_structures_are_refused_by_name(subset: str, structure: str, name: str) -> None:
    la = fitted(small_module(), subset, structure)
    with pytest.raises(InvalidLaw, match=rf"{name}: supported is laplace\.DiagLaplace"):
        from_laplace(la)


def test_an_approximation_that_was_not_fitted_is_refused() -> None:
    with pytest.raises(InvalidLaw, match="not fitted"):
        from_laplace(laplace.Laplace(small_module(), "classification", "all", "diag"))


def test_what_is_frozen_after_the_fit_stays_random() -> None:
    la = fitted(small_module())
    la.model[0].bias.requires_grad_(False)
    assert torch.equal(from_laplace(la).law.scale, la.posterior_scale.double())


def test_a_parameter_that_was_replaced_after_the_fit_is_noticed() -> None:
    la = fitted(small_module())
    la.model[0].bias = nn.Parameter(torch.zeros(5))
    with pytest.raises(InvalidLaw, match="none of the model's any more"):
        from_laplace(la)


def test_what_was_frozen_before_the_fit_is_fixed() -> None:
    model = small_module()
    model[0].requires_grad_(False)
    law = from_laplace(fitted(model)).law
    assert (law.scale[:15] == 0).all()
    assert (law.scale[15:] > 0).all()
    assert torch.equal(law.loc, nn.utils.parameters_to_vector(model.parameters()).double())
