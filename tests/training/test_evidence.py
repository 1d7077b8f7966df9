import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedcert.training.evidence import best_precision, log_evidence

SIZES = st.floats(1e-3, 1e3)


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@given(h=st.floats(1e-2, 1e4), size=st.floats(1.001, 1e3))
def test_one_parameter_has_a_closed_form(h: float, size: float) -> None:
    """δ θ² (h + δ) = h, of which one root is positive."""
    theta = size / math.sqrt(h)
    exact = (-h + math.sqrt(h * h + 4 * h / theta**2)) / 2
    assert best_precision(tensor(theta), tensor(h)) == pytest.approx(exact, rel=1e-6)


def test_the_evidence_of_linear_regression_is_the_exact_marginal_likelihood() -> None:
    """y = θ + noise: y ~ N(0, 1/n + 1/δ) for the mean of n observations, where Laplace's method is exact."""
    y, n = 1.7, 5.0

    def exact(delta: float) -> float:
        variance = 1 / n + 1 / delta
        return -0.5 * (math.log(variance) + y * y / variance)

    def laplace(delta: float) -> float:
        mode = n * y / (n + delta)  # moves with δ, and so does the likelihood at it
        return log_evidence(tensor(mode), tensor(n), delta) - 0.5 * n * (y - mode) ** 2

    differences = {round(laplace(delta) - exact(delta), 9) for delta in (0.1, 1.0, 7.0, 300.0)}
    assert len(differences) == 1


@given(st.lists(st.tuples(st.floats(1e-2, 3), SIZES), min_size=2, max_size=8))
def test_no_other_precision_has_more_evidence(parameters: list[tuple[float, float]]) -> None:
    theta, curvature = tensor(*(t for t, _ in parameters)), tensor(*(h for _, h in parameters))
    best = best_precision(theta, curvature)
    most = log_evidence(theta, curvature, best)
    for factor in (1e-3, 0.5, 0.99, 1.01, 2.0, 1e3):
        assert log_evidence(theta, curvature, best * factor) <= most + 1e-9 * abs(most)


def test_without_a_maximum_an_end_of_the_range_is_returned() -> None:
    assert best_precision(tensor(1.0, 1.0), tensor(0.0, 0.0)) == pytest.approx(2.0**-40)
    assert best_precision(tensor(0.0, 0.0), tensor(1.0, 1.0)) == pytest.approx(2.0**40)
