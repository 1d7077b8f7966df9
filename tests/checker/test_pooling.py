"""Claims under pooling: proved from their files against closed forms; forged weights and parts are not."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from balls import precision
from flint import arb
from mixture_cases import LAWS, PLAIN, narrow, pooling, problem, saved, truth
from saved_certificates import Tensors, retold

from fedcert.families.paper_box.family import PaperBoxFamily
from fedcert.families.registry import family_named
from fedcert.federation.server import problem_of
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.message import Message
from fedcert_check import check
from fedcert_check.errors import InvalidCertificate
from fedcert_check.rules import read_rule


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = problem(pooling())
    return saved(tmp_path_factory.mktemp("run"), asked, family_named("projected").prove(asked, "direct"))


def test_a_direct_claim_is_the_exact_mixture_of_the_clients(direct: Path) -> None:
    report = check(direct)
    assert report.verdict
    with precision(200):
        for proved, p in zip(report.proved, truth(pooling()), strict=True):
            assert arb(proved.lower) <= p <= arb(proved.upper)
            assert proved.upper - proved.lower < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("events", ["projected", "box"])
def test_a_transported_claim_keeps_to_the_exact_probability(events: str, tmp_path: Path) -> None:
    laws = list(map(narrow, LAWS))
    asked = problem(pooling(), laws)
    asked = asked.asking(asked.properties[:1])
    report = check(saved(tmp_path, asked, family_named(events).prove(asked, "transported")))
    assert report.verdict
    with precision(200):
        assert 0 < truth(pooling(), laws)[0] - arb(report.proved[0].lower) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["transported", "direct"])
def test_cells_are_proved_client_by_client(kind, tmp_path: Path) -> None:
    family, law = PaperBoxFamily(gamma=(4.0,), centers=4, screen=False), narrow(PLAIN)
    asked = problem(pooling(), [law] * 3)
    safe = asked.safe(family.verifier)
    sent = [Message(f"client-{i}", law, family.client_cells(law, i, safe), 10, family.name) for i in range(3)]
    for message in sent:
        message.save(tmp_path / "messages" / f"{message.client}.safetensors")
    asked = problem_of(sent, asked.rule, asked.network, asked.properties)
    found = family.prove(asked, kind)
    assert found.lower[0].item() > 0.5
    path = tmp_path / "certificates" / "own.safetensors"
    save_certificate(path, found, asked.network, asked.properties, asked.rule, sent)
    assert check(path).verdict


def reweighted(*weights: float) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {**tensors, "rule.weights": torch.tensor(weights).double().unsqueeze(1)}


def test_other_weights_are_another_claim(direct: Path) -> None:
    """Only their proportions count; weights for which the claim is wrong do not prove it."""
    assert check(retold(direct, reweighted(0.5, 1.0, 2.0))).verdict
    moved = check(retold(direct, reweighted(4.0, 2.0, 1.0)))
    assert moved.failures
    own = pooling()
    other = type(own)(torch.tensor([[4.0], [2.0], [1.0]]).double())
    for proved, p in zip(moved.proved, truth(other), strict=True):
        assert arb(proved.lower) <= p <= arb(proved.upper)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (reweighted(1.0, -1.0, 1.0), "not negative"),
        (reweighted(0.0, 0.0, 0.0), "not all of them are zero"),
        (reweighted(1.0, 1.0), "rule.weights"),
        (lambda tensors: {**tensors, "rule.offset": torch.zeros(2).double()}, "no offset"),
        (lambda tensors: {n: t for n, t in tensors.items() if "client.1." not in n}, "missing"),
        (lambda tensors: {n: t for n, t in tensors.items() if not n.endswith("claim.upper")}, "claim.upper"),
        (
            lambda tensors: {**tensors, "witness.client.0.claim.lower": torch.full((2,), 1.5).double()},
            "outside",
        ),
    ],
)
def test_what_is_no_pool_is_refused(direct: Path, change, complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        check(retold(direct, change))


def test_what_is_claimed_of_one_client_is_only_a_hint(direct: Path) -> None:
    def modest(tensors: Tensors) -> Tensors:
        nothing = torch.zeros_like(tensors["lower"])
        return {**tensors, "witness.client.2.claim.lower": nothing}

    def bold(tensors: Tensors) -> Tensors:
        return {**tensors, "witness.client.2.claim.lower": torch.ones_like(tensors["lower"])}

    assert check(retold(direct, modest)).failures == (0, 1)
    assert check(retold(direct, bold)).proved == check(direct).proved


def test_the_witnesses_of_two_clients_cannot_be_exchanged_for_more(direct: Path) -> None:
    def exchanged(tensors: Tensors) -> Tensors:
        places = {"client.0.": "client.2.", "client.2.": "client.0."}
        renamed = {}
        for name, tensor in tensors.items():
            for own, other in places.items():
                if name.startswith(f"witness.{own}"):
                    name = name.replace(own, other)
                    break
            renamed[name] = tensor
        return renamed

    with pytest.raises(InvalidCertificate, match="components"):
        check(retold(direct, exchanged))


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "linear", "name": "pooling", "clients": 2},
        {"type": "trimmed-mean", "name": "pooling", "clients": 3, "trim": 1},
        {"type": "pooling", "name": "fedavg", "clients": 2},
        {"type": "pooling", "name": "median", "clients": 2},
    ],
)
def test_the_name_must_be_deserved(entry: dict[str, object]) -> None:
    arrays = {} if entry["type"] == "trimmed-mean" else {"rule.weights": np.full((2, 1), 0.5)}
    with pytest.raises(InvalidCertificate, match="is not"):
        read_rule(entry, arrays, 5)


def test_pooling_maps_no_boxes_and_deploys_no_gaussian() -> None:
    rule = read_rule(
        {"type": "pooling", "name": "pooling", "clients": 2}, {"rule.weights": np.ones((2, 1))}, 5
    )
    with pytest.raises(InvalidCertificate, match="maps no boxes"):
        rule.image([])
    with pytest.raises(InvalidCertificate, match="no Gaussian law"):
        rule.deployed([])
