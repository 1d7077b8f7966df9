"""A SuperLink and SuperNodes as processes on 127.0.0.1: sound clients, then clients that misbehave."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from flower_network import FlowerNetwork, example_with, flower_network
from flower_runs import DIGITS, HEART, assert_same_run

pytestmark = pytest.mark.slow
REPLY_SECONDS = 45.0  # waited in full for the silent client
MISBEHAVING = Path(__file__).with_name("misbehaving_client.py")


@pytest.fixture(scope="module")
def hospitals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlowerNetwork]:
    with flower_network(tmp_path_factory.mktemp("deployment")) as network:
        network.start_superlink()
        for partition in range(4):
            network.start_supernode(partition)
        yield network


def test_four_hospitals_as_nodes_are_the_run_in_one_process(hospitals: FlowerNetwork, tmp_path: Path) -> None:
    app, out = example_with(HEART, tmp_path / "app"), tmp_path / "out"
    status, log = hospitals.run(app, {"out": str(out)})
    assert status == "finished:completed", log
    assert_same_run(out, HEART, tmp_path / "same")


def test_a_killed_a_silent_a_nan_and_a_foreign_client(hospitals: FlowerNetwork, tmp_path: Path) -> None:
    """One honest client of five will do; each of the others is refused by node, name and field."""
    hospitals.start_supernode(4)
    app, out = example_with(DIGITS | {"clients": 5}, tmp_path / "app"), tmp_path / "out"
    shutil.copy(MISBEHAVING, app / "certified_federation" / "client_app.py")
    status, log = hospitals.run(app, {"out": str(out), "min-clients": 1, "reply-timeout": REPLY_SECONDS})
    assert status == "finished:completed", log
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert [client["client"] for client in result["clients"]] == ["client-0"]
    reasons = sorted(reason.partition("; ")[0] for reason in result["refused"].values())
    assert reasons == [
        "client client-3: law.loc: the mean must be finite",
        "client client-4: law.loc: 609 parameters, but the network has 610: all must train the same network",
        "no reply in time",
        "no reply in time",
    ]
    assert all(name.startswith("node-") for name in result["refused"])
