from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from report_samples import chosen_inputs, result

from fedcert.app.conclusions import best_bounds, conclusions
from fedcert.app.proofs import Drawn, Proven
from fedcert.app.run import RunResult
from fedcert.certificate import Certificate, Claim, Kind
from fedcert.confidence import ConfidenceBound

INPUTS = chosen_inputs()
NEAR, FAR = 0.001, 0.25


def proven(
    lower: Sequence[float],
    upper: Sequence[float] | None = None,
    kind: Kind = "direct",
    rule: str = "fedavg",
    epsilon: float = NEAR,
    margin: float = 0.0,
) -> Proven:
    bounds = [None if own is None else torch.tensor(own, dtype=torch.float64) for own in (lower, upper)]
    certificate = Certificate(Claim(kind, rule, "projected"), *bounds)  # type: ignore[arg-type]
    return Proven(certificate, INPUTS.properties_within(epsilon, margin, 10), epsilon, margin, "file", 1.0)


def about(proofs: Sequence[Proven], at_margins: Sequence[Proven] = ()) -> RunResult:
    """A run at two radii that proved this."""
    run = result(epsilon=(NEAR, FAR))
    return replace(run, proven=list(proofs), proven_at_margins=list(at_margins))


def expected(run: RunResult) -> dict[float, tuple[float, float | None]]:
    """The bounds of the expected accuracy at each radius, which is the first conclusion there."""
    found = {}
    for one in conclusions(run):
        if one.name == "expected-accuracy":
            assert one.value is not None
            assert (one.rule, one.epsilon not in found) == ("fedavg", True)
            found[one.epsilon] = one.value, one.upper
    return found


def test_bounds_are_the_best_of_all_certificates_input_by_input() -> None:
    certificates = [
        proven([0.25, 0.75]),
        proven([0.5, 0.125], [0.75, 1.0], kind="transported"),
        proven([0.0, 0.0], [0.875, 0.8125]),
    ]
    bounds = best_bounds(certificates, [proven([0.125, 0.5], margin=1.0)])
    assert (bounds.lower, bounds.upper) == ((0.5, 0.75), (0.75, 0.8125))
    assert bounds.at_margins == ((1.0, (0.125, 0.5)),)
    assert (bounds.rule, bounds.classes, len(bounds.subject)) == ("fedavg", 10, 2)
    assert (bounds.subject.common_radius, bounds.subject.chosen) == (NEAR, "first")


def test_without_an_upper_bound_there_is_none() -> None:
    assert best_bounds([proven([0.25, 0.75]), proven([0.5, 0.5])], []).upper is None


def test_each_radius_has_conclusions_of_its_own() -> None:
    run = about([proven([0.5, 0.75], [1.0, 1.0]), proven([0.25, 0.0], epsilon=FAR)])
    assert expected(run) == {NEAR: (0.625, 1.0), FAR: (0.125, None)}
    assert {one.epsilon for one in conclusions(run)} == {NEAR, FAR}


@pytest.mark.parametrize(
    "other",
    [
        proven([1.0, 1.0], kind="local"),
        proven([1.0, 1.0], rule="pog"),
        proven([1.0, 1.0], epsilon=FAR),
    ],
    ids=["local", "another rule", "another radius"],
)
def test_nothing_is_concluded_at_a_radius_from_what_does_not_speak_of_its_model(other: Proven) -> None:
    own = proven([0.5, 0.5], [0.75, 0.75])
    assert expected(about([other, own]))[NEAR] == (0.5, 0.75)


def test_without_a_claim_about_the_deployed_model_nothing_is_concluded() -> None:
    assert conclusions(about([proven([1.0, 1.0], kind="local"), proven([1.0, 1.0], rule="pog")])) == []


def test_softmax_decisions_follow_from_certificates_for_margins_at_the_same_radius() -> None:
    own = [proven([0.5, 0.5]), proven([0.5, 0.5], epsilon=FAR)]
    names = [(one.epsilon, one.name) for one in conclusions(about(own))]
    assert all(name != "mean-softmax" for _, name in names)
    sure = proven([1.0, 0.25], margin=9.0)
    (found,) = (one for one in conclusions(about(own, [sure])) if one.name == "mean-softmax")
    assert (found.epsilon, found.value) == (NEAR, 1)


def test_a_confidence_bound_is_told_at_its_radius_beside_the_proven_ones() -> None:
    counts = torch.tensor([40, 30])
    lower, upper = torch.tensor([[0.5, 0.25], [1.0, 0.75]]).double()
    bound = ConfidenceBound("fedavg", lower, upper, counts, torch.tensor([0, 10]), 40, 0.05, "ab" * 32)
    run = about([proven([0.0, 0.125]), proven([0.0, 0.0], epsilon=FAR)])
    run = replace(run, drawn=[Drawn(bound, FAR, "confidence/x", 1.0)])
    (found,) = (one for one in conclusions(run) if one.name == "confidence-accuracy")
    assert (found.epsilon, found.value, found.upper) == (FAR, 0.375, 0.875)
    assert "95 %" in found.sentence
    assert expected(run) == {NEAR: (0.0625, None), FAR: (0.0, None)}
