"""Regions cut into pieces, proven again; parts that the witness does not name, or names wrongly."""

from pathlib import Path

import pytest
import torch
from federated_problems import make_federated
from saved_certificates import Tensors, demanding, retold, write

from fedcert.errors import InvalidCertificate
from fedcert.families.problem import Problem
from fedcert.families.projected.choices import PIECES
from fedcert.families.projected.direct import certify_projected_directly
from fedcert.families.projected.transported import certify_projected
from fedcert_check import check


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of pieces, claimed as high as the checker proves it."""
    folder, asked = tmp_path_factory.mktemp("pieces"), problem()
    certificate = certify_projected_directly(asked)
    assert certificate.witness is not None
    assert (certificate.witness.tensors["method"] == PIECES).any()
    made = retold(write(folder, federated(), asked.properties, certificate), demanding)
    return made.rename(made.with_name("honest.safetensors"))


def federated():
    return make_federated(4, (2, 4, 2), 0.02, 0.4, 2)


def problem() -> Problem:
    made = federated()
    return Problem(made.network, made.properties(made.offsets(4.0)), tuple(made.laws), made.rule)


def test_pieces_are_proven_again(path: Path) -> None:
    (proved,) = check(path).proved
    assert proved.lower > 0.1


def test_transported_ones_too(tmp_path: Path) -> None:
    asked = problem()
    report = check(write(tmp_path, federated(), asked.properties, certify_projected(asked)))
    assert report.verdict
    assert report.document.lower[0] > 0.1


@pytest.mark.parametrize("number", [0, -1, 2**31 - 1])
def test_parts_of_an_absurd_number_are_refused(path: Path, number: int) -> None:
    def change(tensors: Tensors) -> Tensors:
        table = tensors["witness.pieces.counts"]
        return tensors | {"witness.pieces.counts": torch.full_like(table, number)}

    with pytest.raises(InvalidCertificate, match=r"parts|pieces"):
        check(retold(path, change))


def test_fewer_parts_than_the_bound_needs_prove_less(path: Path) -> None:
    """One piece is the whole region: its bound is what the choices of the first piece prove of all of it."""

    def change(tensors: Tensors) -> Tensors:
        table = tensors["witness.pieces.counts"]
        return tensors | {"witness.pieces.counts": torch.ones_like(table)}

    honest, less = check(path).proved[0].lower, check(retold(path, change)).proved[0].lower
    assert less < honest - 0.05


def test_more_parts_than_there_are_choices_are_refused(path: Path) -> None:
    def change(tensors: Tensors) -> Tensors:
        return tensors | {"witness.pieces.counts": 2 * tensors["witness.pieces.counts"]}

    with pytest.raises(InvalidCertificate, match="row too many"):
        check(retold(path, change))
