"""Confidence bounds under pooling and from messages with mixtures: drawn again by the checker."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from mixture_cases import LAWS, NETWORK, fedavg, pooling, problem, truth

from fedcert.certificate import clopper_pearson
from fedcert.confidence.bounding import bound
from fedcert.confidence.independent import IndependentClient
from fedcert.confidence.pooled import draw_pooled
from fedcert.families.cells import Cells
from fedcert.laws import DiagonalGaussian
from fedcert.rules import AggregationRule, Pooling
from fedcert.wire.confidence_file import save_confidence
from fedcert.wire.message import Message
from fedcert_check.confidence.checking import check_confidence

DRAWS = 400


@pytest.mark.slow
@pytest.mark.parametrize("rule", [fedavg(), pooling()], ids=lambda rule: rule.name)
def test_the_checker_draws_mixtures_again_from_their_messages(rule: AggregationRule, tmp_path: Path) -> None:
    asked = problem(rule)
    messages = [Message(f"client-{i}", law, Cells.none(2), 1 + i) for i, law in enumerate(LAWS)]
    for message in messages:
        message.save(tmp_path / "messages" / f"{message.client}.safetensors")
    found = bound(asked, DRAWS, 1e-6, [message.digest for message in messages])
    path = tmp_path / "confidence" / "own.safetensors"
    save_confidence(path, found, asked, messages)
    report = check_confidence(path)
    assert report.verdict
    assert report.proven == tuple(found.proven.tolist())
    assert report.broken == tuple(found.broken.tolist())
    for p, exact in enumerate(truth(rule)):
        assert found.lower[p].item() < float(exact) < found.upper[p].item()
        assert found.upper[p] - found.lower[p] < 0.4


def test_each_client_is_drawn_as_often_as_it_weighs_and_from_its_own_law() -> None:
    places = (-100.0, 0.0, 100.0)
    laws = [DiagonalGaussian(torch.full((2,), at).double(), torch.ones(2).double()) for at in places]
    rule = Pooling(torch.tensor([[1.0], [0.0], [3.0]]).double())
    with ThreadPoolExecutor(1) as workers:
        drawn, known = draw_pooled(
            rule, NETWORK, list(map(IndependentClient.of, laws)), (1, 2), range(2000), workers
        )
    assert known.all()
    for place, share in zip(places, (0.25, 0.0, 0.75), strict=True):
        hits = int(((drawn.centre - place).abs() < 20).all(-1).sum())
        low, high = clopper_pearson(hits, 2000, 1 - 1e-9)
        assert low <= share <= high
    assert ((drawn.centre.abs() - 100).abs() < 20).all()


def test_a_word_between_two_clients_loses_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedcert.confidence.pooled._word", lambda key, number, stream: 2**64 // 3)
    rule = Pooling(torch.ones(3, 1).double())
    law = DiagonalGaussian(torch.zeros(2).double(), torch.ones(2).double())
    with ThreadPoolExecutor(1) as workers:
        _, known = draw_pooled(rule, NETWORK, [IndependentClient.of(law)] * 3, (1, 2), range(4), workers)
    assert not known.any()
