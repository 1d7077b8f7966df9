"""A family of events is known by its name, or by a witness that is made of cells."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hostile import certificate, doubles, many_nodes, message
from saved import certify_all, make_federation, make_rules

from fedcert_check import check
from fedcert_check.errors import InvalidCertificate
from fedcert_check.families import CELLS, FAMILIES, family_of
from fedcert_check.files import read


@pytest.mark.slow
def test_every_saved_certificate_has_its_family(tmp_path: Path) -> None:
    federation = make_federation(widths=(2, 2))
    rule = make_rules(federation)["fedavg"]
    seen = set()
    for saved in certify_all(federation, rule, 2):
        path = federation.save(tmp_path, saved, rule)
        document = read(path, tmp_path / "messages")
        assert family_of(document) == FAMILIES.get(saved.claim.events, CELLS)
        seen.add((saved.claim.kind, saved.claim.events))
    assert seen == {
        (kind, events) for kind in ("local", "transported", "direct") for events in ("box", "paper-box")
    }


def test_cells_may_come_from_a_family_of_any_name(tmp_path: Path) -> None:
    assert check(many_nodes(tmp_path, 4)).document.events == "cells"
    document = read(many_nodes(tmp_path, 4), tmp_path / "messages")
    assert family_of(replace(document, events="star-shaped-cells")) == CELLS


@pytest.mark.parametrize("kind", ["local", "direct", "transported"])
def test_another_family_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    witness = {"radius": doubles(1), "accepted": torch.ones(1, dtype=torch.bool)}
    own = [message(tmp_path / "messages", 0, 2)]
    path = certificate(tmp_path, kind, "ellipsoids", (1, 1), witness, own)
    with pytest.raises(InvalidCertificate) as refused:
        check(path)
    assert str(refused.value) == (
        f"{path}: family of events 'ellipsoids': this checker knows box and projected, and families of cells,"
        " but the witness is not one of cells"
    )


@pytest.mark.parametrize("events", FAMILIES)
def test_a_known_family_needs_its_own_witness(events: str, tmp_path: Path) -> None:
    own = [message(tmp_path / "messages", 0, 2)]
    path = certificate(tmp_path, "direct", events, (1, 1), {"accepted": doubles(1)}, own)
    with pytest.raises(InvalidCertificate, match="is missing"):
        check(path)
