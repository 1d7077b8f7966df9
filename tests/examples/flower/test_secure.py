"""TLS and node authentication on 127.0.0.1: registered nodes take part, strangers do not."""

import json
import runpy
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from flower_network import CONNECTION, EXAMPLE, FlowerNetwork, example_with, flower_network
from flower_runs import DIGITS, assert_same_run
from integrations import library

pytestmark = pytest.mark.slow
STRANGER = 2
"""A node that has a key of its own, which nobody registered."""


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlowerNetwork]:
    library("flwr")
    folder = tmp_path_factory.mktemp("secure")
    keys = folder / "credentials"
    runpy.run_path(str(EXAMPLE / "credentials.py"))["make_credentials"](keys, nodes=3)
    authority = str(keys / "ca.crt")
    with flower_network(
        folder,
        superlink_options=(
            *("--ssl-ca-certfile", authority, "--ssl-certfile", str(keys / "server.pem")),
            *("--ssl-keyfile", str(keys / "server.key"), "--enable-supernode-auth"),
        ),
        supernode_options=("--root-certificates", authority),
        connection={"root-certificates": authority},
    ) as network:
        network.start_superlink()
        yield network


def test_only_registered_nodes_take_part(secure: FlowerNetwork, tmp_path: Path) -> None:
    keys = secure.folder / "credentials"
    for partition in range(2):
        secure.flwr("supernode", "register", str(keys / f"node-{partition}.pub"), CONNECTION)
    nodes = [
        secure.start_supernode(partition, "--auth-supernode-private-key", str(keys / f"node-{partition}"))
        for partition in range(3)
    ]
    app, out = example_with(DIGITS, tmp_path / "app"), tmp_path / "out"
    status, log = secure.run(app, {"out": str(out)})
    assert status == "finished:completed", log
    assert_same_run(out, DIGITS, tmp_path / "same")
    assert nodes[STRANGER].wait(60) != 0
    assert nodes[0].poll() is nodes[1].poll() is None


def test_nobody_is_heard_without_tls_or_under_another_authority(
    secure: FlowerNetwork, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    runpy.run_path(str(EXAMPLE / "credentials.py"))["make_credentials"](other, nodes=0)
    config = secure.folder / "config.toml"
    sound = config.read_text(encoding="utf-8")
    for settings in ("insecure = true", f"root-certificates = {json.dumps(str(other / 'ca.crt'))}"):
        head = [line for line in sound.splitlines() if not line.startswith("root-certificates")]
        config.write_text("\n".join([*head, settings, ""]), encoding="utf-8")
        try:
            done = subprocess.run(
                ["flwr", "list", CONNECTION, "--format", "json"],
                env=secure.environment, capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
        finally:
            config.write_text(sound, encoding="utf-8")
        assert done.returncode != 0 or not json.loads(done.stdout)["success"], done.stdout
