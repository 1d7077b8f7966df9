"""What IVON draws is the law that is read of it."""

import pytest
import torch
from integrations import assert_law, library, small_data, small_module
from torch import nn

from fedcert.adapters import from_ivon
from fedcert.errors import InvalidLaw

ivon = library("ivon")


def trained(model: nn.Module) -> "ivon.IVON":
    """Two groups with settings of their own, in another order than that of the model."""
    last = {"params": [*model[2].parameters()], "ess": 20.0, "weight_decay": 0.1}
    groups = [last, {"params": [*model[0].parameters()]}]
    optimizer = ivon.IVON(groups, lr=0.1, ess=50.0, beta2=0.9, hess_init=0.3)
    x, y = small_data()
    for _ in range(5):
        with optimizer.sampled_params(train=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return optimizer


def test_samples_have_the_moments_of_the_law() -> None:
    torch.manual_seed(0)
    model = small_module()
    optimizer = trained(model)
    found = from_ivon(model, optimizer)
    draws: dict[str, list[torch.Tensor]] = {name: [] for name, _ in model.named_parameters()}
    for _ in range(2000):
        with optimizer.sampled_params():
            for name, own in model.named_parameters():
                draws[name].append(own.detach().clone())
    assert_law(found, list(draws), {name: torch.stack(each) for name, each in draws.items()})
    precision = [
        group["ess"] * (group["hess"].double() + group["weight_decay"])
        for group in reversed(optimizer.param_groups)
    ]
    torch.testing.assert_close(found.law.scale, torch.cat(precision) ** -0.5, rtol=1e-6, atol=0.0)
    assert torch.equal(found.law.loc, nn.utils.parameters_to_vector(model.parameters()).double().detach())


def test_a_draw_is_not_taken_for_the_mean() -> None:
    model = small_module()
    optimizer = trained(model)
    with optimizer.sampled_params(), pytest.raises(InvalidLaw, match="inside sampled_params"):
        from_ivon(model, optimizer)
    from_ivon(model, optimizer)
    other = trained(small_module(1))
    with other.sampled_params():
        from_ivon(model, optimizer)


def test_foreign_objects_are_refused() -> None:
    model = small_module()
    with pytest.raises(InvalidLaw, match=r"torch\.optim\.sgd\.SGD, not an ivon"):
        from_ivon(model, torch.optim.SGD(model.parameters(), lr=0.1))
    with pytest.raises(InvalidLaw, match="none of the model's"):
        from_ivon(small_module(), trained(model))
