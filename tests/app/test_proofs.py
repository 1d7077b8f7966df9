import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_proofs import clients, everything, proofs

from fedcert.app.journal import Journal
from fedcert.app.proofs import allowed_failure
from fedcert.errors import InvalidConfig


@pytest.mark.slow
def test_every_claim_of_the_run_is_made_at_a_radius_each_with_a_file_of_its_own() -> None:
    found = list(proofs(events=("paper-box", "projected")).at(0.125))
    kinds = [("local", "fedavg"), ("transported", "fedavg"), ("direct", "fedavg"), ("direct", "pog")]
    assert [one.file for one in found] == [
        f"certificates/{kind}-{rule}-{events}-eps-0.125.safetensors"
        for events in ("paper-box", "projected")
        for kind, rule in kinds
    ]
    assert {(one.epsilon, one.margin) for one in found} == {(0.125, 0.0)}
    for one in found:
        assert one.properties.subject is not None
        assert one.properties.subject.radius.tolist() == 3 * [0.125]
        assert one.seconds > 0


def test_only_the_kinds_of_claims_that_are_asked_for_are_made() -> None:
    found = proofs(events=("paper-box", "projected"), claims=("direct",), compare=()).at(0.01)
    assert [(one.certificate.claim.kind, one.certificate.claim.events) for one in found] == [
        ("direct", "paper-box"),
        ("direct", "projected"),
    ]


def test_the_radius_is_the_one_that_is_asked_for_not_that_of_the_deployments() -> None:
    """The deployments were made for a radius of 0.5, at which nothing is proven."""
    own = proofs(claims=("direct",), compare=())
    ((near,), (far,)) = (list(own.at(epsilon)) for epsilon in (0.01, 0.5))
    assert (near.certificate.lower[:2] > 0.9).all()
    assert (far.certificate.lower < 0.1).all()


@pytest.mark.slow
def test_margins_are_proved_by_the_strongest_claim_and_larger_ones_are_harder() -> None:
    own = proofs(softmax_margins=(-1.0, 0.5, 4.0))
    found = list(own.at_margins(0.01))
    assert [one.file for one in found] == [
        f"certificates/direct-fedavg-projected-eps-0.01-margin-{margin}.safetensors"
        for margin in (-1.0, 0.5, 4.0)
    ]
    assert [one.margin for one in found] == [-1.0, 0.5, 4.0]
    assert [one.properties.subject.margin for one in found] == [-1.0, 0.5, 4.0]  # type: ignore[union-attr]
    lowers = torch.stack([one.certificate.lower for one in found])
    assert (lowers[0] > lowers[1]).all()
    assert (lowers[1] > lowers[2])[:2].all()
    assert list(proofs().at_margins(0.01)) == []


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
def test_radii_are_certified_at_their_threshold_and_nearly_the_largest() -> None:
    found = proofs().radii(0.75)
    radius, lower = found.found.radius, found.found.certificate.lower
    assert (found.file, found.threshold) == (
        "certificates/direct-fedavg-projected-radius-0.75.safetensors",
        0.75,
    )
    assert radius[2] == 0, "the third input lies on the boundary"
    assert (radius[:2] > 0.01).all()
    assert (lower[:2] >= 0.75).all()
    for i in (0, 1):
        (beyond,) = proofs(claims=("direct",), compare=()).at(1.05 * radius[i].item())
        assert beyond.certificate.lower[i] < 0.75


def test_a_rule_without_a_deployed_law_has_radii_by_transported_claims() -> None:
    found = proofs(rule="median", compare=(), events=("paper-box", "projected")).radii(0.5)
    assert found.found.radius.tolist() == [0.0, 0.0, 0.0], "without cells nothing is proven"
    claim = found.found.certificate.claim
    assert (claim.kind, claim.rule, claim.events) == ("transported", "median", "paper-box")
    with pytest.raises(InvalidConfig, match="median deploys"):
        proofs(rule="median", compare=(), events=("projected",)).radii(0.5)


def test_only_the_estimates_that_are_asked_for_are_drawn() -> None:
    names = [one.name for one in proofs(estimates=("mc-ibp",)).estimates(0.01)]
    assert names == ["mc-ibp", "mc-ibp"]  # under both rules
    everything = proofs(estimates=("mc-ibp", "attack-survival", "aggregated-sampling")).estimates(0.01)
    assert len(list(everything)) == 5
    assert list(proofs(estimates=()).estimates(0.01)) == []


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "run", {"run": "this one"}) as own:
        for message in clients():
            message.save(own.folder / "messages" / f"{message.client}.safetensors")
        yield own


@pytest.mark.slow
def test_what_was_made_before_is_read_back_to_the_last_bit_with_its_seconds(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedcert.federation.radius.STEPS", 2)
    asked = {"softmax_margins": (1.0,), "confidence_draws": 10, "estimates": ("mc-ibp",)}
    first = everything(proofs(journal.once, **asked))
    files = [file for file, *_ in first if "/" in file]
    assert all((journal.folder / file).is_file() for file in files)
    assert len(files) == len(set(files)) == 4 + 1 + 1 + 1

    def only_read(name: str, make: Any, form: Any) -> Any:
        return journal.once(name, lambda: pytest.fail(f"{name} is made again"), form)

    assert everything(proofs(only_read, **asked)) == first


@given(st.floats(0.0, 1.0, exclude_min=True, exclude_max=True))
def test_the_allowed_failure_is_the_largest_number_that_keeps_the_confidence(confidence: float) -> None:
    beta, stated = allowed_failure(confidence), Fraction(repr(confidence))
    assert 1 - Fraction(beta) >= stated
    assert 1 - Fraction(math.nextafter(beta, math.inf)) < stated
