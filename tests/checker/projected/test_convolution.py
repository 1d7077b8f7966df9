"""Certificates of networks with convolutions: saved, proved, and claimed too high."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from convolved_problems import FEATURES, GEOMETRIES, HEADS, NETWORKS, Head, make_convolved
from flint import arb
from problems import normal, uniform
from saved_certificates import as_network, retold
from tampering import tamper

from fedcert.errors import InvalidCertificate
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import DiagonalGaussian
from fedcert.laws.conv_affine import ConvAffine
from fedcert.randomness import stream
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.container import read_container, write_container
from fedcert.wire.message import Message
from fedcert_check import check
from fedcert_check.balls import exact
from fedcert_check.projected.laws import independent
from fedcert_check.projected.stack import stacked

KINDS = ("local", "direct", "transported")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("without_annotations")]


def saved(folder: Path, problem: Problem, kind: str) -> tuple[Path, float]:
    certificate = ProjectedFamily().prove(problem, kind)
    messages = [
        Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(problem.laws)
    ]
    for message in messages:
        message.save(folder / "messages" / f"{message.client}.safetensors")
    path = folder / "certificates" / "certificate.safetensors"
    save_certificate(path, certificate, problem.network, problem.properties, problem.rule, messages)
    return path, certificate.lower[0].item()


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_certificate_is_proved(name: str, kind: str, tmp_path: Path) -> None:
    path, claimed = saved(tmp_path, make_convolved(name, 1, 0.01, 1e-3, 20.0), kind)
    report = check(path)
    assert report.verdict
    assert claimed > 0.3
    assert claimed <= report.proved[0].lower <= claimed + 1e-6


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("head", HEADS)
def test_every_certificate_of_fixed_features_is_proved(name: str, head: Head, tmp_path: Path) -> None:
    problem = make_convolved(name, 1, 0.01, 1e-3, 8.0, head=head)
    for kind in KINDS:
        path, claimed = saved(tmp_path / kind, problem, kind)
        report = check(path)
        assert report.verdict
        assert claimed > 0.3
        assert claimed <= report.proved[0].lower <= claimed + 1e-6


@pytest.mark.parametrize("name", NETWORKS)
def test_upper_bounds_are_proved(name: str, tmp_path: Path) -> None:
    path, _ = saved(tmp_path, make_convolved(name, 2, 0.01, 0.0, -8.0), "direct")
    report = check(path)
    assert report.verdict
    assert report.proved[0].upper < 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_a_bound_raised_by_a_little_is_not_proved(kind: str, tmp_path: Path) -> None:
    path, claimed = saved(tmp_path, make_convolved("two", 1, 0.01, 1e-3, 6.0), kind)
    assert 0 < claimed < 0.99999
    assert not check(retold(path, lambda own: {**own, "lower": own["lower"] + 1e-6})).verdict


@pytest.mark.parametrize("name", NETWORKS)
def test_layers_are_those_of_the_fast_path(name: str) -> None:
    """Deviations agree, and the fast path's are never below."""
    network, generator = NETWORKS[name], stream(3, name)
    loc, scale = normal(generator, network.parameters), uniform(generator, network.parameters)
    fast = DiagonalGaussian(loc, scale + 0.1).layers(network)
    law = independent(exact(loc.numpy()), exact((scale + 0.1).numpy()) ** 2)
    slow = stacked(as_network(network), law).layers
    for own, other in zip(fast, slow, strict=True):
        if not isinstance(own, ConvAffine):
            continue
        rows, h = normal(generator, 1, 3, own.outputs), uniform(generator, 1, own.inputs)
        noise, width = own.noise(rows), uniform(generator, 1, own.inputs)
        B, c, r = exact(rows[0].numpy()), exact(h[0].numpy()), exact(width[0].numpy())
        pairs = [
            (noise.weight[0], other.deviations(B)),
            (noise.at(h)[0], other.at(B, c)),
            (noise.steepest(h)[0], other.steepest(B, c)),
            (noise.within(h, h + 2 * width)[0], other.at(B, c + r) + other.steepest(B, r)),
        ]
        for found, expected in pairs:
            values = np.array([float(v) for v in expected.ravel()]).reshape(expected.shape)
            torch.testing.assert_close(found, torch.from_numpy(values))
        above = zip(noise.at(h)[0].tolist(), other.at(B, c), strict=True)
        assert all(arb(high) >= v.lower() for high, v in above)


def retold_claim(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The same certificate with another description of its network."""
    claim, tensors = read_container(path)
    change(claim)
    target = path.with_name("retold.safetensors")
    write_container(target, claim, tensors)
    return target


def refused(path: Path) -> bool:
    """Whether a certificate is not proved, or does not fit together."""
    try:
        return not check(path).verdict
    except InvalidCertificate:
        return True


@pytest.mark.parametrize("field", GEOMETRIES)
def test_another_geometry_is_not_proved(field: str, tmp_path: Path) -> None:
    """With as many parameters and neurons as before."""
    path, claimed = saved(tmp_path, make_convolved(field, 1, 0.01, 1e-3, 6.0), "direct")
    assert claimed > 0.5

    def change(claim: dict[str, Any]) -> None:
        claim["network"][0][field] = claim["network"][0][field][::-1]

    assert not refused(retold_claim(path, lambda claim: None))
    assert not check(retold_claim(path, change)).verdict


@pytest.mark.parametrize("name", ["loc", "scale"])
def test_a_message_with_another_kernel_is_not_the_one_that_was_certified(name: str, tmp_path: Path) -> None:
    path, _ = saved(tmp_path, make_convolved("two", 1, 0.01, 1e-3, 6.0), "direct")

    def change(tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
        tensors[f"law.{name}"][0] *= 2  # a weight of the first kernel

    tamper(tmp_path / "messages" / "client-0.safetensors", change)
    assert refused(path)


@pytest.mark.parametrize("tensor", ["chain.sign.0", "chain.kappa", "method"])
def test_the_choices_of_a_witness_are_held_to_what_they_prove(tensor: str, tmp_path: Path) -> None:
    path, claimed = saved(tmp_path, make_convolved("wide", 1, 0.03, 1e-3, 6.0), "direct")
    assert 0 < claimed < 1

    def change(own: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        value = own[f"witness.{tensor}"]
        other = {"chain.sign.0": torch.ones_like(value), "method": torch.zeros_like(value)}
        return {**own, f"witness.{tensor}": other.get(tensor, 0.5 * value + 0.5 * (value == 0))}

    assert refused(retold(path, change))
