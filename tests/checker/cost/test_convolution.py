"""What a proof about convolutions takes: known before it begins, and no less than it takes."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from convolved_problems import make_convolved

from fedcert.families.cells import Cells
from fedcert.families.projected.family import ProjectedFamily
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.message import Message
from fedcert_check.checking import check
from fedcert_check.cost import Cost
from fedcert_check.document import Document
from fedcert_check.families import family_of
from fedcert_check.files import read
from fedcert_check.image_layers import Conv2d, Grid
from fedcert_check.layers import Linear, Network, ReLU, Tanh

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("without_annotations")]


def saved(folder: Path, kind: str) -> Path:
    made = make_convolved("two", 1, 0.01, 1e-3, 20.0)
    messages = [Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(made.laws)]
    for message in messages:
        message.save(folder / "messages" / f"{message.client}.safetensors")
    path = folder / "certificates" / "certificate.safetensors"
    found = ProjectedFamily().prove(made, kind)
    save_certificate(path, found, made.network, made.properties, made.rule, messages)
    return path


def estimate(document: Document) -> Cost:
    return family_of(document).estimate(document, 1)


@pytest.mark.parametrize("kind", ["local", "direct", "transported"])
def test_a_proof_takes_no_longer_than_was_said(kind: str, tmp_path: Path) -> None:
    path = saved(tmp_path, kind)
    said = estimate(read(path, tmp_path / "messages")).seconds
    start = time.process_time()
    assert check(path).verdict
    assert time.process_time() - start <= 3 * said + 0.5


def of(own: Document, network: Network) -> Cost:
    return estimate(replace(own, network=network))


def test_larger_images_and_more_channels_cost_more_and_no_more_than_in_proportion(tmp_path: Path) -> None:
    own = read(saved(tmp_path, "direct"), tmp_path / "messages")

    def network(side: int, filters: int) -> Network:
        grid = Grid((1, side, side), (3, 3), (1, 1), (1, 1))
        return Network((Conv2d(grid, filters, 1), ReLU(), Linear(filters * side * side, 2)))

    small, large, wide = (of(own, network(*sizes)) for sizes in ((16, 4), (32, 4), (16, 8)))
    assert 2 * small.seconds < large.seconds < 5 * small.seconds
    assert 1.2 * small.seconds < wide.seconds < 5 * small.seconds


def test_fixed_features_cost_something(tmp_path: Path) -> None:
    own = read(saved(tmp_path, "direct"), tmp_path / "messages")
    head = (Linear(16, 2),)
    alone, behind = (of(own, Network(layers)) for layers in (head, (Linear(400, 16), Tanh(), *head)))
    assert behind.seconds > alone.seconds
