"""Certificates of some properties each, joined: what counts properties, nodes and rows is moved on."""

from pathlib import Path

import pytest
import torch

import fedcert
from fedcert.certificate import Certificate, Claim
from fedcert.errors import ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.families.joining import join_certificates
from fedcert.families.problem import Problem
from fedcert.families.registry import family_named
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import mlp
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.message import Message
from fedcert.witness import Witness
from fedcert_check import check

NETWORK = mlp(2, 3, 2)
CLAIM = Claim("direct", "fedavg", "projected")


def problem(components: int) -> Problem:
    """Two clients, the first of which may be a mixture; a region of four moves far enough to be cut."""
    generator = torch.Generator().manual_seed(0)
    loc = torch.randn(NETWORK.parameters, generator=generator, dtype=torch.float64)
    laws = [DiagonalGaussian(loc + 0.5 * k, torch.full_like(loc, 0.05)) for k in range(components)]
    mixture = laws[0] if components == 1 else GaussianMixture(tuple(laws), torch.ones(components).double())
    x = torch.tensor([[0.1, 0.9], [0.8, 0.3], [0.5, 0.5], [0.9, 0.1]]).double()
    label = NETWORK(loc, x).argmax(-1)
    radius = torch.tensor([0.001, 0.3, 0.05, 0.01]).double()
    asked = fedcert.linf_robustness(x, label, radius, classes=2)
    return Problem(NETWORK, asked, (mixture, laws[0]), fedcert.LinearRule.fedavg([1, 1]))


@pytest.mark.slow
@pytest.mark.parametrize("events", ["projected", "box"])
@pytest.mark.parametrize("components", [1, 2])
def test_a_joined_certificate_is_proved(events: str, components: int, tmp_path: Path) -> None:
    whole, family = problem(components), family_named(events)
    if not family.splits(whole):  # type: ignore[attr-defined]
        pytest.skip("not proven in pieces")
    messages = [
        Message(f"client-{i}", law, Cells.none(NETWORK.parameters), 1) for i, law in enumerate(whole.laws)
    ]
    for message in messages:
        message.save(tmp_path / "messages" / f"{message.client}.safetensors")
    for kind in ("local", "transported", "direct"):
        pieces = [whole.asking(whole.properties[i : i + 1]) for i in range(4)]
        parts = [family.prove(piece, kind) for piece in pieces if family.supports(piece, kind)]  # type: ignore[arg-type]
        if not parts:
            continue
        joined = join_certificates(parts)
        path = tmp_path / "certificates" / f"{kind}.safetensors"
        save_certificate(path, joined, NETWORK, whole.properties, whole.rule, messages)
        report = check(path)
        assert report.verdict, (kind, report.failures)
        assert max(own.lower for own in report.proved) > 0.5


def test_rows_that_others_count_are_moved_on_and_tables_that_are_missing_filled() -> None:
    def part(**tensors: list[int]) -> Certificate:
        tables = {name.replace("_", "."): torch.tensor(own) for name, own in tensors.items()}
        return Certificate(CLAIM, torch.tensor([0.5, 0.5]).double(), None, Witness(tables))

    one = part(nodes_property=[0, 1], nodes_row=[1, 0], nodes_offsets=[0, 1, 3], boxes=[24])
    two = part(nodes_property=[1], nodes_row=[0], nodes_offsets=[0, 2], boxes=[24], chain_x=[7])
    found = join_certificates([one, two])
    assert found.witness is not None
    assert {name: own.tolist() for name, own in found.witness.tensors.items()} == {
        "nodes.property": [0, 1, 3],
        "nodes.row": [1, 0, 2],
        "nodes.offsets": [0, 1, 3, 5],
        "boxes": [24],
        "chain.x": [0, 0, 7],
    }
    assert len(found.lower) == 4


def test_what_does_not_fit_together_is_refused() -> None:
    lower = torch.tensor([0.5]).double()
    one = Certificate(CLAIM, lower, None, Witness({"boxes": torch.tensor([24])}))
    with pytest.raises(ShapeMismatch, match="different settings"):
        join_certificates([one, Certificate(CLAIM, lower, None, Witness({"boxes": torch.tensor([25])}))])
    with pytest.raises(ShapeMismatch, match="several claims"):
        join_certificates([one, Certificate(Claim("local", "fedavg", "projected"), lower)])
    with pytest.raises(ShapeMismatch, match="others none"):
        join_certificates([one, Certificate(CLAIM, lower)])
