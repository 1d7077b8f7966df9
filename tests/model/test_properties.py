import math
from fractions import Fraction
from math import inf

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact

from fedcert.errors import DataError, InvalidProperty, ShapeMismatch
from fedcert.model.features import Feature
from fedcert.model.network import mlp
from fedcert.model.properties import Properties, correctly_classified, linf_robustness
from fedcert.numerics.box import Box


def robustness(x=0.5, label=1, epsilon=0.1, margin=0.0, **keywords) -> Properties:
    inputs = torch.tensor([[x, 0.25]], dtype=torch.float64)
    return linf_robustness(inputs, torch.tensor([label]), epsilon, margin, classes=3, **keywords)


@given(st.floats(0, 1), st.floats(0, 2))
def test_the_region_holds_every_real_input_of_the_ball_and_no_input_outside_the_domain(x, epsilon) -> None:
    region = robustness(x=x, epsilon=epsilon).regions
    low, high = exact(region.lower[0, 0]), exact(region.upper[0, 0])
    assert 0 <= low <= max(Fraction(0), exact(x) - exact(epsilon))
    assert min(Fraction(1), exact(x) + exact(epsilon)) <= high <= 1


def test_constraints_are_the_margins_over_every_other_class() -> None:
    properties = robustness(label=1, margin=0.25)
    f = torch.tensor([1.0, 5.0, 2.0], dtype=torch.float64)
    assert (properties.C[0] @ f + properties.d[0]).tolist() == [3.75, 2.75]


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": -0.1},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"margin": math.nan},
        {"margin": math.inf},
        {"x": 1.5},
        {"x": -0.1},
        {"x": math.nan},
        {"label": 3},
        {"label": -1},
    ],
)
def test_impossible_properties_raise(bad: dict) -> None:
    with pytest.raises(InvalidProperty):
        robustness(**bad)


def test_another_domain_is_allowed() -> None:
    region = robustness(x=-0.9, epsilon=0.2, domain=(-1.0, 1.0)).regions
    assert region.lower[0, 0] == -1.0


def test_constraints_must_be_finite_and_fit() -> None:
    region = Box.point(torch.zeros(2, 3, dtype=torch.float64))
    C, d = torch.zeros(2, 1, 4, dtype=torch.float64), torch.zeros(2, 1, dtype=torch.float64)
    with pytest.raises(InvalidProperty, match="finite"):
        Properties(region, C, d + math.nan)
    with pytest.raises(ShapeMismatch):
        Properties(region, C[:1], d[:1])
    assert len(Properties(region, C, d)[torch.tensor([True, False])]) == 1


def test_correct_inputs_are_chosen_in_order_and_never_invented() -> None:
    network = mlp(1, 2)
    theta = torch.tensor([-1.0, 1.0, 0.0, 0.0], dtype=torch.float64)  # class 1 where x > 0
    x = torch.tensor([[1.0], [-1.0], [2.0], [-2.0], [3.0]], dtype=torch.float64)
    label = torch.tensor([1, 1, 1, 0, 0])
    assert correctly_classified(network, theta, x, label, 2).tolist() == [0, 2]
    assert correctly_classified(network, theta, x, label, 3).tolist() == [0, 2, 3]
    with pytest.raises(DataError, match="only 3 of 5"):
        correctly_classified(network, theta, x, label, 4)


WEIGHTS = [[0.0, 0.25], [0.5, 1.0]]


def test_weights_stretch_the_ball_and_fix_what_has_none() -> None:
    asked = linf_robustness(
        [[0.5, 0.5], [3.0, -4.0]], [0, 1], 2.0, classes=2, domain=(-inf, inf), weights=WEIGHTS
    )
    lower, upper = asked.regions.lower, asked.regions.upper
    assert (lower[0, 0], upper[0, 0]) == (0.5, 0.5)
    ends = torch.tensor([[0.5, 0.0], [2.0, -6.0]]).double(), torch.tensor([[0.5, 1.0], [4.0, -2.0]]).double()
    for found, end, sign in ((lower, ends[0], -1), (upper, ends[1], 1)):
        assert (sign * (found - end) >= 0).all()
        assert torch.allclose(found, end, rtol=0, atol=1e-14)
    assert asked.subject.norm == "weighted-linf"
    assert asked[torch.tensor([1])].subject.weights.tolist() == WEIGHTS[1:]


@pytest.mark.parametrize(
    ("others", "complaint"),
    [
        ({"weights": [[1.0, 1.0]]}, "weights of shape"),
        ({"weights": [[1.0, -1.0], [1.0, 1.0]]}, "≥ 0"),
        ({"weights": [[1.0, float("nan")], [1.0, 1.0]]}, "≥ 0"),
        ({"weights": [[1e308, 1.0], [1.0, 1.0]], "epsilon": 1e308}, "not finite"),
        ({"weights": WEIGHTS, "features": [Feature("a")]}, "1 features"),
        ({"features": [Feature("a"), Feature("b")]}, "pass `weights`"),
        ({"domain": (0.0, inf)}, "two finite limits"),
    ],
)
def test_weights_that_make_no_sense_are_refused(others: dict[str, object], complaint: str) -> None:
    given = {"epsilon": 1.0, "classes": 2, "domain": (-inf, inf)} | others
    with pytest.raises((InvalidProperty, ShapeMismatch), match=complaint):
        linf_robustness([[0.5, 0.5], [3.0, -4.0]], [0, 1], **given)
