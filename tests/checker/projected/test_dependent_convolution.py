"""Certificates of convolutions with dependent kernels: saved, proved, claimed too high, and tampered with."""

from pathlib import Path

import numpy as np
import pytest
import torch
from convolved_problems import DEPENDENT, NETWORKS, Kernels, make_convolved
from flint import arb
from problems import normal, uniform
from saved_certificates import as_network, retold
from tampering import tamper

from fedcert.errors import InvalidCertificate
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import BlockGaussian
from fedcert.laws.dependent_conv import DependentConvAffine
from fedcert.model.layers import AvgPool2d
from fedcert.randomness import stream
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.message import Message
from fedcert_check import blocks, check
from fedcert_check.balls import exact
from fedcert_check.projected.any_layer import joint_covariance
from fedcert_check.projected.block_laws import block_stack
from fedcert_check.projected.dependent_convolution import DependentConvLayer
from fedcert_check.rules import LinearRule

KINDS = ("local", "direct", "transported")
CASES = [
    (name, kernels)
    for name, network in NETWORKS.items()
    for kernels in DEPENDENT
    if kernels != "joined" or not any(isinstance(layer, AvgPool2d) for layer in network.layers)
]
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


def stated(law: BlockGaussian) -> blocks.BlockGaussian:
    """A law as the checker reads it."""
    own = (blocks.Block(b.code, b.start, *b.lengths, b.numbers().numpy()) for b in law.blocks)
    return blocks.BlockGaussian(law.loc.numpy(), tuple(own))


def refused(path: Path) -> bool:
    """Whether a certificate is not proved, or does not fit together."""
    try:
        return not check(path).verdict
    except InvalidCertificate:
        return True


@pytest.mark.parametrize(("name", "kernels"), CASES)
def test_every_certificate_is_proved(name: str, kernels: Kernels, tmp_path: Path) -> None:
    problem = make_convolved(name, 1, 0.01, 1e-3, 6.0, kernels=kernels)
    for kind in KINDS:
        path, claimed = saved(tmp_path / kind, problem, kind)
        report = check(path)
        assert report.verdict
        assert claimed > 0.3
        assert claimed <= report.proved[0].lower <= claimed + 1e-6


@pytest.mark.parametrize("kernels", DEPENDENT)
def test_upper_bounds_are_proved(kernels: Kernels, tmp_path: Path) -> None:
    path, _ = saved(tmp_path, make_convolved("two", 2, 0.01, 0.0, -8.0, kernels=kernels), "direct")
    report = check(path)
    assert report.verdict
    assert report.proved[0].upper < 0.9


@pytest.mark.parametrize("kernels", DEPENDENT)
def test_a_bound_raised_by_a_little_is_not_proved(kernels: Kernels, tmp_path: Path) -> None:
    path, claimed = saved(tmp_path, make_convolved("two", 1, 0.01, 1e-3, 4.0, kernels=kernels), "direct")
    assert 0 < claimed < 0.99999
    assert not check(retold(path, lambda own: {**own, "lower": own["lower"] + 1e-6})).verdict


@pytest.mark.parametrize("kernels", ["kronecker", "dense"])
@pytest.mark.parametrize("name", ["one", "two", "wide"])
def test_layers_are_those_of_the_fast_path(name: str, kernels: Kernels) -> None:
    """Deviations agree, and the fast path's are never below."""
    made = make_convolved(name, 3, 1.0, kernels=kernels, clients=1)
    (law,) = made.laws
    assert isinstance(law, BlockGaussian)
    slow = block_stack(as_network(made.network), LinearRule("own", np.ones((1, 1))), [stated(law)]).layers
    generator = stream(4, name)
    for own, other in zip(law.layers(made.network), slow, strict=True):
        assert isinstance(own, DependentConvAffine) == isinstance(other, DependentConvLayer)
        assert joint_covariance(other) is None
        rows, h = normal(generator, 1, 3, own.outputs), uniform(generator, 1, own.inputs)
        noise = own.noise(rows)
        B, c = exact(rows[0].numpy()), exact(h[0].numpy())
        for found, expected in (
            (noise.weight[0], other.deviations(B)),
            (noise.at(h)[0], other.at(B, c)),
            (noise.steepest(h)[0], other.steepest(B, c)),
        ):
            values = np.array([float(v) for v in expected.ravel()]).reshape(expected.shape)
            torch.testing.assert_close(found, torch.from_numpy(values), rtol=1e-6, atol=1e-7)
            sides = zip(found.ravel().tolist(), expected.ravel(), strict=True)
            assert all(arb(high) >= v.lower() for high, v in sides)


@pytest.mark.parametrize(
    ("kernels", "name"),
    [("kronecker", "loc"), ("kronecker", "numbers"), ("dense", "numbers"), ("joined", "factor")],
)
def test_a_message_with_another_kernel_is_not_the_one_that_was_certified(
    kernels: Kernels, name: str, tmp_path: Path
) -> None:
    path, _ = saved(tmp_path, make_convolved("two", 1, 0.01, 1e-3, 6.0, kernels=kernels), "direct")

    def change(tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
        tensors[f"law.{name}"].view(-1)[0] *= 2  # of the first kernel

    tamper(tmp_path / "messages" / "client-0.safetensors", change)
    assert refused(path)
