"""Certificates, confidence bounds and messages that are removed, added or exchanged are named."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from refused_runs import QUICK, evidence, refused
from run_folders import INPUTS, RADII, small_run, write_run
from safetensors.torch import save_file

from fedcert.federation.server import server
from fedcert.model.properties import linf_robustness
from fedcert.model.robustness import Origin
from fedcert.wire.certificate_file import save_certificate
from fedcert_check import check_run
from fedcert_check.container import read_arrays
from fedcert_check.digest import digest
from fedcert_check.run_folder.compare import compare
from fedcert_check.run_folder.words import last_line

pytestmark = pytest.mark.slow

DIRECT = "direct-fedavg-projected-eps-0.001.safetensors"


@pytest.mark.parametrize("name", [DIRECT, "direct-fedavg-projected-radius-0.5.safetensors"])
def test_a_removed_certificate_is_named(name: str, folder: Path) -> None:
    (folder / "certificates" / name).unlink()
    refused(folder, "result.json", ".certificate", f"certificates/{name} is missing", prove=True)


def test_all_certificates_removed_is_no_proof(folder: Path) -> None:
    shutil.rmtree(folder / "certificates")
    assert len(refused(folder, "result.json", "is missing", prove=True)) >= 7


@pytest.mark.parametrize("name", ["more.safetensors", "notes.txt"])
def test_an_additional_file_among_the_certificates_is_named(name: str, folder: Path) -> None:
    shutil.copy(folder / "certificates" / DIRECT, folder / "certificates" / name)
    refused(folder, f"certificates/{name}", "additional", prove=True)


def test_a_certificate_of_other_inputs_is_named(folder: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", input_seed=1)
    shutil.copy(other / "certificates" / DIRECT, folder / "certificates" / DIRECT)
    refused(folder, "result.json", "inputs.digest", DIRECT, prove=True)


def test_a_certificate_of_fewer_inputs_is_named_and_no_crash(folder: Path) -> None:
    run = small_run()
    own = next(one for one in run.found if one.name == DIRECT)
    subject, few = own.properties.subject, torch.arange(INPUTS - 1)
    origin = Origin("digits", "first", available=90, indices=few)
    asked = linf_robustness(subject.inputs[few], subject.labels[few], RADII[0], classes=2, origin=origin)
    certificates = server(run.messages, run.rule, run.network, asked)
    (found,) = [one for one in certificates if one.claim.kind == "direct"]
    path = folder / "certificates" / DIRECT
    save_certificate(path, found, run.network, asked, run.rule, run.messages)
    refused(folder, "result.json", "inputs.count", DIRECT, prove=True)
    refused(folder, "result.json", "conclusions", "3 inputs", prove=True)


def test_a_certificate_of_other_clients_is_named(folder: Path, tmp_path: Path) -> None:
    """Even if their messages lie beside those of the run."""
    other = write_run(tmp_path / "other", seed=1)
    shutil.copy(other / "certificates" / DIRECT, folder / "certificates" / DIRECT)
    report = check_run(folder, sample=QUICK)
    assert report.exit_code == 2
    assert "client-0.safetensors is another one than was certified" in report.refused[0].reason
    for path in (other / "messages").iterdir():
        shutil.copy(path, folder / "messages" / f"other-{path.name}")
    refused(folder, "result.json", "clients.0.digest", DIRECT, prove=True)


BOUND = "fedavg-eps-0.001.safetensors"


def test_inputs_that_are_not_the_first_ones_are_named_once(folder: Path) -> None:
    """Whoever calls inputs the first ones must not give them other positions."""
    own, drawn = evidence()
    moved = {
        name: replace(one, subject=replace(one.subject, indices=one.subject.indices + 1))
        for name, one in own.certificates.items()
    }
    found = compare(folder, replace(own, certificates=moved), drawn).findings
    (line,) = [finding.line for finding in found if finding.place == "inputs.chosen"]
    assert "'first', but others than the first inputs in certificates/direct-fedavg" in line
    assert line.endswith("and 7 more")


def test_confidence_bounds_that_are_removed_added_or_swapped_are_named(folder: Path, tmp_path: Path) -> None:
    place = folder / "confidence"
    shutil.copy(place / BOUND, place / "more.safetensors")
    refused(folder, "confidence/more.safetensors", "additional", prove=True)
    (place / "more.safetensors").unlink()
    other = write_run(tmp_path / "other", input_seed=1)
    shutil.copy(other / "confidence" / BOUND, place / BOUND)
    refused(folder, "result.json", "inputs.digest", f"confidence/{BOUND}", prove=True)
    (place / BOUND).unlink()
    refused(folder, "result.json", "confidence.0.certificate", f"confidence/{BOUND} is missing", prove=True)


def test_a_confidence_bound_that_claims_more_than_is_found_is_not_found_again(folder: Path) -> None:
    path = folder / "confidence" / BOUND
    metadata, arrays = read_arrays(path)
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    p = int(tensors["broken"].argmax())
    tensors["proven"][p] += 1
    tensors["broken"][p] -= 1
    header = {name: metadata[name] for name in ("format", "version", "claim")}
    save_file(tensors, path, metadata={**header, "digest": digest(header, tensors)})
    report = check_run(folder)
    assert report.exit_code == 1
    (own,) = report.recounted
    assert (own.outcome, own.failures) == ("NOT FOUND AGAIN", (p,))
    assert "1 confidence bound NOT FOUND AGAIN" in last_line(report)
    assert check_run(folder, sample=QUICK).recounted[0].outcome == "not drawn again"


def test_two_certificates_of_a_run_that_change_places_are_named(folder: Path) -> None:
    first, second = (
        folder / "certificates" / f"direct-fedavg-projected-eps-{e}.safetensors" for e in (0.001, 0.01)
    )
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    refused(folder, "result.json", "summary.2.epsilon", "0.001, but 0.01", prove=True)


def test_a_replaced_message_is_named(folder: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", seed=1)
    name = "client-1.safetensors"
    shutil.copy(other / "messages" / name, folder / "messages" / name)
    report = check_run(folder)
    assert report.exit_code == 2
    assert all(f"{name} is another one than was certified" in own.reason for own in report.refused)
