"""Bounds that mean nothing are refused."""

import math

import pytest
from stated_bounds import Inputs, make_bounds

from fedcert_check.conclusions import Bounds, Sampled
from fedcert_check.errors import InvalidCertificate


@pytest.mark.parametrize("value", [math.nan, -1e-9, 1 + 1e-9, math.inf])
def test_only_probabilities_are_bounds(value: float) -> None:
    with pytest.raises(InvalidCertificate, match="a bound of a probability"):
        make_bounds([0.5, value])
    with pytest.raises(InvalidCertificate, match="a bound of a probability"):
        make_bounds([0.0, 0.0], [0.5, value])
    with pytest.raises(InvalidCertificate, match="a bound of a probability"):
        make_bounds([0.5], at_margins=((1.0, (value,)),), classes=3)
    with pytest.raises(InvalidCertificate, match="a bound of a probability"):
        Sampled((value,), (1.0,), 0.95, 10)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"lower": []}, "at least one"),
        ({"lower": [0.5], "upper": [0.5, 0.5]}, "1 lower and 2 upper"),
        ({"lower": [0.1, 0.5], "upper": [0.5, 0.4]}, "property 1 contradict"),
        ({"lower": [0.5], "at_margins": ((1.0, (0.5, 0.5)),), "classes": 3}, "another number"),
        ({"lower": [0.5], "at_margins": ((math.nan, (0.5,)),), "classes": 3}, "a margin of nan"),
        ({"lower": [0.5], "at_margins": ((1.0, (0.5,)),)}, "None classes"),
        ({"lower": [0.5], "margin": math.nan}, "a margin of nan"),
        ({"lower": [0.5], "common_radius": None}, "different radii"),
        ({"lower": [0.5], "common_radius": math.nan}, "a radius of nan"),
        ({"lower": [0.5], "sampled": Sampled((0.5, 0.5), (1.0, 1.0), 0.95, 10)}, "another number"),
    ],
)
def test_what_does_not_fit_is_named(arguments: dict, complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        make_bounds(**arguments)


def test_as_many_bounds_as_inputs_are_needed() -> None:
    with pytest.raises(InvalidCertificate, match="the 3 inputs"):
        Bounds(Inputs(3), "fedavg", (0.5, 0.5))


@pytest.mark.parametrize(("confidence", "draws"), [(0.0, 10), (1.0, 10), (math.nan, 10), (0.95, 0)])
def test_confidence_bounds_need_confidence_and_draws(confidence: float, draws: int) -> None:
    with pytest.raises(InvalidCertificate, match=r"confidence|draws"):
        Sampled((0.5,), (1.0,), confidence, draws)
