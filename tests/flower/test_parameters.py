import pytest
import torch
from integrations import library
from torch import nn

from fedcert import from_torch, mlp
from fedcert.errors import ShapeMismatch

library("flwr")

from flwr.app import Array, ArrayRecord

from fedcert.flower import parameters_record, parameters_vector


class Swapped(nn.Module):
    """Layers of one shape, defined in another order than they are used in."""

    def __init__(self) -> None:
        super().__init__()
        self.second = nn.Linear(3, 3)
        self.first = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


@pytest.mark.parametrize("module", [nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), Swapped()])
def test_a_module_loads_the_record_and_computes_what_the_network_does(module: nn.Module) -> None:
    network = from_torch(module)
    theta = torch.randn(network.parameters, generator=torch.Generator().manual_seed(0)).double()
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(1)).double()
    module.double().load_state_dict(parameters_record(module, theta).to_torch_state_dict())
    torch.testing.assert_close(module(x), network(theta, x))


@pytest.mark.parametrize("model", [mlp(3, 4, 2), Swapped()], ids=["network", "module"])
def test_the_vector_is_that_of_the_record(model: object) -> None:
    theta = torch.arange(26 if model == mlp(3, 4, 2) else 24).double()
    record = parameters_record(model, theta)
    assert torch.equal(parameters_vector(model, ArrayRecord(dict(reversed(record.items())))), theta)


def test_a_network_is_named_like_the_sequential_module() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    assert list(parameters_record(mlp(3, 4, 2), torch.zeros(26))) == list(module.state_dict())


def test_what_does_not_fit_is_refused() -> None:
    model, record = mlp(3, 2), parameters_record(mlp(3, 2), torch.zeros(8))
    with pytest.raises(ShapeMismatch, match=r"shape \(9,\)"):
        parameters_record(model, torch.zeros(9))
    with pytest.raises(ShapeMismatch, match=r"0\.bias has the shape"):
        parameters_vector(model, ArrayRecord({**record, "0.bias": Array(torch.zeros(3).numpy())}))
    with pytest.raises(ShapeMismatch, match="arrays"):
        parameters_vector(model, ArrayRecord({"0.bias": record["0.bias"]}))
    for module in (
        nn.Sequential(nn.Linear(3, 2, bias=False)),
        nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)),
    ):
        with pytest.raises(ShapeMismatch, match="not its state dict"):
            parameters_record(module.eval(), torch.zeros(8))
