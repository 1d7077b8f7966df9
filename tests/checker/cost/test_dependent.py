"""What a proof about dependent parameters takes: known before it begins, and no less than it takes."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dependent_problems import STRUCTURES, Structure, make_dependent
from saved_certificates import certified, write

from fedcert_check.blocks import BlockGaussian
from fedcert_check.checking import check
from fedcert_check.cost import Cost, ProofLimits, affordable
from fedcert_check.document import Document
from fedcert_check.errors import TooCostly
from fedcert_check.families import family_of
from fedcert_check.files import read

pytestmark = pytest.mark.slow

MEMORY = 2**30


def saved(folder: Path, structure: Structure = "joined", kind: str = "direct", width: int = 3) -> Path:
    made = make_dependent(1, (2, width, 2), 0.03, structure, 2.0**-7, constraints=2)
    properties = made.properties(made.offsets(5.0))
    return write(folder, made, properties, certified(made, properties, kind))


def document(path: Path) -> Document:
    return read(path, path.parent.parent / "messages", MEMORY)


def estimate(document: Document, jobs: int = 1) -> Cost:
    return family_of(document).estimate(document, jobs)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kind", ["local", "direct", "cells"])
def test_a_proof_takes_no_longer_than_was_said(structure: Structure, kind: str, tmp_path: Path) -> None:
    path = saved(tmp_path, structure, kind, width=8)
    said = estimate(document(path)).seconds
    check(path)
    start = time.process_time()
    assert check(path).verdict
    assert time.process_time() - start <= 3 * said + 0.5


def test_wider_networks_cost_more(tmp_path: Path) -> None:
    narrow, wide = (estimate(document(saved(tmp_path / str(width), width=width))) for width in (3, 12))
    assert wide.memory > 4 * narrow.memory
    assert wide.seconds > 4 * narrow.seconds


def test_noise_that_is_carried_to_the_inputs_costs_more(tmp_path: Path) -> None:
    own = document(saved(tmp_path, "last", width=8))
    apart = {name: 0 * tensor if name.endswith("carried") else tensor for name, tensor in own.witness.items()}
    carried, other = estimate(own), estimate(replace(own, witness=apart))
    assert carried.seconds > other.seconds
    assert carried.memory > other.memory


def test_a_factor_of_many_columns_is_refused_before_it_is_multiplied(tmp_path: Path) -> None:
    """Two clients with factors of ten thousand columns for a network of many parameters."""
    own = document(saved(tmp_path))
    n = own.dimension
    heavy = BlockGaussian.of_factor(np.zeros(n), np.ones((n, 10_000)))
    stuffed = replace(own, clients=tuple(replace(client, law=heavy) for client in own.clients))
    assert estimate(stuffed).seconds > 10 * estimate(own).seconds
    with pytest.raises(TooCostly, match="minutes of one core"):
        affordable(stuffed, estimate, 1, ProofLimits(memory=8 * MEMORY, seconds=0.2))
    with pytest.raises(TooCostly, match="GiB of memory"):
        affordable(stuffed, estimate, 1, ProofLimits(memory=MEMORY // 10))
