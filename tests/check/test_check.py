"""What the fast path certifies, the checker proves: every kind of claim, rule and family of events."""

from pathlib import Path

import pytest
import torch
from saved import certify_all, make_federation, make_rules

from fedcert.artifact import load_certificate
from fedcert.check import check

FEDERATIONS = {
    "cells and boxes": {},
    "equal scales": {"equal_scales": True},
    "two hidden layers": {"widths": (2, 3, 3, 2)},
    "tiles": {"widths": (1, 2), "scale": 0.5},
}


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
