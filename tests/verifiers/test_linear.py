"""What is particular to linear bounds; the soundness tests they share are in test_interval.py."""

import pytest
from problems import make_problem

from fedcert.errors import UnsupportedLayer
from fedcert.networks import Linear, Network, ReLU
from fedcert.verifiers.interval import MergedIntervalVerifier
from fedcert.verifiers.linear import LinearVerifier


def test_linear_bounds_are_tighter_where_only_the_input_varies() -> None:
    problem = make_problem(3, (6, 12, 12, 3), boxes=8, properties=8, weight_radius=0.0, input_radius=0.1)
    merged, linear = (
        verifier.margins(problem.network, problem.boxes, problem.properties)
        for verifier in (MergedIntervalVerifier(), LinearVerifier())
    )
    assert (linear > merged).double().mean() > 0.95


def test_linear_bounds_refuse_a_network_that_ends_in_relu() -> None:
    problem = make_problem(0, (2, 3), properties=1)
    with pytest.raises(UnsupportedLayer, match="Linear layer at the end"):
        LinearVerifier()(Network((Linear(2, 3), ReLU())), problem.boxes, problem.properties)
