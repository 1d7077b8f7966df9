import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import safetensors
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor

from fedcert.box import Box
from fedcert.errors import (
    FedcertError,
    InvalidBox,
    InvalidLaw,
    InvalidMessage,
    OverlappingCells,
    ShapeMismatch,
    UnsupportedMass,
)
from fedcert.events.cells import Cells
from fedcert.laws import DiagonalGaussian
from fedcert.message import Message

NAN, INF = float("nan"), float("inf")
Change = Callable[[dict[str, Tensor], dict[str, str]], Any]


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def law() -> DiagonalGaussian:
    return DiagonalGaussian(vector(0.0, 0.1, -1 / 3), vector(1.0, 1e-5, 0.7))


def boxes(count: int = 3) -> Box:
    """Disjoint slabs one after the other along the first axis."""
    return Box(
        torch.stack([vector(k, 0.0, -1.0) for k in range(count)]),
        torch.stack([vector(k + 1, 0.2, 1.0) for k in range(count)]),
    )


def message(log_mass: Tensor | None = None) -> Message:
    """One client's message; the masses are its law's unless others are claimed."""
    masses = law().log_mass(boxes()) if log_mass is None else log_mass
    member = torch.tensor([[True, True, False], [False, True, True]])
    return Message("client-0", law(), Cells(boxes(), masses, member), 17)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "client-0.safetensors"
    message().save(path)
    return path


def tamper(path: Path, change: Change) -> None:
    """Rewrite a message file with its tensors and metadata changed in place."""
    with safetensors.safe_open(path, framework="pt") as file:
        metadata = dict(file.metadata())
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(tensors, metadata)
    save_file(tensors, path, metadata=metadata)


def replace(name: str, tensor: Tensor) -> Change:
    return lambda tensors, _: tensors.update({name: tensor})


def label(name: str, value: str) -> Change:
    return lambda _, metadata: metadata.update({name: value})


def test_a_saved_message_loads_to_the_last_bit(saved: Path) -> None:
    original, loaded = message(), Message.load(saved)
    assert (loaded.client, loaded.examples) == (original.client, original.examples)
    for get in (
        lambda m: m.law.loc,
        lambda m: m.law.scale,
        lambda m: m.cells.boxes.lower,
        lambda m: m.cells.boxes.upper,
        lambda m: m.cells.log_mass,
        lambda m: m.cells.member,
    ):
        assert get(loaded).dtype == get(original).dtype
        assert torch.equal(get(loaded), get(original))


def test_a_file_rewritten_with_sound_content_still_loads(saved: Path) -> None:
    tamper(saved, replace("cells.member", torch.ones(1, 3).bool()))
    assert Message.load(saved).cells.member.all()


def test_a_client_may_have_found_no_cell(tmp_path: Path) -> None:
    none = Cells(boxes()[:0], vector(), torch.zeros(2, 0, dtype=torch.bool))
    Message("client-0", law(), none, 1).save(tmp_path / "empty.safetensors")
    loaded = Message.load(tmp_path / "empty.safetensors")
    assert len(loaded.cells) == 0
    assert loaded.cells.member.shape == (2, 0)


BROKEN_CONTENT = [
    pytest.param(replace("cells.log_mass", vector(0.0, -50.0, -50.0)), UnsupportedMass, id="inflated mass"),
    pytest.param(replace("cells.log_mass", vector(-50.0, NAN, -50.0)), UnsupportedMass, id="NaN mass"),
    pytest.param(replace("cells.log_mass", vector(-50.0, INF, -50.0)), UnsupportedMass, id="infinite mass"),
    pytest.param(
        replace("cells.upper", boxes().upper + vector(0.5, 0.0, 0.0)), OverlappingCells, id="overlap"
    ),
    pytest.param(replace("cells.lower", boxes().lower * NAN), InvalidBox, id="NaN end point"),
    pytest.param(replace("cells.lower", boxes().upper + 1), InvalidBox, id="reversed cell"),
    pytest.param(replace("law.scale", vector(1.0, NAN, 0.7)), InvalidLaw, id="NaN scale"),
    pytest.param(replace("law.scale", vector(1.0, -1e-5, 0.7)), InvalidLaw, id="negative scale"),
    pytest.param(replace("law.scale", vector(1.0, 0.0, 0.7)), InvalidLaw, id="zero scale"),
    pytest.param(replace("law.scale", vector(1.0, INF, 0.7)), InvalidLaw, id="infinite scale"),
    pytest.param(replace("law.loc", vector(0.0, NAN, 0.0)), InvalidLaw, id="NaN mean"),
    pytest.param(label("examples", "0"), InvalidMessage, id="no examples"),
    pytest.param(label("examples", "-3"), InvalidMessage, id="negative examples"),
    pytest.param(label("examples", "many"), InvalidMessage, id="examples in words"),
    pytest.param(
        label("examples", "9" * 5000),
        InvalidMessage,
        id="examples beyond int()",
    ),
    pytest.param(lambda _, metadata: metadata.pop("examples"), InvalidMessage, id="examples missing"),
    pytest.param(label("version", "2"), InvalidMessage, id="another version"),
    pytest.param(label("law", "laplace"), InvalidMessage, id="unknown law"),
    pytest.param(label("format", "weights"), InvalidMessage, id="another format"),
    pytest.param(lambda _, metadata: metadata.clear(), InvalidMessage, id="no metadata"),
    pytest.param(lambda tensors, _: tensors.pop("cells.member"), InvalidMessage, id="missing tensor"),
    pytest.param(replace("extra", vector(1.0)), InvalidMessage, id="additional tensor"),
    pytest.param(replace("law.loc", vector(0.0, 0.1, 0.0).float()), InvalidMessage, id="wrong dtype"),
    pytest.param(replace("cells.member", torch.ones(1, 3).byte()), InvalidMessage, id="bytes for bools"),
    pytest.param(replace("law.loc", boxes().lower), InvalidMessage, id="wrong number of axes"),
    pytest.param(replace("law.scale", vector(1.0, 1.0)), InvalidLaw, id="scale too short"),
    pytest.param(replace("cells.upper", torch.ones(2, 3).double()), InvalidBox, id="end points do not fit"),
    pytest.param(replace("cells.log_mass", vector(-50.0)), ShapeMismatch, id="masses too few"),
    pytest.param(replace("cells.member", torch.ones(1, 2).bool()), ShapeMismatch, id="members too few"),
    pytest.param(
        lambda tensors, _: tensors.update({"law.loc": vector(0.0), "law.scale": vector(1.0)}),
        InvalidMessage,
        id="law and cells of different dimensions",
    ),
]


@pytest.mark.parametrize(("change", "error"), BROKEN_CONTENT)
def test_a_file_that_is_no_sound_message_raises_and_names_itself(
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Change,
    error: type[FedcertError],
) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # users run without shape checks
    tamper(saved, change)
    with pytest.raises(error) as caught:
        Message.load(saved)
    assert type(caught.value) is error
    assert str(saved) in str(caught.value)


class Trap:
    """Unpickling it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.folder),)


def foreign_safetensors(content: bytes, folder: Path) -> bytes:
    path = folder / "foreign.safetensors"
    save_file({"weight": vector(1.0)}, path)
    return path.read_bytes()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda content, folder: b"", id="empty"),
        pytest.param(lambda content, folder: content[: len(content) // 2], id="cut in half"),
        pytest.param(lambda content, folder: content[:-1], id="last byte missing"),
        pytest.param(lambda content, folder: content[:5], id="cut in the length of the header"),
        pytest.param(lambda content, folder: b"\xff" * 8 + content[8:], id="absurd length of the header"),
        pytest.param(lambda content, folder: bytes(range(256)) * 4, id="other bytes"),
        pytest.param(lambda content, folder: pickle.dumps(Trap(folder / "executed")), id="pickle"),
        pytest.param(foreign_safetensors, id="other safetensors file"),
    ],
)
def test_a_foreign_file_is_refused_unexecuted(saved: Path, make: Callable[[bytes, Path], bytes]) -> None:
    saved.write_bytes(make(saved.read_bytes(), saved.parent))
    with pytest.raises(InvalidMessage) as caught:
        Message.load(saved)
    assert str(saved) in str(caught.value)
    assert not (saved.parent / "executed").exists()


@given(content=st.binary(max_size=200))
@settings(deadline=None, max_examples=50)
def test_random_bytes_are_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "random.safetensors"
    path.write_bytes(content)
    with pytest.raises(InvalidMessage):
        Message.load(path)


def test_a_missing_file_is_an_invalid_message(tmp_path: Path) -> None:
    with pytest.raises(InvalidMessage, match="absent"):
        Message.load(tmp_path / "absent.safetensors")


def test_a_claim_above_the_mass_is_refused_however_small() -> None:
    excess = torch.nextafter(law().log_mass_upper(boxes()), vector(INF))
    with pytest.raises(UnsupportedMass, match="cell 0"):
        message(excess)


@given(below=st.lists(st.floats(0, 1e3) | st.just(INF), min_size=3, max_size=3))
@settings(deadline=None, max_examples=50)
def test_the_server_uses_the_smaller_of_claim_and_computed_mass(below: list[float]) -> None:
    claim = law().log_mass_upper(boxes()) - vector(*below)
    used = message(claim).verified_cells()
    assert (used.log_mass <= law().log_mass(boxes())).all()
    assert torch.equal(used.log_mass, torch.minimum(claim, law().log_mass(boxes())))
    assert torch.equal(used.member, message(claim).cells.member)


def test_a_law_that_is_only_enclosed_is_not_sent() -> None:
    enclosed = DiagonalGaussian(law().loc, law().scale, scale_error=1e-15)
    with pytest.raises(InvalidMessage, match="exactly"):
        Message("client-0", enclosed, message().cells, 1)
