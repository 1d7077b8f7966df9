"""Every implementation against the Protocol that it declares to follow."""

import pytest
import torch

from fedcert.laws import DiagonalGaussian, Law
from fedcert.networks import Layer, Linear, ReLU
from fedcert.rules import AggregationRule, WeightedAverage
from fedcert.verifiers import Verifier
from fedcert.verifiers.interval import IntervalVerifier, MergedIntervalVerifier

LAW = DiagonalGaussian(torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64))
IMPLEMENTATIONS = [
    (Law, LAW),
    (Layer, Linear(2, 3)),
    (Layer, ReLU()),
    (AggregationRule, WeightedAverage.fedavg([1, 2])),
    (AggregationRule, WeightedAverage.product_of_gaussians([LAW, LAW])),
    (Verifier, IntervalVerifier()),
    (Verifier, MergedIntervalVerifier()),
]


@pytest.mark.parametrize(
    ("protocol", "implementation"), IMPLEMENTATIONS, ids=lambda x: getattr(x, "__name__", type(x).__name__)
)
def test_implementations_follow_their_protocol(protocol: type, implementation: object) -> None:
    assert isinstance(implementation, protocol)


@pytest.mark.parametrize("implementation", [implementation for _, implementation in IMPLEMENTATIONS])
def test_data_are_frozen(implementation: object) -> None:
    with pytest.raises(AttributeError):
        implementation.anything = 1
