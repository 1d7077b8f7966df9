"""Certificates from sums: they hold for the law of the real posteriors, and the checker proves them."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import fedcert
from fedcert import DiagonalGaussian, Message, linf_robustness, mlp, stream
from fedcert.api.sums import certify_sum
from fedcert.errors import InvalidMessage
from fedcert.federation.acceptance import Expected, accept
from fedcert.federation.sums import FixedPoint, message_of_sum, summand
from fedcert.laws.enclosed import EnclosedGaussian
from fedcert.wire.certificate_file import save_certificate
from fedcert_check import certificates, check, check_run
from fedcert_check.errors import InvalidCertificate

pytestmark = pytest.mark.slow

RULES = ("fedavg", "pog")
COARSE = {"fedavg": FixedPoint(6, 12), "pog": FixedPoint(6, 6)}
NETWORK = mlp(2, 4, 2)
MEAN = torch.tensor([2, 0, 0, 2, 1, 1, 1, -1, 0, 0, 0, 0, 1, -1, 0, 1, -1, 1, 0, -1, 0, 0]).double()
LAWS = [
    DiagonalGaussian(MEAN + 0.021 * i, torch.full_like(MEAN, 0.15) + 0.013 * i + 0.001 * MEAN)
    for i in range(3)
]
ASKED = linf_robustness([[0.65, 0.35], [0.4, 0.6]], [0, 1], 0.01, classes=2)


@pytest.mark.parametrize("events", ["projected", "box"])
@pytest.mark.parametrize("rule", RULES)
def test_what_is_saved_is_proved_and_nearly_the_certificate_from_all_messages(
    rule: str, events: str, tmp_path: Path
) -> None:
    found = certify_sum([summand(law, rule) for law in LAWS], rule, NETWORK, ASKED, events=events)
    found.save(tmp_path / "run")
    assert check_run(tmp_path / "run").exit_code == 0
    same = fedcert.certify(LAWS, rule, NETWORK, ASKED, events=events, claims=("direct",))
    assert found.lower == pytest.approx(same.lower, abs=1e-4)
    assert found.upper == pytest.approx(same.upper, abs=1e-4)


def exact_probability(laws: list[DiagonalGaussian], rule: str, x: torch.Tensor) -> float:
    """Pr(logit 0 wins at x), of a network with one layer: the difference of the logits is normal."""
    weights = torch.ones(len(laws), 1).double() / len(laws)
    precisions = torch.stack([law.scale**-2 for law in laws])
    if rule == "pog":
        weights = precisions / precisions.sum(0)
    loc = sum(w * law.loc for w, law in zip(weights, laws, strict=True))
    variance = sum((w * law.scale) ** 2 for w, law in zip(weights, laws, strict=True))
    row = torch.tensor([x[0], x[1], -x[0], -x[1], 1, -1]).double()
    return 0.5 * math.erfc(-(row @ loc) / math.sqrt(2 * (row**2 @ variance)))


@pytest.mark.parametrize("rule", RULES)
def test_the_bounds_hold_for_the_real_posteriors_and_would_not_without_the_charge(rule: str) -> None:
    network, wrong, noise = mlp(2, 2), 0, 1e-9  # of the oracle
    identity = fedcert.LinearRule.average(torch.ones(1, 1).double(), rule)
    for seed in range(12):
        generator, x = stream(seed), torch.tensor([0.7, 0.3])
        laws = [
            DiagonalGaussian(
                torch.randn(6, generator=generator).double() / 3,
                torch.rand(6, generator=generator).double() / 2 + 0.2,
            )
            for _ in range(3)
        ]
        exact, asked = exact_probability(laws, rule, x), linf_robustness([x.tolist()], [0], 0.0, classes=2)
        sent = [summand(law, rule, 1, COARSE[rule]) for law in laws]
        found = certify_sum(sent, rule, network, asked, bits=COARSE[rule])
        assert found.lower[0] <= exact + noise
        assert exact - noise <= found.upper[0]
        assert found.lower[0] > 0.0
        own = message_of_sum(sent, rule, COARSE[rule])[0].law.gaussian
        uncharged = fedcert.certify([replace(own, loc_error=None, scale_error=0.0)], identity, network, asked)
        wrong += not uncharged.lower[0] <= exact + noise or not exact - noise <= uncharged.upper[0]
    assert wrong > 6


def test_the_checker_takes_a_sum_alone_and_direct_claims_alone(tmp_path: Path) -> None:
    message, identity = message_of_sum([summand(law, "fedavg") for law in LAWS], "fedavg")
    both = fedcert.certify([message], identity, NETWORK, ASKED)
    both.save(tmp_path / "both")
    kinds = {path.name.partition("-")[0]: path for path in certificates(tmp_path / "both")}
    with pytest.raises(InvalidCertificate, match="direct claims alone"):
        check(kinds["transported"])
    other = Message("other", LAWS[0], message.cells, 1)
    pair = fedcert.certify([message, other], "fedavg", NETWORK, ASKED, claims=("direct",))
    pair.save(tmp_path / "pair")
    with pytest.raises(InvalidCertificate, match="deployed as it is"):
        check(certificates(tmp_path / "pair")[0])
    weighted = fedcert.LinearRule(torch.full((1, 1), 0.5).double())
    half = fedcert.certify([message], weighted, NETWORK, ASKED, claims=("direct",))
    half.save(tmp_path / "half")
    with pytest.raises(InvalidCertificate, match="deployed as it is"):
        check(certificates(tmp_path / "half")[0])


def test_the_checker_holds_a_claim_to_the_stated_errors(tmp_path: Path) -> None:
    """A certificate that was made for a law without error is not proved for one that has errors."""
    sent = [summand(law, "fedavg", 1, COARSE["fedavg"]) for law in LAWS]
    message, identity = message_of_sum(sent, "fedavg", COARSE["fedavg"])
    own = message.law.gaussian
    free = Message(message.client, EnclosedGaussian(replace(own, loc_error=0 * own.loc, scale_error=0.0)),
                   message.cells, message.examples)  # fmt: skip
    found = fedcert.certify([free], identity, NETWORK, ASKED, claims=("direct",))
    for each, name in ((free, "free"), (message, "stated")):
        each.save(tmp_path / name / "messages" / "sum.safetensors")
        path = tmp_path / name / "certificates" / "direct.safetensors"
        save_certificate(path, found.certificates[0], NETWORK, ASKED, identity, [each])
    assert check(tmp_path / "free" / "certificates" / "direct.safetensors").verdict
    assert not check(tmp_path / "stated" / "certificates" / "direct.safetensors").verdict


def test_no_client_passes_a_sum_for_its_own_law(tmp_path: Path) -> None:
    message, _ = message_of_sum([summand(law, "fedavg") for law in LAWS], "fedavg")
    message.save(tmp_path / "a.safetensors")
    assert Message.load(tmp_path / "a.safetensors").digest == message.digest
    with pytest.raises(InvalidMessage, match="law: a sum of clients' laws"):
        accept([tmp_path / "a.safetensors"], Expected(1, 22, 2, None))
