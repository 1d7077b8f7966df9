"""The checker where nothing else is installed: it proves a run, and refuses one that was changed."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from saved import EVENTS, PAPER_BOX, TIGHT, make_federation, make_rules

from fedcert.families.mean_box.certify import certify_boxes_locally
from fedcert.families.problem import Problem
from fedcert.families.projected.direct import certify_projected_directly
from fedcert.families.projected.transported import certify_projected
from fedcert.federation.server import server
from fedcert.verify import Safe

REPOSITORY = Path(__file__).parents[2]
BLOCKED = ("fedcert", "torch", "scipy", "joblib", "sklearn", "safetensors", "jaxtyping")
ABSENT = (*BLOCKED, "pydantic")  # which typer itself needs from 0.29 on, should that be installed here
BLOCKING = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {BLOCKED}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder with certificates of every family of events and every kind of claim."""
    folder = tmp_path_factory.mktemp("run")
    federation = make_federation()
    rule = make_rules(federation)["fedavg"]
    network, properties = federation.safe.network, federation.safe.properties
    certificates = [
        *server(federation.messages, rule, network, properties, [PAPER_BOX]),
        certify_boxes_locally(federation.laws, rule.name, Safe(network, properties, TIGHT), EVENTS),
        certify_projected(Problem(network, properties, tuple(federation.laws), rule)),
        certify_projected_directly(Problem(network, properties, tuple(federation.laws), rule)),
    ]
    for number, certificate in enumerate(certificates):
        path = federation.save(folder, certificate, rule)
        path.rename(path.with_name(f"{number}-{certificate.claim.events}.safetensors"))
    assert {certificate.claim.events for certificate in certificates} == {"paper-box", "box", "projected"}
    return folder


def execute(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a command that sees no modules but its own environment's."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        encoding="utf-8",
        env=environment | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "120"},
        timeout=600,
        check=False,
    )


def prove_and_refuse(command: list[str | Path], run: Path, tmp_path: Path) -> None:
    """The command proves the run; of a certificate that was changed it says so with exit code 2."""
    done = execute([*command, run])
    assert done.returncode == 0, done.stderr
    certificates = sorted((run / "certificates").iterdir())
    assert done.stdout.count("│proved") == len(certificates)
    content = bytearray(certificates[0].read_bytes())
    content[-1] ^= 1
    changed = tmp_path / "changed.safetensors"
    changed.write_bytes(content)
    done = execute([*command, changed, "--messages", run / "messages"])
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("fedcert-check: ")
    assert "was changed" in line


@pytest.mark.slow
def test_a_run_is_proved_without_the_libraries_that_made_it(run: Path, tmp_path: Path) -> None:
    sources = REPOSITORY / "checker" / "src"
    program = f"{BLOCKING}\nsys.path.insert(0, {str(sources)!r})\nfrom fedcert_check.cli import main\nmain()"
    prove_and_refuse([sys.executable, "-c", program], run, tmp_path)


def test_the_libraries_are_blocked_indeed() -> None:
    for name in BLOCKED:
        done = execute([sys.executable, "-c", f"{BLOCKING}\nimport {name}"])
        assert f"No module named {name!r}" in done.stderr


@pytest.mark.slow
def test_a_run_is_proved_in_an_environment_of_the_checkers_own(run: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "environment", with_pip=True)
    programs = tmp_path / "environment" / ("Scripts" if os.name == "nt" else "bin")
    options = ["--quiet", "--disable-pip-version-check", "-c", REPOSITORY / "constraints.txt"]
    installed = execute([programs / "pip", "install", *options, REPOSITORY / "checker"])
    if any(sign in installed.stderr for sign in ("Connection", "from versions: none", "Name or service")):
        pytest.skip(f"pip reaches no registry: {installed.stderr.strip().splitlines()[-1]}")
    assert installed.returncode == 0, installed.stderr
    for name in ABSENT:
        done = execute([programs / "python", "-c", f"import {name}"])
        assert f"No module named {name!r}" in done.stderr
    prove_and_refuse([programs / "fedcert-check"], run, tmp_path)
