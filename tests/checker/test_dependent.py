"""Certificates of laws whose parameters depend on each other: saved, proved, and tampered with."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from dependent_certificates import fails, prepared, reseal
from dependent_problems import STRUCTURES, Structure, make_dependent
from safetensors.torch import load_file, save_file
from saved_certificates import certified, write
from torch import Tensor

from fedcert.errors import InvalidCertificate
from fedcert.laws import DiagonalGaussian
from fedcert.wire.message import Message
from fedcert_check import check
from fedcert_check.container import read_arrays

pytestmark = pytest.mark.slow

KINDS = ("local", "direct", "transported")


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_every_certificate_is_proved(structure: Structure, kind: str, depth: int, tmp_path: Path) -> None:
    path, certificate = prepared(tmp_path, structure, kind, depth)
    report = check(path)
    assert report.verdict
    assert report.proved[0].lower >= certificate.lower[0].item() > 0.3
    assert report.proved[0].lower <= certificate.lower[0].item() + 1e-6


@pytest.mark.parametrize("structure", ["joined", "layers", "kronecker"])
def test_independent_weights_of_a_client_are_no_independent_neurons(
    structure: Structure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Concentration bounds the deviation of a diagonal client's noise only if neurons are independent."""

    def refuse(*given: object) -> None:
        raise AssertionError("concentration of dependent neurons")

    made = make_dependent(3, (2, 3, 3, 2), 0.03, structure, constraints=2)
    diagonal = DiagonalGaussian(made.laws[1].loc, torch.full_like(made.laws[1].loc, 0.03))
    mixed = replace(made, laws=[made.laws[0], diagonal])
    properties = mixed.properties(mixed.offsets(5.0))
    for kind in ("cells", "limit"):
        found = certified(mixed, properties, kind)
        assert found.lower.item() > 0.3
        monkeypatch.setattr("fedcert_check.projected.chain.conditional_deviation", refuse)
        assert check(write(tmp_path / kind, mixed, properties, found)).verdict


@pytest.mark.parametrize("structure", STRUCTURES)
def test_upper_bounds_are_proved(structure: Structure, tmp_path: Path) -> None:
    path, certificate = prepared(tmp_path, structure, "direct", sigmas=-3.0)
    assert certificate.upper is not None
    assert certificate.upper.item() < 0.5
    assert check(path).verdict


@pytest.mark.parametrize("kind", KINDS)
def test_a_bound_raised_by_a_millionth_is_not_proved(kind: str, tmp_path: Path) -> None:
    path, _ = prepared(tmp_path, "joined", kind)
    reseal(path, lambda claim, tensors: tensors["lower"].add_(1e-6))
    assert fails(path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", [0, 1, 3])
def test_another_method_proves_nothing_of_joined_layers(kind: str, method: int, tmp_path: Path) -> None:
    """The exact one needs independent parameters, the conditional one independent layers."""

    def change(claim: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        for name, tensor in tensors.items():
            if name.endswith("method"):
                tensor[:] = method

    path, _ = prepared(tmp_path, "joined", kind)
    reseal(path, change)
    assert fails(path)


def test_the_choices_of_a_witness_are_held_to_what_they_prove(tmp_path: Path) -> None:
    """Signs, widths and prices that would give more are noticed or proved."""
    for name, value in (("sign", 1), ("sign", -1), ("kappa", 50.0), ("failure", 1e-300), ("reference", 5.0)):
        path, certificate = prepared(tmp_path, "joined", "direct")

        def change(
            claim: dict[str, Any], tensors: dict[str, Tensor], name: str = name, value: float = value
        ) -> None:
            for own, tensor in tensors.items():
                if f".chain.{name}" in own:
                    tensor[:] = value
            tensors["lower"][:] = 1.0

        reseal(path, change)
        assert fails(path), name
        assert certificate.lower.item() < 1.0


def test_a_message_with_another_factor_is_not_the_one_that_was_certified(tmp_path: Path) -> None:
    path, _ = prepared(tmp_path, "joined", "direct")
    file = tmp_path / "messages" / "client-0.safetensors"
    metadata, arrays = read_arrays(file)
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    tensors["law.factor"][0, 0] += 2.0**-40
    save_file(tensors, file, metadata=metadata)
    with pytest.raises(InvalidCertificate, match="was changed"):
        check(path)


def test_a_claim_of_boxes_is_refused_for_dependent_parameters(tmp_path: Path) -> None:
    path, _ = prepared(tmp_path, "joined", "direct")
    for events in ("box", "paper-box"):
        reseal(path, lambda claim, tensors, events=events: claim.update(events=events))
        assert fails(path)


@pytest.mark.parametrize("name", ["pog", "conflation", "wasserstein"])
def test_names_of_laws_with_independent_parameters_are_not_deserved(name: str, tmp_path: Path) -> None:
    path, _ = prepared(tmp_path, "joined", "direct")

    def change(claim: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        claim["rule"]["name"] = name
        if name == "wasserstein":
            claim["rule"]["settings"] = {"weights": [0.5, 0.5]}

    reseal(path, change)
    with pytest.raises(InvalidCertificate, match="independent parameters"):
        check(path)


def test_tampered_messages_load_as_they_were_saved(tmp_path: Path) -> None:
    prepared(tmp_path, "joined", "direct")
    file = tmp_path / "messages" / "client-0.safetensors"
    again = Message.load(file)
    assert np.array_equal(again.law.tensors()["factor"].numpy(), load_file(file)["law.factor"].numpy())
