"""Properties on boxes and balls of the user's own, with labels or constraints."""

from fractions import Fraction
from math import inf
from typing import Any

import pytest
import torch

from fedcert.errors import FedcertError
from fedcert.model.properties import linf_robustness
from fedcert.model.regions import on_boxes

LOWER, UPPER = [[0.1, -1.0], [0.25, 0.5]], [[0.3, 2.0], [0.25, 0.75]]


def test_a_box_is_widened_outward_and_cut_to_the_domain() -> None:
    asked = on_boxes(LOWER, UPPER, label=[0, 1], classes=2, epsilon=[0.1, 0.0], domain=(-1.05, 5.0))
    low, high = asked.regions.lower, asked.regions.upper
    assert Fraction(low[0, 0].item()) <= Fraction(0.1) - Fraction(0.1)
    assert low[0, 1].item() == -1.05
    assert Fraction(high[0, 1].item()) >= 2 + Fraction(0.1)
    assert (low[1].tolist(), high[1].tolist()) == (LOWER[1], UPPER[1])  # not widened: exact


def test_labels_ask_the_same_of_boxes_as_of_balls() -> None:
    ball = linf_robustness(LOWER, [1, 0], 0.01, 0.5, 3, (-inf, inf))
    box = on_boxes(LOWER, LOWER, label=[1, 0], classes=3, margin=0.5, epsilon=0.01)
    assert torch.equal(ball.C, box.C)
    assert torch.equal(ball.d, box.d)
    assert torch.equal(ball.regions.lower, box.regions.lower)
    assert box.subject is not None
    assert box.subject.norm == "box"


def test_constraints_of_one_kind_hold_in_each_box() -> None:
    asked = on_boxes(LOWER, UPPER, C=[[1.0], [-1.0]], d=[1.0, 1.0])
    assert asked.C.tolist() == [[[1.0], [-1.0]]] * 2
    assert asked.subject is not None
    assert asked.subject.labels is None
    picked = asked[torch.tensor([1])]
    assert picked.subject is not None
    assert picked.subject.constraints is not None
    assert torch.equal(picked.subject.constraints[0], picked.C)
    assert picked.subject.upper is not None
    assert picked.subject.upper.tolist() == UPPER[1:]


def test_points_with_constraints_have_balls_around_them() -> None:
    asked = on_boxes(LOWER, C=[[1.0]], d=[0.0], epsilon=0.5)
    assert asked.subject is not None
    assert asked.subject.norm == "linf"
    assert bool((asked.regions.upper > torch.tensor(LOWER)).all())


WRONG: dict[str, dict[str, Any]] = {
    "one box a row": {"lower": [0.0, 1.0]},
    "at least one": {"lower": torch.zeros(0, 2), "upper": torch.zeros(0, 2)},
    "at most the upper": {"upper": [[0.0, 0.0], [1.0, 1.0]]},
    "finite ends": {"upper": [[inf, 2.0], [1.0, 1.0]]},
    "ends of shapes": {"upper": [[1.0, 2.0]]},
    "for 2 boxes: give one number": {"epsilon": [0.1, 0.1, 0.1]},
    "finite number ≥ 0": {"epsilon": -0.1},
    "too large": {"epsilon": 1.7e308, "lower": [[-1e308, 0.0], [0.0, 0.0]]},
    "in the domain": {"domain": (0.0, 1.0)},
    "either labels, or": {"C": [[1.0, 0.0]]},
    "for each of 2 boxes": {"label": [0, 3]},
    "0 without labels": {"label": None, "C": [[1.0, 0.0]], "d": [0.0], "margin": 1.0},
    "C and d of shapes": {"label": None, "C": [[[1.0, 0.0]]], "d": [[0.0]]},
    "NaN": {"label": None, "C": [[float("nan"), 0.0]], "d": [0.0]},
}


@pytest.mark.parametrize("words", WRONG)
def test_what_makes_no_sense_is_refused(words: str) -> None:
    usual: dict[str, Any] = {"lower": LOWER, "upper": UPPER, "label": [0, 1], "classes": 2}
    with pytest.raises(FedcertError, match=words):
        on_boxes(**usual | WRONG[words])
