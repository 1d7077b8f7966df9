"""What a proof about dependent kernels takes: known before it begins, and no less than it takes."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from convolved_problems import DEPENDENT, Kernels, make_convolved

from fedcert.families.cells import Cells
from fedcert.families.projected.family import ProjectedFamily
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.message import Message
from fedcert_check.blocks import DENSE, Block, BlockGaussian
from fedcert_check.checking import check
from fedcert_check.cost import Cost
from fedcert_check.document import Document
from fedcert_check.families import family_of
from fedcert_check.files import read

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("without_annotations")]


def saved(folder: Path, kind: str, kernels: Kernels) -> Path:
    made = make_convolved("two", 1, 0.01, 1e-3, 20.0, kernels=kernels)
    messages = [Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(made.laws)]
    for message in messages:
        message.save(folder / "messages" / f"{message.client}.safetensors")
    path = folder / "certificates" / "certificate.safetensors"
    found = ProjectedFamily().prove(made, kind)
    save_certificate(path, found, made.network, made.properties, made.rule, messages)
    return path


def estimate(document: Document) -> Cost:
    return family_of(document).estimate(document, 1)


@pytest.mark.parametrize("kernels", DEPENDENT)
@pytest.mark.parametrize("kind", ["local", "direct", "transported"])
def test_a_proof_takes_no_longer_than_was_said(kind: str, kernels: Kernels, tmp_path: Path) -> None:
    path = saved(tmp_path, kind, kernels)
    said = estimate(read(path, tmp_path / "messages")).seconds
    start = time.process_time()
    assert check(path).verdict
    assert time.process_time() - start <= 3 * said + 0.5


def test_dependent_kernels_cost_more_than_independent_ones(tmp_path: Path) -> None:
    own = [
        estimate(read(saved(tmp_path / kernels, "direct", kernels), tmp_path / kernels / "messages"))
        for kernels in ("diagonal", "kronecker", "dense")
    ]
    assert all(dependent.seconds > own[0].seconds for dependent in own[1:])


def test_a_factor_of_many_columns_costs_memory(tmp_path: Path) -> None:
    own = read(saved(tmp_path, "direct", "dense"), tmp_path / "messages")
    weights, filters = own.network.linear[0].sizes
    n = weights + filters
    heavy = BlockGaussian(np.zeros(own.dimension), (Block(DENSE, 0, n, 10_000, np.ones(n * 10_000)),))
    stuffed = replace(own, clients=tuple(replace(client, law=heavy) for client in own.clients))
    assert estimate(stuffed).memory > 10 * estimate(own).memory
