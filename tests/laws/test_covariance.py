"""Deviations of projections are bounded from above, against exact arithmetic."""

import torch
from flint import arb
from fuzz.balls import EXACT, above, balls, dot, precision
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import normal
from torch import Tensor

from fedcert.laws.covariance import Covariance, weighed_sizes
from fedcert.randomness import stream


def exact_variance(factor: Tensor, coefficients: Tensor) -> arb:
    """‖Fᵀ c‖²."""
    columns = [dot(balls(column), balls(coefficients)) for column in factor.mT]
    return dot(columns, columns)


@given(
    seed=st.integers(0, 10_000),
    unit=st.sampled_from([1e-90, 1e-30, 1.0, 1e30, 1e90]),
    size=st.sampled_from([1e-320, 1e-160, 1e-20, 1.0, 1e60]),
    cancelling=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_no_projection_has_a_larger_deviation(seed: int, unit: float, size: float, cancelling: bool) -> None:
    generator = stream(seed, "covariance")
    factor = unit * (0.1 + normal(generator, 5, 4).abs()) * normal(generator, 5, 4).sign()
    c = size * normal(generator, 5)
    if cancelling:  # two parameters that are nearly the same
        factor[1], c[1] = factor[0] * (1 + 1e-15), -c[0]
    found = Covariance.of_factor(factor, 0.0).of_projection(c).item()
    with precision(EXACT):
        assert above(found, exact_variance(factor, c).sqrt())


def test_the_bound_is_tight_and_an_error_of_the_factor_is_charged() -> None:
    factor, c = normal(stream(0, "tight"), 6, 9), normal(stream(1, "tight"), 6)
    exact, inexact = (Covariance.of_factor(factor, error).of_projection(c) for error in (0.0, 1e-4))
    truth = (factor.mT @ c).norm()
    assert truth <= exact <= truth * (1 + 1e-12)
    for seed in range(50):
        other = factor * (1 + 1e-4 * normal(stream(seed, "error"), 6, 9).clamp(-1, 1))
        assert (other.mT @ c).norm() <= inexact


def test_the_size_of_a_gram_matrix_bounds_all_its_quadratic_forms() -> None:
    factor, weights = normal(stream(2, "gram"), 4, 3), normal(stream(3, "gram"), 4).abs()
    gram = (factor @ factor.mT).unsqueeze(0)
    found = weighed_sizes(gram, weights.unsqueeze(0), factor.norm(dim=-1).unsqueeze(0), 1e-12)
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0]).double()] * 4) * weights
    assert ((corners @ factor).norm(dim=-1) <= found).all()
