"""Certificates that pay once for constraints violated together: proved, claimed too high, tampered with."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from dependent_problems import Structure, make_dependent
from federated_problems import Federated
from flint import arb
from saved_certificates import retold, saved
from torch import Tensor

from fedcert.errors import InvalidCertificate
from fedcert.families.projected.overlap import ALONE
from fedcert.wire.container import read_container
from fedcert_check import check
from fedcert_check.projected import overlap
from fedcert_check.projected.overlap import none_violated

Tensors = dict[str, Tensor]
STRUCTURES: tuple[Structure, ...] = ("last", "head")
FINE = 2e-3  # what cells of a shared normal lose, at most


def problem(structure: Structure, radius: float = 0.02) -> Federated:
    """Rows of the last layer whose differences are floats, one of them almost another."""
    made = make_dependent(4, (2, 5, 4, 3), 0.1, structure, radius=radius, constraints=3)
    C = (made.C * 8).round() / 8
    C[:, 1] = C[:, 0] + torch.tensor([0.0, 0.125, 0.0]).double()
    return replace(made, C=C)


def made(folder: Path, structure: Structure, kind: str = "direct", radius: float = 0.02) -> Path:
    own = problem(structure, radius)
    return saved(folder, own, own.properties(own.offsets(1.5)), kind)


def shared(path: Path, prefix: str = "") -> Tensor:
    return read_container(path)[1][f"witness.{prefix}chain.shared"]


def proved(path: Path, change: Callable[[Tensors], Tensors]) -> float | None:
    """What is proved of the certificate, changed; None where it does not fit together."""
    try:
        return check(retold(path, change)).proved[0].lower
    except InvalidCertificate:
        return None


def with_shares(path: Path, change: Callable[[Tensor], Tensor]) -> float | None:
    key = "witness.chain.shared"
    return proved(path, lambda own: {**own, key: change(own[key])})


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kind", ["local", "direct", "boxes"])
@pytest.mark.parametrize("radius", [0.0, 0.02])
def test_every_certificate_is_proved_and_no_higher_one(
    structure: Structure, kind: str, radius: float, tmp_path: Path
) -> None:
    path = made(tmp_path, structure, kind, radius)
    assert (shared(path, "client.0." if kind == "local" else "") >= 0).sum() >= 2
    report, claimed = check(path), read_container(path)[1]["lower"].item()
    assert report.verdict
    assert 0.3 < claimed < 0.99
    assert claimed <= report.proved[0].lower <= claimed + 1e-6
    assert not check(retold(path, lambda own: {**own, "lower": own["lower"] + 1e-6})).verdict


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_file_without_the_table_pays_for_each_constraint(structure: Structure, tmp_path: Path) -> None:
    path = made(tmp_path, structure)
    claimed = read_container(path)[1]["lower"].item()
    left = proved(path, lambda own: {n: t for n, t in own.items() if n != "witness.chain.shared"})
    assert left is not None
    assert left < claimed - 0.01
    assert with_shares(path, lambda own: torch.full_like(own, ALONE)) == left


@pytest.mark.parametrize(
    "change",
    [
        lambda own: own * (1 + 2.0**-20),
        lambda own: own * 100,
        lambda own: torch.full_like(own, math.nan),
        lambda own: torch.full_like(own, math.inf),
        lambda own: own.clone().fill_(1.0),
    ],
    ids=["a little more", "much more", "no numbers", "infinite", "all the same"],
)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_shares_that_covariances_do_not_allow_prove_less(
    structure: Structure, change: Callable[[Tensor], Tensor], tmp_path: Path
) -> None:
    path = made(tmp_path, structure)
    claimed, found = read_container(path)[1]["lower"].item(), with_shares(path, change)
    assert found is None or found < claimed - 0.01


def test_a_table_of_another_shape_is_refused(tmp_path: Path) -> None:
    path, key = made(tmp_path, "last"), "witness.chain.shared"
    with pytest.raises(InvalidCertificate, match=r"chain\.shared"):
        check(retold(path, lambda own: {**own, key: own[key][:, :1]}))


def test_the_limit_of_shares_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were shares not held to the covariances, more would be proved than holds."""
    path = made(tmp_path, "last")
    claimed = read_container(path)[1]["lower"].item()

    def believed(own: Tensor) -> Tensor:
        return own * (1 + 2.0**-20)

    assert with_shares(path, believed) < claimed - 0.01
    monkeypatch.setattr(overlap, "combinations", lambda items, size: iter([(0, 0)]))
    assert with_shares(path, believed) > claimed


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5, 0.9])
def test_two_normals_have_the_probability_of_an_orthant(correlation: float) -> None:
    """Both are positive with probability ¼ + arcsin(ρ)/2π."""
    exact = 0.25 + math.asin(correlation) / (2 * math.pi)
    zero, one = (np.array([arb(v)] * 2, dtype=object) for v in (0, 1))
    found = float(none_violated(zero, one, [arb(correlation).sqrt().lower()] * 2))
    assert exact - FINE <= found <= exact


def test_cells_have_all_the_mass_and_are_counted_from_where_they_begin() -> None:
    found = overlap.cells(64)
    assert 1 - 1e-14 < float(sum((mass for _, mass in found), arb(0))) < 1
    assert all(float(a) < float(b) for (a, _), (b, _) in pairwise(found))
