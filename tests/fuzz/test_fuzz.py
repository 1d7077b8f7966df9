"""A short campaign, and whether the fuzzer would notice a bound that is wrong."""

import pytest
from sabotage import everywhere, free, ignoring_signs, unmoved

from fedcert_check import projected
from fuzz import campaign
from fuzz.campaign import KINDS, attempt, main

MANY, FEW = 200, 12
SLOW = [name for name, (_, share) in KINDS.items() if share <= 3]
BROKEN = [
    "sums",
    "means",
    "Gaussian masses",
    "rule images",
    "interval verifier",
    "linear verifier",
    "hyperbolic tangents",
    "convolutions",
    "residual additions",
    "layers",
    "weighted regions",
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_bound_of_a_short_campaign_is_wrong(kind: str) -> None:
    found = attempt(kind, FEW if kind in SLOW else MANY, seed=5)
    assert found.wrong == found.unproved == ()
    assert found.claims > found.problems / 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", BROKEN)
def test_the_fuzzer_notices_when_rounding_is_not_charged(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere(monkeypatch, "rounding_error", free)
    for name in ("down", "up"):
        everywhere(monkeypatch, name, unmoved)
    assert attempt(kind, MANY, seed=5).wrong


@pytest.mark.slow
def test_the_fuzzer_notices_when_quantisation_is_not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere(monkeypatch, "above", lambda x, roundings: 0 * x)
    assert attempt("sums of summands", MANY, seed=5).wrong


@pytest.mark.slow
def test_the_fuzzer_notices_a_divisor_that_is_rounded_through_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    ignoring_signs(monkeypatch)
    assert attempt("half-spaces of any magnitude", 400, seed=5).wrong


@pytest.mark.slow
def test_the_fuzzer_notices_a_claim_that_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projected, "PRECISIONS", (8,))
    assert attempt("checked, projected", FEW, seed=5).unproved


def test_the_campaign_fails_if_a_bound_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(campaign, "KINDS", {"sums": KINDS["sums"]})
    options = ["--problems", "300", "--seed", "3", "--jobs", "1"]
    assert main(options) == 0
    everywhere(monkeypatch, "rounding_error", free)
    assert main(options) == 1
    assert "stream(3, 'sums', 0," in capsys.readouterr().out
