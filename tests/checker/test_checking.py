"""What the fast path certifies, the checker proves: every kind of claim, rule and family of events."""

from pathlib import Path

import numpy as np
import pytest
import torch
from saved import Federation, certify_all, make_federation, make_rules

from fedcert.families.cells import Cells
from fedcert.families.mean_box.certify import certify_boxes
from fedcert.families.mean_box.events import MeanBox
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import AggregationRule, LinearRule, TrimmedMean
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier
from fedcert.wire.certificate_file import load_certificate
from fedcert.wire.message import Message
from fedcert_check import Report, check
from fedcert_check.document import Document, Proved
from fedcert_check.layers import Linear, Network
from fedcert_check.properties import Properties as Asked
from fedcert_check.rules import LinearRule as CheckedRule

FEDERATIONS = {
    "cells and boxes": {},
    "equal scales": {"equal_scales": True},
    "two hidden layers": {"widths": (2, 3, 3, 2)},
    "tiles": {"widths": (1, 2), "scale": 0.5},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fedavg", "equal scales"),
        ("pog", "cells and boxes"),
        ("linear", "two hidden layers"),
        ("linear", "tiles"),
        ("server-step", "tiles"),
        ("median", "tiles"),
        ("median", "cells and boxes"),
        ("trimmed-mean", "two hidden layers"),
    ],
)
@pytest.mark.usefixtures("without_annotations")
def test_every_certificate_is_saved_loaded_and_proved(name: str, kind: str, tmp_path: Path) -> None:
    federation = make_federation(**FEDERATIONS[kind])
    rule = make_rules(federation)[name]
    seen = set()
    for certificate in certify_all(federation, rule):
        path = federation.save(tmp_path, certificate, rule)
        loaded = load_certificate(path)
        assert loaded.certificate.claim == certificate.claim
        assert torch.equal(loaded.certificate.lower, certificate.lower)
        assert loaded.network == federation.safe.network
        assert [m.digest for m in loaded.messages] == [m.digest for m in federation.messages]
        report = check(path)
        assert report.verdict, (certificate.claim, report.proved, certificate.lower)
        seen.add((certificate.claim.kind, certificate.claim.events, bool((certificate.lower > 0).any())))
    kinds = {"local", "transported"} | ({"direct"} if name not in ("median", "trimmed-mean") else set())
    assert {(kind, "box", True) for kind in kinds} <= seen
    assert {(kind, events) for kind, events, _ in seen} >= {(kind, "paper-box") for kind in kinds}


@pytest.mark.slow
@pytest.mark.parametrize("rule", [LinearRule.fedavg([1, 1]), TrimmedMean.median(2)], ids=["fedavg", "median"])
def test_a_radius_for_each_parameter_is_proved(rule: AggregationRule, tmp_path: Path) -> None:
    """w x + b ≥ 0 at x = (1, 0, …), where one weight alone matters; in two processes."""
    n = 20
    law = DiagonalGaussian(torch.eye(n + 1, dtype=torch.float64)[n], torch.full((n + 1,), 0.3).double())
    x = torch.eye(n, dtype=torch.float64)[:2]
    properties = Properties(Box.point(x), torch.ones(2, 1, 1).double(), torch.zeros(2, 1).double())
    safe = Safe(mlp(n, 1), properties, IntervalVerifier())
    messages = [Message(f"client-{i}", law, Cells.none(n + 1), 1) for i in range(2)]
    certificate = certify_boxes([law, law], rule, safe, MeanBox(steps=8))
    assert certificate.witness.tensors["radius.row"].tolist() == [0, 1]
    path = Federation(messages, safe).save(tmp_path, certificate, rule)
    report = check(path, tmp_path / "messages", jobs=2)
    assert report.verdict
    assert (certificate.lower > 0.5).all()


def test_a_report_names_what_is_not_proved() -> None:
    one = np.ones((3, 1))
    document = Document(
        "direct",
        "box",
        CheckedRule("fedavg", one[:1]),
        Network((Linear(1, 1),)),
        (),
        Asked(one, one, one[:, None], one),
        np.full(3, 0.5),
        np.full(3, 0.9),
        {},
    )
    proved = (Proved(0.5, 0.9), Proved(0.49, 0.8), Proved(0.6, 0.91))
    report = Report(document, proved)
    assert report.failures == (1, 2)
    assert not report.verdict
    assert report.proved_mean == pytest.approx((0.53, 0.87))
