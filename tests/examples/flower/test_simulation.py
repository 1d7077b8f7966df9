"""The example by `flwr run` in simulation: the same messages and certificates as `fedcert run`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flower_network import FlowerNetwork, example_with, flower_network
from flower_runs import DIGITS, HEART, assert_same_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def simulation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlowerNetwork]:
    with flower_network(tmp_path_factory.mktemp("simulation")) as network:
        network.start_superlink("--simulation")
        yield network


@pytest.mark.parametrize("settings", [HEART, DIGITS], ids=["heart-disease", "digits"])
def test_a_simulation_is_the_run_in_one_process(
    simulation: FlowerNetwork, tmp_path: Path, settings: dict[str, Any]
) -> None:
    app, out = example_with(settings, tmp_path / "app"), tmp_path / "out"
    nodes = f"num-supernodes={settings['clients']} client-resources-num-cpus=1"
    status, log = simulation.run(app, {"out": str(out)}, "--federation-config", nodes)
    assert status == "finished:completed", log
    assert_same_run(out, settings, tmp_path / "same")
