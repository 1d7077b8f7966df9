"""The round without processes: a grid that hands over whatever clients send."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from integrations import library

import fedcert
from fedcert import DiagonalGaussian, linf_robustness, mlp, stream
from fedcert.errors import (
    FedcertError,
    InvalidConfig,
    InvalidMessage,
    OutputExists,
    ShapeMismatch,
    TooFewClients,
)
from fedcert_check import check_run

library("flwr")

from flwr.app import Array, ArrayRecord, Error, Message, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

from fedcert.flower import (
    CertifiedFedAvg,
    Certifier,
    PropertyCertifier,
    RunCertifier,
    pack,
    parameters_record,
    parameters_vector,
)
from fedcert.flower.posteriors import KEY, STYPE
from fedcert.flower.strategy import cause

pytestmark = pytest.mark.slow
NETWORK = mlp(2, 4, 2)
MEAN = torch.tensor([2, 0, 0, 2, 1, 1, 1, -1, 0, 0, 0, 0, 1, -1, 0, 1, -1, 1, 0, -1, 0, 0]).double()
ASKED = linf_robustness([[0.65, 0.35], [0.4, 0.6]], [0, 1], 0.01, classes=2)
Reply = Callable[[int], RecordDict | Error | None]


def law(node: int) -> DiagonalGaussian:
    return DiagonalGaussian(MEAN + 0.02 * node, torch.full_like(MEAN, 0.15))


def sound(node: int) -> RecordDict:
    return RecordDict({"arrays": pack(law(node), f"clinic-{node}", 10 * (node + 1))})


def nan(node: int) -> RecordDict:
    record = sound(node)["arrays"]
    content = record[KEY].data.replace(np.float64(0.15).tobytes(), np.float64("nan").tobytes())
    return RecordDict({"arrays": ArrayRecord({KEY: Array("uint8", (len(content),), STYPE, content)})})


def foreign(node: int) -> RecordDict:
    return RecordDict({"arrays": pack((np.zeros(6), np.ones(6)), f"clinic-{node}")})


def impostor(node: int) -> RecordDict:
    return RecordDict({"arrays": pack(law(node), "clinic-0")})


def parameters(node: int) -> RecordDict:
    return RecordDict({"arrays": parameters_record(NETWORK, law(node).loc)})


def crashed(node: int) -> Error:
    return Error(code=2, reason="killed \x1b[31m" + "x" * 1000)


def silent(node: int) -> None:
    return None


class FakeGrid(Grid):
    """Nodes 0, 1, … and what each replies."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = replies

    def get_node_ids(self) -> Iterable[int]:
        return range(len(self.replies))

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float) -> list[Message]:
        found = []
        for message in messages:
            node = message.metadata.dst_node_id
            answer = self.replies[node](node)
            if answer is None:
                continue
            message.metadata.__dict__["_message_id"] = str(node)
            found.append(Message(answer, reply_to=message))
        return found


@pytest.fixture(autouse=True)
def identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are made inside a run of Flower's."""
    for name in ("_run_id", "_task_id", "_node_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


FakeGrid.__abstractmethods__ = frozenset()  # the strategy uses no other methods


def strategy(out: Path, min_clients: int | None = None, **options: Any) -> CertifiedFedAvg:
    certifier = PropertyCertifier(NETWORK, ASKED, 3, out)
    return CertifiedFedAvg(certifier, min_clients, 0.1, fraction_evaluate=0.0, **options)


def start(own: CertifiedFedAvg, *replies: Reply) -> Any:
    return own.start(FakeGrid(*replies), parameters_record(NETWORK, MEAN))


def test_the_certificate_is_that_of_certify_and_is_proved(tmp_path: Path) -> None:
    own = strategy(tmp_path / "out")
    result = start(own, sound, sound, sound)
    same = fedcert.certify([law(node) for node in range(3)], "fedavg", NETWORK, ASKED)
    metrics = result.train_metrics_clientapp[1]
    assert (metrics["lower"], metrics["upper"]) == (same.mean_lower, same.mean_upper)
    assert (metrics["clients"], metrics["refused"]) == (3, 0)
    assert 0.9 < metrics["lower"] <= metrics["upper"]
    report = check_run(tmp_path / "out")
    assert report.exit_code == 0
    assert len(report.outcomes) == 2


def test_what_is_deployed_is_a_draw_of_the_deployed_law_not_its_mean(tmp_path: Path) -> None:
    drawn = []
    for number, seed in enumerate((None, None, 7, 7)):
        generator = None if seed is None else stream(seed)
        own = strategy(tmp_path / str(number), generator=generator)
        drawn.append(parameters_vector(NETWORK, start(own, sound, sound, sound).arrays))
    assert torch.equal(drawn[2], drawn[3])
    assert not torch.equal(drawn[0], drawn[1])
    mean, scale = MEAN + 0.02, 0.15 / 3**0.5
    standard = (torch.stack(drawn) - mean) / scale
    assert standard.abs().max() < 6
    assert 0.5 < standard.std() < 1.5


BAD: dict[Reply, tuple[type[FedcertError], str]] = {
    nan: (FedcertError, "client clinic-1: law.scale: "),
    foreign: (ShapeMismatch, "client clinic-1: law.loc: 6 parameters, but the network has 22"),
    parameters: (TooFewClients, "node-1: arrays: '0.weight', '0.bias', '2.weight', '2.bias' instead of"),
    crashed: (TooFewClients, "node-1: the client failed: killed "),
    silent: (TooFewClients, "node-1: no reply in time"),
    impostor: (InvalidMessage, "two messages of one name"),
}


@pytest.mark.parametrize("bad", BAD, ids=lambda reply: reply.__name__)
def test_without_min_clients_the_run_ends_and_names_node_client_and_field(bad: Reply, tmp_path: Path) -> None:
    kind, complaint = BAD[bad]
    with pytest.raises(kind, match="node-") as refused:
        start(strategy(tmp_path / "out"), sound, bad, sound)
    assert complaint in str(refused.value)
    assert "\x1b" not in str(refused.value)
    assert len(str(refused.value)) < 1000
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("bad", BAD, ids=lambda reply: reply.__name__)
def test_with_min_clients_the_others_deploy_and_the_refused_are_listed(bad: Reply, tmp_path: Path) -> None:
    own = strategy(tmp_path / "out", min_clients=1)
    result = start(own, sound, bad, sound)
    left = [2] if bad is impostor else [0, 2]
    assert result.train_metrics_clientapp[1]["clients"] == len(left)
    assert result.train_metrics_clientapp[1]["refused"] == 3 - len(left)
    assert any(name.startswith("node-1") for name in own.certified.refused)
    names = sorted(path.stem for path in (tmp_path / "out" / "messages").iterdir())
    assert names == [f"clinic-{node}" for node in left]
    report = check_run(tmp_path / "out")
    assert report.exit_code == 0
    recorded = json.loads((tmp_path / "out" / "refused.json").read_text())
    assert recorded == own.certified.refused
    assert "not proved, as recorded: which clients were refused (refused.json)" in report.comparison.notes


def test_of_a_traceback_the_cause_is_said() -> None:
    trace = '\x1b[36mray::ClientAppActor.run()\x1b[39m\n  File "a.py", line 1\nValueError: no\x07 data\n'
    assert cause(trace) == r"ValueError: no\x07 data"


def test_too_few_connected_clients_are_an_error_that_comes_in_time(tmp_path: Path) -> None:
    with pytest.raises(TooFewClients, match=r"2 of 3 clients connected within 0\.1 s, but 3 are needed"):
        start(strategy(tmp_path / "out"), sound, sound)
    result = start(strategy(tmp_path / "out", min_clients=2), sound, sound)
    assert result.train_metrics_clientapp[1]["clients"] == 2


def test_a_stranger_does_not_join(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="4 nodes are connected, but there are 3 clients"):
        start(strategy(tmp_path / "out", min_clients=1), sound, sound, sound, sound)


def test_what_cannot_be_is_refused_before_anybody_trains(tmp_path: Path) -> None:
    own = strategy(tmp_path / "out")
    with pytest.raises(InvalidConfig, match="num_rounds"):
        own.start(FakeGrid(sound), ArrayRecord(), num_rounds=3)
    for number in (0, 4):
        with pytest.raises(InvalidConfig, match="min_clients: between 1 and 3"):
            strategy(tmp_path / "out", min_clients=number)
    with pytest.raises(InvalidConfig, match="fraction_train"):
        strategy(tmp_path / "out", fraction_train=0.5)
    start(own, sound, sound, sound)
    with pytest.raises(OutputExists):
        strategy(tmp_path / "out")


def test_the_certifiers_fulfil_their_protocol(tmp_path: Path) -> None:
    config = fedcert.app.config.make_config({"dataset": "heart-disease"})
    run = RunCertifier(config, tmp_path / "run")
    for certifier in (PropertyCertifier(NETWORK, ASKED, 3, tmp_path / "out"), run):
        assert isinstance(certifier, Certifier)
    assert (run.clients, run.model.outputs) == (4, 2)
