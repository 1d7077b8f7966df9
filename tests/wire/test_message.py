import math
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import vector
from safetensors.torch import save_file
from tampering import Change, tamper
from torch import Tensor

from fedcert.errors import (
    FedcertError,
    InvalidBox,
    InvalidLaw,
    InvalidMessage,
    OverlappingCells,
    ShapeMismatch,
    UnsupportedMass,
)
from fedcert.families.cells import Cells
from fedcert.laws import DiagonalGaussian, around
from fedcert.numerics.box import Box
from fedcert.wire.limits import MAX_COMPARISONS, MAX_MAGNITUDE, MIN_SCALE
from fedcert.wire.message import Message

NAN, INF = float("nan"), float("inf")


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


DENORMAL = 2.0**-1060
BEYOND = math.nextafter(MAX_MAGNITUDE, INF)


def duplicate_a_cell(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    for name in ("cells.lower", "cells.upper", "cells.log_mass"):
        tensors[name] = torch.cat([tensors[name], tensors[name][:1]])
    tensors["cells.member"] = torch.ones(1, 4).bool()


def many_cells(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    for name in ("cells.lower", "cells.upper", "cells.log_mass"):
        tensors[name] = tensors[name][:1].repeat(10_001, *[1] * (tensors[name].dim() - 1))
    tensors["cells.member"] = torch.zeros(1, 10_001).bool()


BROKEN_CONTENT = [
    pytest.param(
        replace("cells.log_mass", vector(0.0, -50.0, -50.0)),
        UnsupportedMass,
        "cells.log_mass",
        id="inflated mass",
    ),
    pytest.param(
        replace("cells.log_mass", vector(-50.0, NAN, -50.0)), UnsupportedMass, "cells.log_mass", id="NaN mass"
    ),
    pytest.param(
        replace("cells.log_mass", vector(-50.0, INF, -50.0)),
        UnsupportedMass,
        "cells.log_mass",
        id="infinite mass",
    ),
    pytest.param(
        replace("cells.upper", boxes().upper + vector(0.5, 0.0, 0.0)),
        OverlappingCells,
        "cells.upper",
        id="overlap",
    ),
    pytest.param(duplicate_a_cell, OverlappingCells, "cells.lower", id="duplicated cell"),
    pytest.param(replace("cells.lower", boxes().lower * NAN), InvalidBox, "cells.lower", id="NaN end point"),
    pytest.param(
        replace("cells.upper", boxes().upper + INF), InvalidBox, "cells.upper", id="infinite end point"
    ),
    pytest.param(replace("cells.lower", boxes().upper + 1), InvalidBox, "cells.lower", id="reversed cell"),
    pytest.param(
        replace("cells.lower", boxes().lower.clamp(min=DENORMAL)),
        InvalidLaw,
        "cells.lower",
        id="denormal end point",
    ),
    pytest.param(replace("law.scale", vector(1.0, NAN, 0.7)), InvalidLaw, "law.scale", id="NaN scale"),
    pytest.param(replace("law.scale", vector(1.0, -1e-5, 0.7)), InvalidLaw, "law.scale", id="negative scale"),
    pytest.param(
        replace("law.scale", vector(1.0, DENORMAL, 0.7)), InvalidLaw, "law.scale", id="denormal scale"
    ),
    pytest.param(replace("law.scale", vector(1.0, INF, 0.7)), InvalidLaw, "law.scale", id="infinite scale"),
    pytest.param(replace("law.loc", vector(0.0, NAN, 0.0)), InvalidLaw, "law.loc", id="NaN mean"),
    pytest.param(replace("law.loc", vector(0.0, -INF, 0.0)), InvalidLaw, "law.loc", id="infinite mean"),
    pytest.param(replace("law.loc", vector(0.0, -DENORMAL, 0.0)), InvalidLaw, "law.loc", id="denormal mean"),
    pytest.param(
        replace("law.loc", vector(0.0, BEYOND, 0.0)), InvalidMessage, "law.loc", id="mean beyond the limit"
    ),
    pytest.param(
        replace("law.scale", vector(1.0, BEYOND, 1.0)),
        InvalidMessage,
        "law.scale",
        id="scale beyond the limit",
    ),
    pytest.param(
        replace("law.scale", vector(1.0, math.nextafter(MIN_SCALE, 0.0), 1.0)),
        InvalidMessage,
        "law.scale",
        id="scale below the limit",
    ),
    pytest.param(
        replace("cells.lower", boxes().lower - vector(0.0, 1.7e308, 0.0)),
        InvalidMessage,
        "cells.lower",
        id="lower end beyond the limit",
    ),
    pytest.param(
        replace("cells.upper", boxes().upper + vector(0.0, BEYOND, 0.0)),
        InvalidMessage,
        "cells.upper",
        id="upper end beyond the limit",
    ),
    pytest.param(label("examples", "0"), InvalidMessage, "examples", id="no examples"),
    pytest.param(label("examples", "-3"), InvalidMessage, "examples", id="negative examples"),
    pytest.param(label("examples", "many"), InvalidMessage, "examples", id="examples in words"),
    pytest.param(label("examples", "9" * 5000), InvalidMessage, "examples", id="examples beyond int()"),
    pytest.param(
        lambda _, metadata: metadata.pop("examples"), InvalidMessage, "examples", id="examples missing"
    ),
    pytest.param(label("version", "1"), InvalidMessage, "version", id="another version"),
    pytest.param(label("law", "laplace"), InvalidLaw, "law", id="unknown law"),
    pytest.param(label("format", "weights"), InvalidMessage, "format", id="another format"),
    pytest.param(lambda _, metadata: metadata.clear(), InvalidMessage, "format", id="no metadata"),
    pytest.param(label("note", "hello"), InvalidMessage, "'note'", id="unknown metadata"),
    pytest.param(label("client", "../../client-0"), InvalidMessage, "client", id="name that is a path"),
    pytest.param(label("client", "client-0\n\x1b[2J"), InvalidMessage, "client", id="name of several lines"),
    pytest.param(label("client", ""), InvalidMessage, "client", id="no name"),
    pytest.param(label("events", "/etc/passwd"), InvalidMessage, "events", id="events that are a path"),
    pytest.param(
        lambda tensors, _: tensors.pop("cells.member"), InvalidMessage, "'cells.member'", id="missing tensor"
    ),
    pytest.param(replace("extra", vector(1.0)), InvalidMessage, "'extra'", id="additional tensor"),
    pytest.param(
        lambda tensors, _: tensors.update(extra=tensors.pop("law.loc")),
        InvalidMessage,
        "'extra'",
        id="renamed tensor",
    ),
    pytest.param(
        replace("law.loc", vector(0.0, 0.1, 0.0).float()), InvalidMessage, "law.loc", id="wrong dtype"
    ),
    pytest.param(
        replace("law.loc", vector(0.0, 0.1, 0.0).half()), InvalidMessage, "law.loc", id="unknown dtype"
    ),
    pytest.param(
        replace("cells.member", torch.ones(1, 3).byte()), InvalidMessage, "cells.member", id="bytes for bools"
    ),
    pytest.param(replace("law.loc", boxes().lower), InvalidMessage, "law.loc", id="wrong number of axes"),
    pytest.param(replace("law.scale", vector(1.0, 1.0)), ShapeMismatch, "law.scale", id="scale too short"),
    pytest.param(
        replace("cells.upper", torch.ones(2, 3).double()),
        ShapeMismatch,
        "cells.upper",
        id="end points do not fit",
    ),
    pytest.param(
        replace("cells.log_mass", vector(-50.0)), ShapeMismatch, "cells.log_mass", id="masses too few"
    ),
    pytest.param(
        replace("cells.member", torch.ones(1, 2).bool()), ShapeMismatch, "cells.member", id="members too few"
    ),
    pytest.param(many_cells, InvalidMessage, "cells.lower", id="more cells than allowed"),
    pytest.param(
        replace("cells.member", torch.zeros(10_001, 3).bool()),
        InvalidMessage,
        "cells.member",
        id="more properties than allowed",
    ),
    pytest.param(
        lambda tensors, _: tensors.update({"law.loc": vector(0.0), "law.scale": vector(1.0)}),
        ShapeMismatch,
        "cells.lower",
        id="law and cells of different dimensions",
    ),
]


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize(("change", "error", "field"), BROKEN_CONTENT)
def test_a_file_that_is_no_sound_message_raises_and_names_itself_the_client_and_the_field(
    saved: Path,
    change: Change,
    error: type[FedcertError],
    field: str,
) -> None:
    tamper(saved, change)
    with pytest.raises(error) as caught:
        Message.load(saved)
    assert type(caught.value) is error
    where, _, what = str(caught.value).partition(": ")
    assert where == str(saved)
    assert field in what
    assert str(caught.value).isprintable()


SOUND_CHANGES = [
    replace("law.loc", vector(0.0, 0.1, -0.25)),
    replace("law.scale", vector(1.0, 1e-5, 0.65)),
    replace("cells.lower", boxes().lower + vector(0.0, 0.0, -0.5)),
    replace("cells.upper", boxes().upper + vector(0.0, 0.0, 0.5)),
    replace("cells.log_mass", vector(-50.0, -50.0, -50.0)),
    replace("cells.member", torch.ones(1, 3).bool()),
    label("client", "client-1"),
    label("examples", "18"),
    label("events", "box"),
]


@pytest.mark.parametrize("change", SOUND_CHANGES)
def test_every_field_and_tensor_is_bound_by_the_digest(saved: Path, change: Change) -> None:
    tamper(saved, change, sign=False)
    with pytest.raises(InvalidMessage, match="digest: the content is not the one that was sent"):
        Message.load(saved)
    message().save(saved)
    tamper(saved, change)
    assert Message.load(saved).digest != message().digest


def test_a_changed_digest_is_noticed(saved: Path) -> None:
    tamper(saved, label("digest", "0" * 64), sign=False)
    with pytest.raises(InvalidMessage, match="client client-0: digest"):
        Message.load(saved)


def test_the_largest_and_smallest_numbers_that_a_message_may_hold_are_accepted(tmp_path: Path) -> None:
    extreme = DiagonalGaussian(vector(MAX_MAGNITUDE, -MAX_MAGNITUDE), vector(MAX_MAGNITUDE, MIN_SCALE))
    whole = Box(vector(-MAX_MAGNITUDE, -MAX_MAGNITUDE)[None], vector(MAX_MAGNITUDE, MAX_MAGNITUDE)[None])
    Message("c", extreme, Cells.shared(whole, extreme.log_mass(whole)), 1).save(tmp_path / "c.safetensors")
    assert torch.equal(Message.load(tmp_path / "c.safetensors").law.scale, extreme.scale)


def many_rivals(tensors: dict[str, Tensor], _: dict[str, str]) -> None:
    """As many cells in one collection as a message may hold, one after the other along the first axis."""
    step = torch.arange(10_000).double()[:, None] * vector(1.0, 0.0, 0.0)
    for name in ("cells.lower", "cells.upper"):
        tensors[name] = tensors[name][:1] + step
    tensors["cells.log_mass"] = torch.full((10_000,), -INF).double()
    tensors["cells.member"] = torch.ones(1, 10_000).bool()


def fail(*_: object) -> None:
    raise AssertionError("too dear")


def test_cells_that_would_take_too_long_to_compare_are_refused_uncompared(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tamper(saved, many_rivals)
    monkeypatch.setattr("fedcert.families.disjoint._clashes", fail)
    with pytest.raises(
        InvalidMessage, match=f"client client-0: cells.member: .* more than {MAX_COMPARISONS}"
    ):
        Message.load(saved)


def test_a_message_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = message()
    monkeypatch.setattr("fedcert.families.disjoint._clashes", fail)
    monkeypatch.setattr(DiagonalGaussian, "log_mass_upper", fail)
    assert sent.to("cpu").digest == sent.digest
    assert torch.equal(sent.verified_cells().boxes.lower, sent.cells.boxes.lower)


def test_a_denormal_log_mass_is_harmless(saved: Path) -> None:
    """A box of nearly all mass has one; the server takes the smaller of it and its own bound."""
    wide = Box(vector(-60.0, -60.0, -60.0)[None], vector(60.0, 60.0, 60.0)[None])
    claim = vector(-DENORMAL)
    cells = Message("c", law(), Cells.shared(wide, claim), 1).verified_cells()
    assert cells.log_mass <= claim


@cache
def sound_file(folder: Path) -> bytes:
    message().save(folder / "sound.safetensors")
    return (folder / "sound.safetensors").read_bytes()


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=300)
def test_a_file_with_other_bytes_is_refused_or_says_the_same(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "flipped.safetensors"
    content = bytearray(sound_file(path.parent))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with suppress(FedcertError):
        assert Message.load(path).digest == message().digest


@pytest.mark.slow
@given(at=st.integers(0, 10_000), more=st.binary(max_size=20))
@settings(max_examples=50)
def test_a_file_cut_or_lengthened_is_refused(
    at: int, more: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.safetensors"
    content = sound_file(path.parent)
    changed = content[: at % len(content)] + more if at % 2 else content + more + b"0"
    if changed == content:
        return
    path.write_bytes(changed)
    with pytest.raises(InvalidMessage):
        Message.load(path)


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


@pytest.mark.slow
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
    with pytest.raises(InvalidLaw, match="exactly"):
        Message("client-0", enclosed, message().cells, 1)


def test_a_law_with_fixed_parameters_is_sent_with_its_cells(tmp_path: Path) -> None:
    """Also around 0, where a cell that counts the parameter has ends next to 0, no denormal numbers."""
    own = DiagonalGaussian(vector(0.0, 1.0), vector(0.0, 0.5))
    box = around(own, own.loc.unsqueeze(0), 3.0)
    sent = Message("client", own, Cells.shared(box, own.log_mass(box)), 1)
    sent.save(tmp_path / "message.safetensors")
    found = Message.load(tmp_path / "message.safetensors")
    assert torch.equal(found.law.scale, own.scale)
    assert found.verified_cells().mass(torch.ones(1, 1, dtype=torch.bool)).item() == pytest.approx(
        0.9973, abs=1e-4
    )
