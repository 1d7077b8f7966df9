"""Specifications in VNN-LIB: what is safe is the negation of what they state, never less."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from integrations import library

from fedcert.adapters.vnnlib import from_vnnlib, rounded_down, specified
from fedcert.errors import DataError, FedcertError, InvalidProperty
from fedcert.model.network import mlp

library("vnnlib")
NETWORK = "(declare-network f (declare-input X float64 [2]) (declare-output Y float64 [3]))"
HEAD = f"(vnnlib-version <2.0>)\n{NETWORK}\n"
BOX = "(assert (and (>= X[0] 0.1) (<= X[0] 0.3) (>= X[1] -1.0) (<= X[1] 2.0)))\n"
FIRST = "".join(f"(declare-const X_{i} Real)\n" for i in range(2)) + "".join(
    f"(declare-const Y_{i} Real)\n" for i in range(3)
)


def unsafe_outputs(y: np.ndarray) -> np.ndarray:
    """What the text of `OUTPUTS` states, in Python."""
    return (y[:, 0] <= y[:, 1]) | (2 * y[:, 2] - y[:, 0] >= 0.7)


OUTPUTS = "(assert (or (<= Y[0] Y[1]) (>= (- (* 2.0 Y[2]) Y[0]) 0.7)))"


def test_safe_is_what_is_not_unsafe() -> None:
    asked = specified(HEAD + BOX + OUTPUTS, 2, 3)
    assert (len(asked), asked.C.shape) == (1, (1, 2, 3))
    y = np.random.default_rng(0).normal(size=(4000, 3))
    found = (asked.C[0] @ torch.from_numpy(y).T + asked.d[0][:, None] >= 0).all(0).numpy()
    np.testing.assert_array_equal(found, ~unsafe_outputs(y))
    assert 0.1 < found.mean() < 0.9


def test_a_border_that_is_unsafe_is_not_safe() -> None:
    asked = specified(HEAD + BOX + "(assert (<= Y[0] 0.5))", 2, 3)
    row, offset = asked.C[0, 0], asked.d[0, 0].item()
    assert row.tolist() == [1.0, 0.0, 0.0]
    assert Fraction(0.5) + Fraction(offset) < 0  # y = 1/2 is unsafe
    assert Fraction(0.5000001) + Fraction(offset) >= 0
    open_end = specified(HEAD + BOX + "(assert (< Y[0] 0.5))", 2, 3)
    assert open_end.d[0, 0].item() == -0.5  # y = 1/2 is safe


def test_numbers_are_rounded_so_that_nothing_is_lost() -> None:
    asked = specified(HEAD + BOX + "(assert (<= (* 0.1 Y[0]) 0.3))", 2, 3)
    low, high = asked.regions.lower[0], asked.regions.upper[0]
    assert Fraction(low[0].item()) <= Fraction("0.1")
    assert Fraction(high[0].item()) >= Fraction("0.3")
    assert (low[1].item(), high[1].item()) == (-1.0, 2.0)
    factor = Fraction(asked.C[0, 0, 0].item()) / Fraction(
        "0.1"
    )  # by which the constraint was multiplied, exactly
    assert factor > 0
    assert Fraction(asked.d[0, 0].item()) < -Fraction("0.3") * factor


@pytest.mark.parametrize("value", ["0", "0.1", "-0.1", "1e-310", "-1e-310", "1", "123456789012345678901"])
@pytest.mark.parametrize("strictly", [False, True])
def test_rounded_down_is_below_and_normal(value: str, strictly: bool) -> None:
    exact, found = Fraction(value), rounded_down(Fraction(value), strictly)
    assert Fraction(found) < exact or (not strictly and Fraction(found) == exact)
    assert found == 0 or abs(found) >= 2.0**-1022


def test_cases_of_one_box_are_one_property_and_other_boxes_others() -> None:
    cases = " ".join(
        f"(and (>= X[0] {low}) (<= X[0] 0.5) (>= Y[{k}] Y[0]))" for low in ("0.0", "0.25") for k in (1, 2)
    )
    other = "(and (== X[0] 0.5) (<= Y[0] 1.0))"
    text = HEAD + f"(assert (>= X[1] 0.0))(assert (<= X[1] 1.0))(assert (or {cases} {other}))"
    asked = specified(text, 2, 3)
    assert asked.regions.lower[:, 0].tolist() == [0.0, 0.25, 0.5]
    assert asked.regions.upper[:, 0].tolist() == [0.5, 0.5, 0.5]
    assert asked.C[2].tolist() == [[1.0, 0.0, 0.0]] * 2  # one constraint, said twice
    assert asked.subject is not None
    assert asked.subject.labels is None


def test_the_first_version_of_the_language_says_the_same(tmp_path: Path) -> None:
    old = FIRST + "; a comment: X_0\n(assert (>= X_0 1e-1))\n(assert (<= X_0 0.3))(assert (>= X_1 -1))\n"
    old += "(assert (<= X_1 2))\n(assert (or (<= Y_0 Y_1) (>= (- (* 2 Y_2) Y_0) 7e-1)))"
    (tmp_path / "old.vnnlib").write_text(old)
    one, other = from_vnnlib(tmp_path / "old.vnnlib", mlp(2, 3)), specified(HEAD + BOX + OUTPUTS, 2, 3)
    assert torch.equal(one.regions.lower, other.regions.lower)
    assert torch.equal(one.C, other.C)
    assert torch.equal(one.d, other.d)


REFUSED = {
    "several together": ("(assert (and (<= Y[0] Y[1]) (<= Y[0] Y[2])))", "line 4: 2 constraints on outputs"),
    "none": ("", "0 constraints on outputs"),
    "product": ("(assert (<= (* Y[0] Y[1]) 1.0))", "line 4.*not linear"),
    "equal": ("(assert (== Y[0] 1.0))", "line 4: 2 constraints"),
    "unequal": ("(assert (!= Y[0] 1.0))", "line 4.*supported are"),
    "several inputs": ("(assert (<= (+ X[0] X[1]) 1.0))", "line 4: a constraint on several inputs"),
    "mixed": ("(assert (<= X[0] Y[1]))", "line 4: a constraint on inputs and outputs"),
    "contradiction": ("(assert (<= X[0] 0.05))(assert (<= Y[0] 1.0))", "bounds of input 0 contradict"),
    "unknown": ("(assert (<= Z[0] 1.0))", "line 4"),
    "syntax": ("(assert (<= Y[0] ))", "line 4"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_expressed_is_refused_with_its_line(name: str) -> None:
    text, words = REFUSED[name]
    with pytest.raises(FedcertError, match=words) as found:
        specified(HEAD + BOX + text, 2, 3)
    assert "\n" not in str(found.value)


def test_missing_bounds_and_wrong_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProperty, match="input 1 has no lower bound"):
        specified(HEAD + "(assert (and (>= X[0] 0.0) (<= X[0] 1.0)))(assert (<= Y[0] 1.0))", 2, 3)
    with pytest.raises(InvalidProperty, match="2 inputs of X, but the model has 4"):
        specified(HEAD + BOX + OUTPUTS, 4, 3)
    with pytest.raises(DataError, match="X_0, X_1"):
        specified("(declare-const X_1 Real)(declare-const Y_0 Real)(assert (<= X_1 0))", 1, 1)
    with pytest.raises(DataError, match=r"no\.vnnlib"):
        from_vnnlib(tmp_path / "no.vnnlib", mlp(2, 3))
