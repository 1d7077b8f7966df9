import math
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import small_config, untimed
from tampering import tamper
from torch import Tensor

from fedcert.app.journal import Once
from fedcert.app.output import carry_out
from fedcert.app.result import read_summary
from fedcert.app.run import RunResult, run
from fedcert.app.serve import Server
from fedcert.app.summary import identity_of
from fedcert.errors import FedcertError, InvalidMessage, OutputExists, TooFewClients
from fedcert.laws import LARGEST
from fedcert.rules import LinearRule
from fedcert.wire.limits import MAX_MAGNITUDE, MAX_WEIGHT, MIN_SCALE

CONFIG = small_config(clients=3, weights="size", scale=1e-4)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    carry_out(lambda once: run(CONFIG, once=once), folder, identity_of(CONFIG))
    return folder


@pytest.fixture
def messages(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished / "messages", tmp_path / "inbox")
    return tmp_path / "inbox"


def certify(server: Server, folder: Path) -> dict[str, Any]:
    return carry_out(lambda once: server.certify(once=once), folder, server.identity)


@pytest.mark.slow
def test_the_messages_of_a_run_give_its_certificates_again(
    finished: Path, messages: Path, tmp_path: Path
) -> None:
    summary = certify(Server.receive(CONFIG, messages), tmp_path / "out")
    only_the_clients_know = {"histograms": None}
    assert untimed(summary) == untimed(read_summary(finished)) | only_the_clients_know
    for name in ("messages", "certificates"):
        again, first = (sorted(p.name for p in (f / name).iterdir()) for f in (tmp_path / "out", finished))
        assert again == first
    for name in ("properties.csv", "properties.json"):
        assert (tmp_path / "out" / name).read_bytes() == (finished / name).read_bytes()
    assert "Label histogram" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_refused_client_has_no_share_in_the_rule_and_is_named_in_the_result(
    messages: Path, tmp_path: Path
) -> None:
    hostile = messages / "client-1.safetensors"
    hostile.write_bytes(hostile.read_bytes()[:-1])
    with pytest.raises(InvalidMessage, match="client-1"):
        Server.receive(CONFIG, messages)
    server = Server.receive(CONFIG, messages, min_clients=2)
    summary = certify(server, tmp_path / "out")
    assert [client["client"] for client in summary["clients"]] == ["client-0", "client-2"]
    assert list(summary["refused"]) == ["client-1.safetensors"]
    assert "client-1.safetensors" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert not (tmp_path / "out" / "messages" / hostile.name).exists()

    kept = server.accepted.messages
    rule = LinearRule.fedavg([message.examples for message in kept])
    mean = rule([message.law.loc for message in kept])
    predicted = server.network(mean, server.inputs.test.x).argmax(-1)
    expected = (predicted == server.inputs.test.label).double().mean().item()
    assert summary["accuracy_by_rule"]["fedavg"] == expected


def far_cell(tensors: dict[str, Tensor], _: dict[str, str]) -> None:
    """A cell of no claimed mass that reaches as far as a number can."""
    tensors["cells.upper"][0, 0] = sys.float_info.max
    tensors["cells.log_mass"][:] = -math.inf


def long_family(_: dict[str, Tensor], header: dict[str, str]) -> None:
    header["events"] = 60 * "x"


def far_mean(tensors: dict[str, Tensor], _: dict[str, str]) -> None:
    """A law whose multiple is no law."""
    tensors["law.loc"][:] = LARGEST
    tensors["cells.log_mass"][:] = -math.inf


@pytest.mark.parametrize(
    ("change", "settings", "field"),
    [
        (far_cell, {"rule": "trimmed-mean", "trim": 0}, "cells.upper"),
        (far_cell, {"rule": "server-step", "server_rate": 3.0}, "cells.upper"),
        (long_family, {}, "events"),
        (far_mean, {"rule": "server-step", "server_rate": 9.0}, "law.loc"),
    ],
)
def test_no_message_ends_the_work_of_the_others(
    messages: Path, tmp_path: Path, change: Any, settings: dict[str, Any], field: str
) -> None:
    config = CONFIG.model_copy(update={"events": ("paper-box",), **settings})
    tamper(messages / "client-1.safetensors", change)
    with pytest.raises(FedcertError, match=f"client client-1: {field}"):
        Server.receive(config, messages)
    summary = certify(Server.receive(config, messages, min_clients=2), tmp_path / "out")
    assert len(summary["clients"]) == 2
    assert field in summary["refused"]["client-1.safetensors"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "loc", "scale"),
    [
        ("server-step", MAX_MAGNITUDE, MAX_MAGNITUDE),
        ("trimmed-mean", MAX_MAGNITUDE, MAX_MAGNITUDE),
        ("server-step", -MAX_MAGNITUDE, MIN_SCALE),
    ],
)
def test_the_most_extreme_law_that_is_accepted_is_certified(
    messages: Path, tmp_path: Path, rule: str, loc: float, scale: float
) -> None:
    """Every other mean and scale is extreme; what is proven of such a model does not matter here."""

    def extreme(tensors: dict[str, Tensor], _: dict[str, str]) -> None:
        tensors["law.loc"][::2] = loc
        tensors["law.scale"][1::2] = scale
        tensors["cells.lower"][:] = torch.where(tensors["cells.lower"] < 0, -MAX_MAGNITUDE, 0.0)
        tensors["cells.upper"][:] = MAX_MAGNITUDE
        tensors["cells.member"] = torch.eye(1, len(tensors["cells.lower"])).bool()
        tensors["cells.log_mass"][:] = -math.inf

    tamper(messages / "client-1.safetensors", extreme)
    config = CONFIG.model_copy(
        update={"rule": rule, "server_rate": MAX_WEIGHT, "trim": 0, "events": ("paper-box", "box")}
    )
    summary = certify(Server.receive(config, messages), tmp_path / "out")
    assert {client["client"] for client in summary["clients"]} == {"client-0", "client-1", "client-2"}


def test_explicit_weights_cannot_be_shared_out(messages: Path) -> None:
    (messages / "client-1.safetensors").unlink()
    config = CONFIG.model_copy(update={"weights": (0.5, 0.25, 0.25)})
    with pytest.raises(TooFewClients, match="weights: given for 3 clients"):
        Server.receive(config, messages, min_clients=1)


def test_another_network_than_the_clients_is_an_error_that_names_the_first(messages: Path) -> None:
    with pytest.raises(ValueError, match=r"client client-0: law.loc: 610 parameters"):
        Server.receive(CONFIG.model_copy(update={"network": "mlp:9"}), messages)


def test_a_folder_without_messages_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidMessage, match="no message"):
        Server.receive(CONFIG, tmp_path)


def test_a_folder_of_messages_that_does_not_exist_is_called_that_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedcert.app.serve.choose_examples", lambda *_: pytest.fail("data were read"))
    with pytest.raises(InvalidMessage, match="nowhere: this folder does not exist: --messages names"):
        Server.receive(CONFIG, tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidMessage, match="file: this is not a folder"):
        Server.receive(CONFIG, tmp_path / "file")


class Killed(BaseException):
    """The process is no more."""


@pytest.mark.slow
def test_killed_work_goes_on_for_the_same_messages_only(
    finished: Path, messages: Path, tmp_path: Path
) -> None:
    """Other messages are another claim, whatever the configuration says."""
    server, out = Server.receive(CONFIG, messages), tmp_path / "out"

    def die(once: Once) -> RunResult:
        server.certify(once=once)
        raise Killed

    with pytest.raises(Killed):
        carry_out(die, out, server.identity)
    (messages / "client-2.safetensors").unlink()
    fewer = Server.receive(CONFIG, messages, min_clients=2)
    with pytest.raises(OutputExists, match="another configuration"):
        certify(fewer, out)
    assert not (out / "result.json").exists()


@pytest.mark.slow
def test_a_resumed_run_makes_only_what_is_missing(finished: Path, tmp_path: Path) -> None:
    made: list[str] = []

    def work(once: Once) -> RunResult:
        def watched(name: str, make: Any, form: Any) -> Any:
            def noted() -> Any:
                part = make()
                made.append(name)
                return part

            part = once(name, noted, form)
            if len(made) == death:
                raise Killed
            return part

        return run(CONFIG, once=watched)

    for deaths in (2, 5, 9, 20):
        death = deaths
        with pytest.raises(Killed):
            carry_out(work, tmp_path, identity_of(CONFIG))
    death = 0
    summary = carry_out(work, tmp_path, identity_of(CONFIG))
    assert len(made) == len(set(made)) == 3 + 3 + 12 + 5
    assert untimed(summary) == untimed(read_summary(finished))
