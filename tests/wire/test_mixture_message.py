"""Messages whose law is a mixture: they load as they were saved, and what is wrong names its field."""

import math
from pathlib import Path

import pytest
import torch
from problems import vector
from tampering import Change, tamper
from torch import Tensor

from fedcert.errors import FedcertError, InvalidLaw, InvalidMessage, ShapeMismatch, UnsupportedMass
from fedcert.families.cells import Cells
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.laws.mixture import MAX_STATED_COMPONENTS
from fedcert.numerics.box import Box
from fedcert.wire.limits import MAX_MAGNITUDE
from fedcert.wire.message import Message

LOC = torch.stack([vector(0.0, 0.1, -1 / 3), vector(5.0, 0.2, 0.3)])
SCALE = torch.stack([vector(1.0, 1e-5, 0.7), vector(0.1, 0.2, 0.3)])


def mixture() -> GaussianMixture:
    parts = (DiagonalGaussian(*own) for own in zip(LOC, SCALE, strict=True))
    return GaussianMixture(tuple(parts), vector(1.0, 1e-3))


def message() -> Message:
    boxes = Box(vector(-1.0, 0.0, -1.0)[None], vector(1.0, 0.2, 1.0)[None])
    return Message("client-0", mixture(), Cells.shared(boxes, mixture().log_mass(boxes)), 17)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "client-0.safetensors"
    message().save(path)
    return path


def entry(field: str, place: tuple[int, ...], value: float) -> Change:
    """One number of a field replaced."""

    def change(tensors: dict[str, Tensor], _: dict[str, str]) -> None:
        tensors[field] = tensors[field].clone()
        tensors[field][place] = value

    return change


def resized(*fields: str, count: int) -> Change:
    """Some fields for another number of components."""

    def change(tensors: dict[str, Tensor], _: dict[str, str]) -> None:
        for field in fields:
            own = tensors[field]
            tensors[field] = own[:1].repeat(count, *[1] * (own.dim() - 1))

    return change


def test_a_mixture_loads_to_the_last_bit(saved: Path) -> None:
    loaded = Message.load(saved)
    assert isinstance(loaded.law, GaussianMixture)
    assert loaded.digest == message().digest
    assert torch.equal(loaded.law.weights, mixture().weights)
    for one, other in zip(loaded.law.components, mixture().components, strict=True):
        assert torch.equal(one.loc, other.loc)
        assert torch.equal(one.scale, other.scale)
    assert loaded.verified_cells().log_mass.item() == message().cells.log_mass.item()


def test_a_mixture_of_one_is_another_message_than_its_gaussian() -> None:
    alone = GaussianMixture(mixture().components[:1], vector(1.0))
    told = [Message("a", law, Cells.none(3), 1) for law in (alone, alone.components[0])]
    assert len({own.digest for own in told}) == 2


ALL = ("law.weights", "law.loc", "law.scale")


@pytest.mark.parametrize(
    ("change", "error", "field"),
    [
        (entry("law.weights", (1,), 0.0), InvalidLaw, "law.weights"),
        (entry("law.weights", (1,), -1.0), InvalidLaw, "law.weights"),
        (entry("law.weights", (0,), math.nan), InvalidLaw, "law.weights"),
        (entry("law.weights", (0,), math.inf), InvalidLaw, "law.weights"),
        (entry("law.weights", (0,), 2.0**-1060), InvalidLaw, "law.weights"),
        (entry("law.loc", (1, 0), math.nan), InvalidLaw, "law.loc"),
        (entry("law.loc", (1, 2), 2.0**-1060), InvalidLaw, "law.loc"),
        (entry("law.loc", (1, 2), 2 * MAX_MAGNITUDE), InvalidMessage, "law.loc"),
        (entry("law.scale", (1, 0), -1.0), InvalidLaw, "law.scale"),
        (entry("law.scale", (1, 0), math.inf), InvalidLaw, "law.scale"),
        (entry("law.scale", (1, 0), 1e-60), InvalidMessage, "law.scale"),
        (entry("law.scale", (1, 0), 2 * MAX_MAGNITUDE), InvalidMessage, "law.scale"),
        (entry("law.weights", (1,), 1e3), UnsupportedMass, "cells.log_mass"),
        (resized("law.weights", count=3), ShapeMismatch, "law.loc"),
        (resized("law.scale", count=1), ShapeMismatch, "law.scale"),
        (resized(*ALL, count=0), InvalidLaw, "law.weights"),
        (resized(*ALL, count=MAX_STATED_COMPONENTS + 1), InvalidMessage, "law.weights"),
        (lambda tensors, _: tensors.pop("law.weights"), InvalidMessage, "law.weights"),
        (lambda tensors, _: tensors.update({"law.loc": tensors["law.loc"][0]}), InvalidMessage, "law.loc"),
        (lambda _, metadata: metadata.update({"law": "diagonal-gaussian"}), InvalidMessage, "law.weights"),
    ],
)
def test_a_mixture_that_makes_no_sense_names_client_and_field(
    saved: Path, change: Change, error: type[FedcertError], field: str
) -> None:
    tamper(saved, change)
    with pytest.raises(error) as refused:
        Message.load(saved)
    assert str(saved) in str(refused.value)
    assert "client client-0" in str(refused.value)
    assert field in str(refused.value)


def test_a_message_that_nobody_could_read_is_not_made() -> None:
    one = DiagonalGaussian(vector(0.0), vector(1.0))
    count = MAX_STATED_COMPONENTS + 1
    large = GaussianMixture((one,) * count, torch.ones(count).double())
    with pytest.raises(InvalidLaw, match=f"client a: law: a mixture of {count} components"):
        Message("a", large, Cells.none(1), 1)


def test_only_exact_components_are_sent() -> None:
    rounded = DiagonalGaussian(vector(0.0), vector(1.0), scale_error=1e-9)
    with pytest.raises(InvalidLaw, match="states its law exactly"):
        Message("a", GaussianMixture((rounded,), vector(1.0)), Cells.none(1), 1)
