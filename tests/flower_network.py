"""Flower's processes on 127.0.0.1, for tests: each bounded in time, none left behind."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integrations import library

EXAMPLE = Path(__file__).parents[1] / "examples" / "flower"
MARK = "FEDCERT_TEST_NETWORK"
"""A variable that every process of a network inherits, by which those that were left behind are found."""
RUN_SECONDS, START_SECONDS, END_SECONDS = 150, 60, 40
CONNECTION = "test"


@dataclass
class FlowerNetwork:
    """A SuperLink, SuperNodes, and what a user types.

    Attributes:
        folder: for Flower's own files and the logs.
        superlink_options: for TLS; insecure where empty.
        supernode_options: for TLS; insecure where empty.
        connection: of the commands to the SuperLink.
    """

    folder: Path
    superlink_options: Sequence[str] = ()
    supernode_options: Sequence[str] = ()
    connection: Mapping[str, Any] = field(default_factory=lambda: {"insecure": True})
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.port = free_port()
        self.mark = str(uuid.uuid4())
        self.ray = Path(tempfile.mkdtemp(prefix="ray-"))  # paths of Ray's sockets must be short
        settings = {"address": f"127.0.0.1:{self.port}", **self.connection}
        lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        text = "\n".join([f'[superlink]\ndefault = "{CONNECTION}"\n[superlink.{CONNECTION}]', *lines])
        (self.folder / "config.toml").write_text(text + "\n", encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            MARK: self.mark,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "FLWR_HOME": str(self.folder),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ADDRESS": "local",  # never a cluster that happens to run on this machine
            "RAY_TMPDIR": str(self.ray),
            "OMP_NUM_THREADS": "1",
        }

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def spawn(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, cwd=self.folder)
        self.processes.append(process)
        return process

    def start_superlink(self, *options: str) -> None:
        command = ["flower-superlink", "--host", "127.0.0.1", "--port", str(self.port)]
        self.spawn(
            "superlink",
            *command,
            *(self.superlink_options or ["--insecure"]),
            "--disable-runtime-dependency-installation",
            *options,
        )
        wait_for_port(self.port)

    def start_supernode(self, partition: int, *options: str) -> subprocess.Popen[bytes]:
        return self.spawn(
            f"supernode-{partition}",
            *("flower-supernode", "--superlink", f"127.0.0.1:{self.port}", "--port", str(free_port())),
            *("--node-config", f"partition-id={partition}", "--max-wait-time", "60"),
            *(self.supernode_options or ["--insecure"]),
            *options,
        )

    def flwr(self, *arguments: str, seconds: float = RUN_SECONDS) -> str:
        """The output of a command, which must succeed."""
        done = subprocess.run(
            ["flwr", *arguments],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, app: Path, config: Mapping[str, Any], *options: str) -> tuple[str, str]:
        """The status of a run once it is over, and its log; `flwr run` itself succeeds whatever happens."""
        settings = " ".join(f"{name}={json.dumps(value)}" for name, value in config.items())
        log = self.flwr("run", str(app), CONNECTION, "--stream", "--run-config", settings, *options)
        runs = json.loads(self.flwr("list", CONNECTION, "--format", "json"))["runs"]
        return max(runs, key=lambda run: run["pending-at"])["status"], log

    def close(self) -> None:
        """End every process; one that stays is killed by its id, and is a failure."""
        for process in reversed(self.processes):
            process.terminate()
        left = self._left(END_SECONDS)
        commands = [command(process) for process in left]
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for process in self.processes:
            process.wait(END_SECONDS)
        shutil.rmtree(self.ray, ignore_errors=True)
        assert not left, f"left behind: {commands}"

    def _left(self, seconds: float) -> list[int]:
        deadline = time.monotonic() + seconds
        while (left := marked(self.mark)) and time.monotonic() < deadline:
            for process in self.processes:
                process.poll()
            time.sleep(0.2)
        return left


def example_with(settings: Mapping[str, Any], folder: Path) -> Path:
    """A copy of the example whose run has these settings alone.

    Args:
        settings: of `fedcert run`.
        folder: to be made.
    """
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "pyproject.toml"
    header = "[tool.flwr.app.config.run]\n"
    before, found, _ = file.read_text(encoding="utf-8").partition(header)
    assert found
    lines = [f"{name.replace('_', '-')} = {json.dumps(value)}\n" for name, value in settings.items()]
    file.write_text(before + header + "".join(lines), encoding="utf-8")
    return folder


@contextlib.contextmanager
def flower_network(folder: Path, **options: Any) -> Iterator[FlowerNetwork]:
    library("flwr")
    network = FlowerNetwork(folder, **options)
    try:
        yield network
    finally:
        network.close()


def marked(mark: str) -> list[int]:
    """The processes that inherited a mark and have not ended."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def command(process: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:120]
    return f"{process}, which has just ended"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")
