"""Certificates of random last layers behind fixed ones: proved, claimed too high, and tampered with."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from dependent_problems import Structure, make_dependent
from saved_certificates import retold as rewritten
from saved_certificates import saved
from torch import Tensor

from fedcert.errors import InvalidCertificate
from fedcert.families.projected.choices import CARRIED
from fedcert.wire.container import read_container
from fedcert_check import check

Tensors = dict[str, Tensor]
STRUCTURES: tuple[Structure, ...] = ("last", "head")


def made(folder: Path, structure: Structure, kind: str = "direct", radius: float = 0.05) -> Path:
    problem = make_dependent(4, (2, 5, 4, 2), 0.05, structure, radius=radius, constraints=2)
    return saved(folder, problem, problem.properties(problem.offsets(2.5)), kind)


def witness(path: Path, name: str) -> Tensor:
    return read_container(path)[1][f"witness.{name}"]


def refused(path: Path, change: Callable[[Tensors], Tensors]) -> bool:
    """Whether the certificate, changed, is not proved or does not fit together."""
    try:
        return not check(rewritten(path, change)).verdict
    except InvalidCertificate:
        return True


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kind", ["local", "direct", "boxes"])
@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_every_certificate_is_proved_and_no_higher_one(
    structure: Structure, kind: str, radius: float, tmp_path: Path
) -> None:
    path = made(tmp_path, structure, kind, radius)
    prefix = "client.0." if kind == "local" else ""
    assert (witness(path, f"{prefix}method") == CARRIED).all()
    assert bool(witness(path, f"{prefix}chain.carried").any()) == (radius > 0)
    report, claimed = check(path), read_container(path)[1]["lower"].item()
    assert report.verdict
    assert 0.3 < claimed < 0.999
    assert claimed <= report.proved[0].lower <= claimed + 1e-6
    assert refused(path, lambda own: {**own, "lower": own["lower"] + 1e-6})


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("method", 2),
        ("chain.carried", 0),
        ("chain.carried", 2),
        ("chain.sign.1", 1),
        ("chain.slope.0", 2.0),
        ("chain.kappa", -1.0),
        ("chain.failure", 0.0),
    ],
)
def test_other_choices_do_not_prove_the_claim(
    structure: Structure, name: str, value: float, tmp_path: Path
) -> None:
    path, key = made(tmp_path, structure), f"witness.{name}"
    assert refused(path, lambda own: {**own, key: torch.full_like(own[key], value)})


@pytest.mark.parametrize("name", ["chain.carried", "chain.below.0", "chain.slope.1"])
def test_a_missing_choice_is_refused(name: str, tmp_path: Path) -> None:
    path = made(tmp_path, "last")
    with pytest.raises(InvalidCertificate, match=name):
        check(rewritten(path, lambda own: {n: t for n, t in own.items() if n != f"witness.{name}"}))


def test_a_table_of_another_shape_is_refused(tmp_path: Path) -> None:
    path, key = made(tmp_path, "head"), "witness.chain.carried"
    with pytest.raises(InvalidCertificate, match=r"chain\.carried"):
        check(rewritten(path, lambda own: {**own, key: own[key][:, :1]}))


def test_cells_of_clients_are_not_proved_by_it(tmp_path: Path) -> None:
    """Transport by cells needs the clients' projections, which this method has not."""
    path = made(tmp_path, "last", "limit")
    carried = {"witness.carried": torch.ones(1, 2, dtype=torch.uint8)}

    def change(own: Tensors) -> Tensors:
        return {**own, **carried, "witness.method": torch.full_like(own["witness.method"], CARRIED)}

    assert check(path).verdict
    assert not check(rewritten(path, change)).verdict


@pytest.mark.parametrize("structure", ["kronecker", "layers"])
def test_it_proves_nothing_of_random_hidden_layers(structure: Structure, tmp_path: Path) -> None:
    path = made(tmp_path, structure)
    carried = {"witness.chain.carried": torch.ones(1, 2, dtype=torch.uint8)}

    def change(own: Tensors) -> Tensors:
        return {**own, **carried, "witness.method": torch.full_like(own["witness.method"], CARRIED)}

    assert check(path).verdict
    assert check(rewritten(path, change)).proved[0].lower == 0
