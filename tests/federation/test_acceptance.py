import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tampering import tamper
from torch import Tensor

from fedcert.errors import FedcertError, InvalidConfig, InvalidMessage, ShapeMismatch, TooFewClients
from fedcert.families.cells import Cells
from fedcert.federation.acceptance import Expected, accept
from fedcert.laws import DiagonalGaussian
from fedcert.numerics.box import Box
from fedcert.wire.message import Message
from fedcert_check.tensorfile import Limits

EXPECTED = Expected(clients=3, parameters=2, properties=4, events="cells")


def message(
    client: str, parameters: int = 2, rows: int = 1, cells: int = 1, events: str = "cells"
) -> Message:
    law = DiagonalGaussian(torch.zeros(parameters).double(), torch.ones(parameters).double())
    boxes = Box(torch.zeros(cells, parameters).double(), torch.ones(cells, parameters).double())
    member = torch.ones(rows, cells).bool()
    return Message(client, law, Cells(boxes, law.log_mass(boxes), member), 5, events)


def rewrite(path: Path, name: str, value: float) -> None:
    """Change the first number of a tensor."""
    tamper(path, lambda tensors, _: tensors[name].view(-1)[:1].fill_(value))


def ten_thousand_cells(tensors: dict[str, Tensor], _: dict[str, str]) -> None:
    """Cells one after the other along the first axis, all of one property."""
    step = torch.arange(10_000).double()[:, None] * torch.tensor([1.0, 0.0])
    for name in ("cells.lower", "cells.upper"):
        tensors[name] = tensors[name] + step
    tensors["cells.log_mass"] = torch.full((10_000,), -math.inf).double()
    tensors["cells.member"] = torch.ones(1, 10_000).bool()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three sound messages; the files are not in the order of the names."""
    paths = [tmp_path / f"{name}.safetensors" for name in "cab"]
    for path, client in zip(paths, ("client-10", "client-2", "client-1"), strict=True):
        message(client).save(path)
    return paths


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def names(messages: list[Message]) -> list[str]:
    return [message.client for message in messages]


@pytest.mark.parametrize("min_clients", [None, 1, 3])
def test_sound_messages_are_accepted_in_the_order_of_the_clients(
    files: list[Path], min_clients: int | None
) -> None:
    accepted = accept(files, EXPECTED, min_clients)
    assert names(accepted.messages) == ["client-1", "client-2", "client-10"]
    assert accepted.refused == {}


Attack = Callable[[Path], None]
ATTACKS = [
    pytest.param(truncate, InvalidMessage, "a.safetensors", id="truncated"),
    pytest.param(lambda p: message("client-9", 3).save(p), ShapeMismatch, "client-9: law.loc", id="network"),
    pytest.param(
        lambda p: message("client-9", rows=3).save(p),
        ShapeMismatch,
        "client-9: cells.member",
        id="properties",
    ),
    pytest.param(lambda p: p.write_bytes(b"\x80\x04."), InvalidMessage, "header", id="pickle"),
    pytest.param(
        lambda p: message("client-9", events=60 * "x").save(p),
        InvalidMessage,
        "client-9: events",
        id="events",
    ),
    pytest.param(
        lambda p: message("client-9", events="box", cells=0).save(p),
        InvalidMessage,
        "client-9: events",
        id="events without cells",
    ),
    pytest.param(
        lambda p: rewrite(p, "cells.upper", 1.7e308), InvalidMessage, "client-2: cells.upper", id="far cell"
    ),
    pytest.param(lambda p: rewrite(p, "law.loc", -1e99), InvalidMessage, "client-2: law.loc", id="far mean"),
    pytest.param(
        lambda p: rewrite(p, "law.scale", 1e-100), InvalidMessage, "client-2: law.scale", id="tiny scale"
    ),
    pytest.param(
        lambda p: tamper(p, ten_thousand_cells),
        InvalidMessage,
        "client-2: cells.member: .* comparisons",
        id="dear cells",
    ),
    pytest.param(
        lambda p: (p.unlink(), p.mkdir()), InvalidMessage, "a.safetensors: Is a directory", id="folder"
    ),
]


@pytest.mark.parametrize(("attack", "error", "named"), ATTACKS)
def test_one_hostile_message_stops_the_server_unless_fewer_clients_will_do(
    files: list[Path], attack: Attack, error: type[FedcertError], named: str
) -> None:
    attack(files[1])
    with pytest.raises(error, match=named):
        accept(files, EXPECTED)
    with pytest.raises(TooFewClients, match=f"2 sound messages, but 3.*{named}"):
        accept(files, EXPECTED, 3)
    accepted = accept(files, EXPECTED, 2)
    assert names(accepted.messages) == ["client-1", "client-10"]
    (refused,) = accepted.refused.items()
    assert refused[0] == "a.safetensors"
    assert str(files[1].parent) not in refused[1]


def test_two_clients_of_one_name_are_both_refused(files: list[Path]) -> None:
    message("client-1").save(files[0])
    with pytest.raises(InvalidMessage, match="client client-1: client: two messages of one name"):
        accept(files, EXPECTED)
    accepted = accept(files, EXPECTED, 1)
    assert names(accepted.messages) == ["client-2"]
    assert set(accepted.refused) == {"b.safetensors", "c.safetensors"}


def test_names_that_one_file_could_have_are_one_name(files: list[Path]) -> None:
    message("Client-1").save(files[0])
    with pytest.raises(InvalidMessage, match="client-1: client: two messages of one name"):
        accept(files, EXPECTED)
    assert set(accept(files, EXPECTED, 1).refused) == {"b.safetensors", "c.safetensors"}


def test_a_server_that_asked_for_no_cells_takes_any_family(files: list[Path]) -> None:
    message("client-9", events="box").save(files[1])
    assert len(accept(files, replace(EXPECTED, events=None)).messages) == 3


def test_refusals_can_be_shown_whatever_a_file_is_called(files: list[Path], tmp_path: Path) -> None:
    foreign = tmp_path / "d\x1b[2J\n\udcff\\.safetensors"
    foreign.write_bytes(b"")
    (refused,) = accept([*files[:2], foreign], EXPECTED, 2).refused.items()
    assert refused[0] == r"d\x1b[2J\n\udcff\.safetensors"
    assert refused[1].isprintable()


def test_a_missing_client_is_an_error_unless_fewer_will_do(files: list[Path]) -> None:
    with pytest.raises(TooFewClients, match="2 sound messages, but 3 clients"):
        accept(files[:2], EXPECTED)
    assert names(accept(files[:2], EXPECTED, 2).messages) == ["client-2", "client-10"]


@pytest.mark.parametrize("min_clients", [None, 1])
def test_a_stranger_cannot_join(files: list[Path], tmp_path: Path, min_clients: int | None) -> None:
    message("client-11").save(tmp_path / "d.safetensors")
    with pytest.raises(InvalidMessage, match="4 messages for 3 clients"):
        accept([*files, tmp_path / "d.safetensors"], EXPECTED, min_clients)


@pytest.mark.parametrize("min_clients", [0, -1, 4])
def test_a_minimum_that_makes_no_sense_is_refused(files: list[Path], min_clients: int) -> None:
    with pytest.raises(InvalidConfig, match="min-clients"):
        accept(files, EXPECTED, min_clients)


def test_the_limits_hold_for_every_message(files: list[Path]) -> None:
    with pytest.raises(InvalidMessage, match="more than 100"):
        accept(files, replace(EXPECTED, limits=Limits(file_bytes=100)))


def test_clients_without_a_message_are_named_with_the_reasons(files: list[Path]) -> None:
    absent = {"node-7": "no reply in time\x1b"}
    with pytest.raises(TooFewClients, match=r"2 sound messages, but 3 .*; node-7: no reply in time"):
        accept(files[:2], EXPECTED, absent=absent)
    accepted = accept(files[:2], EXPECTED, 2, absent)
    assert list(accepted.refused) == ["node-7"]
    assert "\x1b" not in accepted.refused["node-7"]


def test_clients_that_the_data_name_come_in_the_order_of_the_data(files: list[Path]) -> None:
    expected = replace(EXPECTED, names=("client-10", "client-1"))
    assert names(accept(files, expected).messages) == ["client-10", "client-1", "client-2"]
