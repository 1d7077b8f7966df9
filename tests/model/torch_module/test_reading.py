"""Named means and deviations become vectors, and names or shapes that do not fit are refused."""

from typing import Any

import pytest
import torch
from torch import nn

from fedcert.errors import ShapeMismatch
from fedcert.model.torch_module.read import read_module

MODULE = nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU(), nn.Linear(3, 1))
STATE = MODULE.state_dict()


def test_vectors_are_in_the_order_of_theta_with_zeros_for_what_is_missing() -> None:
    loc, scale = read_module(MODULE).vectors(STATE, {"2.weight": torch.full((1, 3), 0.5)})
    assert loc.tolist() == [
        *STATE["0.weight"].flatten().tolist(),
        0,
        0,
        0,
        *STATE["2.weight"][0].tolist(),
        STATE["2.bias"].item(),
    ]
    assert scale.tolist() == [0.0] * 9 + [0.5] * 3 + [0.0]


@pytest.mark.parametrize(
    ("means", "deviations", "words"),
    [
        ({"0.weight": STATE["0.weight"]}, {}, r"no mean of 2\.weight, 2\.bias; means are given of 0\.weight"),
        ({}, {}, "means are given of nothing"),
        ({**STATE, "1.weight": torch.ones(2)}, {}, r"a mean of 1\.weight, but the model has 0\.weight"),
        (STATE, {"weight": torch.ones(2)}, "a deviation of weight, but the model has"),
        ({**STATE, "2.bias": torch.ones(2)}, {}, r"mean of 2\.bias has the shape \(2,\), not \(1,\)"),
        (STATE, {"0.weight": torch.ones(2, 3)}, r"deviation of 0\.weight has the shape \(2, 3\), not"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(means: Any, deviations: Any, words: str) -> None:
    with pytest.raises(ShapeMismatch, match=words):
        read_module(MODULE).vectors(means, deviations)


def test_parameters_that_the_forward_does_not_use_change_nothing() -> None:
    class Spare(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.spare = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.used(x)
            return out

    module = Spare()
    reading = read_module(module)
    assert reading.parameters == ["used.weight", "used.bias"]
    _, scale = reading.vectors(module.state_dict(), {"spare.weight": torch.ones(2, 2)})
    assert scale.tolist() == [0.0] * 6
