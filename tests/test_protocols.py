"""Every implementation against the Protocol that it declares to follow."""

import pytest
import torch

from fedcert.laws import DiagonalGaussian, GaussianMixture, Law
from fedcert.model.layers import Activation, Affine, Layer, Linear, ReLU
from fedcert.rules import AggregationRule, GaussianRule, LinearRule, TrimmedMean
from fedcert.verify import AnyOf, Verifier
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier

LAW = DiagonalGaussian(torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64))
IMPLEMENTATIONS = [
    (Law, LAW),
    (Law, GaussianMixture((LAW, LAW), torch.ones(2, dtype=torch.float64))),
    (Layer, Linear(2, 3)),
    (Layer, ReLU()),
    (Affine, Linear(2, 3)),
    (Activation, ReLU()),
    (GaussianRule, LinearRule.fedavg([1, 2])),
    (GaussianRule, LinearRule.product_of_gaussians([LAW, LAW])),
    (GaussianRule, LinearRule(-torch.ones(2, 1, dtype=torch.float64))),
    (AggregationRule, TrimmedMean.median(3)),
    (AggregationRule, TrimmedMean(3, 1)),
    (Verifier, IntervalVerifier()),
    (Verifier, MergedIntervalVerifier()),
    (Verifier, LinearVerifier()),
    (Verifier, AnyOf((IntervalVerifier(), LinearVerifier()))),
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
