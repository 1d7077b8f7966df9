"""What a confidence bound is, and what it never says."""

import pytest
import torch
from problems import vector

from fedcert.confidence import ConfidenceBound
from fedcert.errors import ShapeMismatch

COUNTS = torch.tensor([90, 40])


def made(**changes: object) -> ConfidenceBound:
    fields = {
        "rule": "median",
        "lower": vector(0.7, 0.2),
        "upper": vector(0.95, 0.6),
        "proven": COUNTS,
        "broken": 98 - COUNTS,
        "draws": 100,
        "beta": 0.05,
        "seed": "ab" * 32,
    }
    return ConfidenceBound(**(fields | changes))


def test_means_are_rounded_outward() -> None:
    found = made(lower=vector(0.1, 0.2), upper=vector(0.3, 0.9))
    assert found.mean_lower <= 0.15 < found.mean_lower + 1e-12
    assert found.mean_upper - 1e-12 < 0.6 <= found.mean_upper


def test_it_never_speaks_without_its_confidence() -> None:
    text = str(made())
    assert "at 95 % confidence" in text
    assert "certif" not in text
    assert "prove" not in text


def test_undecided_draws_are_those_neither_proven_nor_broken() -> None:
    assert made().undecided == pytest.approx(0.02)


@pytest.mark.parametrize(
    "changes",
    [
        {"lower": vector(0.97, 0.2)},
        {"lower": vector(-0.1, 0.2)},
        {"upper": vector(1.1, 0.6)},
        {"lower": vector(float("nan"), 0.2)},
        {"proven": COUNTS + 3},
        {"broken": COUNTS - 41},
    ],
)
def test_bounds_and_counts_that_mean_nothing_are_refused(changes: dict) -> None:
    with pytest.raises(ArithmeticError):
        made(**changes)


def test_there_is_a_property() -> None:
    none = COUNTS[:0]
    with pytest.raises(ShapeMismatch):
        made(lower=none.double(), upper=none.double(), proven=none, broken=none)
