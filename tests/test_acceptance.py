from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from fedcert.acceptance import Expected, accept
from fedcert.box import Box
from fedcert.errors import FedcertError, InvalidConfig, InvalidMessage, ShapeMismatch, TooFewClients
from fedcert.events.cells import Cells
from fedcert.laws import DiagonalGaussian
from fedcert.message import Message
from fedcert.tensorfile import Limits

EXPECTED = Expected(clients=3, parameters=2, properties=4, events="cells")


def message(client: str, parameters: int = 2, rows: int = 1) -> Message:
    law = DiagonalGaussian(torch.zeros(parameters).double(), torch.ones(parameters).double())
    cell = Box(torch.zeros(1, parameters).double(), torch.ones(1, parameters).double())
    return Message(client, law, Cells(cell, law.log_mass(cell), torch.ones(rows, 1).bool()), 5)


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
