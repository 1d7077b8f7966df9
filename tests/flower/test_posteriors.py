from pathlib import Path

import numpy as np
import pytest
import torch
from integrations import library

from fedcert import DiagonalGaussian, GaussianMixture, Message, Posterior, mlp
from fedcert.errors import InvalidLaw, InvalidMessage
from fedcert.families.cells import Cells

library("flwr")

from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedcert.flower import pack, unpack

LAW = DiagonalGaussian(torch.zeros(6).double(), torch.ones(6).double())


@pytest.mark.parametrize(
    "posterior",
    [LAW, Posterior(mlp(2, 2), LAW), (np.zeros(6), np.ones(6)), Message("clinic", LAW, Cells.none(6), 7)],
    ids=["law", "posterior", "arrays", "message"],
)
def test_a_record_holds_the_bytes_of_the_message_file(posterior: object, tmp_path: Path) -> None:
    Message("clinic", LAW, Cells.none(6), 7).save(tmp_path / "file")
    record = pack(posterior, "clinic", 7)
    assert unpack(RecordDict({"arrays": record})) == (tmp_path / "file").read_bytes()


def test_a_mixture_is_a_posterior_too(tmp_path: Path) -> None:
    mixture = GaussianMixture((LAW, LAW), torch.tensor([1.0, 3.0]).double())
    (tmp_path / "file").write_bytes(unpack(RecordDict({"arrays": pack(mixture, "clinic", 7)})))
    assert len(Message.load(tmp_path / "file").law.components) == 2


def test_an_unsound_posterior_is_not_even_sent() -> None:
    with pytest.raises(InvalidLaw):
        pack((np.full(6, np.nan), np.ones(6)), "clinic", 7)
    with pytest.raises(InvalidMessage, match="name"):
        pack(LAW)


KEY = "fedcert-message"
GARBAGE = {
    "no arrays": (RecordDict({"config": ConfigRecord()}), "0 array records"),
    "two records": (RecordDict({"a": ArrayRecord(), "b": ArrayRecord()}), "2 array records"),
    "nothing": (RecordDict({"arrays": ArrayRecord()}), "nothing instead of a posterior"),
    "parameters": (
        RecordDict({"arrays": ArrayRecord({"0.weight": Array(np.ones(2)), "0.bias": Array(np.ones(2))})}),
        "'0.weight', '0.bias' instead of a posterior: send what pack makes",
    ),
    "numpy": (RecordDict({"arrays": ArrayRecord({KEY: Array(np.ones(2))})}), f"{KEY}: 144 bytes declared as"),
    "length": (
        RecordDict({"arrays": ArrayRecord({KEY: Array("uint8", (3,), "fedcert.message", b"ab")})}),
        f"{KEY}: 2 bytes declared as",
    ),
    "escape codes": (
        RecordDict({"arrays": ArrayRecord({KEY: Array("\x1b[31m", (2,), "x" * 500, b"ab")})}),
        f"{KEY}: 2 bytes declared as x{{80}}\n",
    ),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_what_is_no_posterior_is_refused_by_its_field(kind: str) -> None:
    reply, complaint = GARBAGE[kind]
    with pytest.raises(InvalidMessage, match=complaint) as refused:
        unpack(reply)
    assert "\x1b" not in str(refused.value)


def test_more_bytes_than_a_message_may_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from fedcert.flower import posteriors
    from fedcert_check.tensorfile import Limits

    monkeypatch.setattr(posteriors, "LIMITS", Limits(file_bytes=100))
    with pytest.raises(InvalidMessage, match="more than 100"):
        unpack(RecordDict({"arrays": pack(LAW, "clinic")}))
