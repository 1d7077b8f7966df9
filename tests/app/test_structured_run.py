"""Whole runs with laws by laplace-torch: trained, sent, certified, and proved by the checker."""

import json
from pathlib import Path

import pytest
from integrations import library
from small_runs import SMALL_RUN
from terminal import exit_code

from fedcert import BlockGaussian
from fedcert.app.cli import main
from fedcert.app.config import RunConfig
from fedcert.app.run import run
from fedcert.errors import InvalidConfig, InvalidLaw
from fedcert.wire.message import Message

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning"),
]
SETTINGS = """
train-examples = 300
test-examples = 40
clients = 2
epsilon = 0.001
properties = 2
events = "all"
claims = "transported,direct"
attack-samples = 10
posterior = "laplace"
laplace.epochs = 8
laplace.batch-size = 32
laplace.learning-rate = 0.01
"""


@pytest.fixture(autouse=True)
def _laplace() -> None:
    library("laplace")


@pytest.mark.parametrize(
    ("network", "structure", "precision"),
    [
        ("mlp:4", "kron", 3000),
        ("mlp:4", "last-layer-kron", 30),
        ("mlp:4", "last-layer-full", 30),
        ("cnn:2,3", "kron", 3000),
        ("cnn:2,3", "last-layer-kron", 30),
        ("cnn:2,3", "last-layer-full", 30),
    ],
)
def test_a_run_ends_with_proved_certificates(
    network: str,
    structure: str,
    precision: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "run.toml").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    options = ["--config", "run.toml", "--network", network, "--out", "run"]
    options += ["--structure", structure, "--prior-precision", str(precision)]
    assert exit_code(monkeypatch, main, "fedcert", "run", *options) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        f"{'hidden 4' if network == 'mlp:4' else f'network {network}'}, scale learned (Laplace, {structure})"
        in said
    )
    assert "no claim under these laws and this rule: paper-box, box" in said
    assert f"(Laplace, {structure})" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert [row["claim"] for row in result["summary"]] == ["transported", "direct"]
    assert (result["config"]["network"], result["config"]["structure"]) == (network, structure)
    assert result["config"]["prior_precision"] == precision
    assert result["summary"][1]["lower"] > 0.1
    law = Message.load(tmp_path / "run" / "messages" / "client-0.safetensors").law
    assert isinstance(law, BlockGaussian)
    assert exit_code(monkeypatch, main, "fedcert", "check", "run") == 0
    again = ["--config", "run/result.json", "--out", "again"]
    assert exit_code(monkeypatch, main, "fedcert", "run", *again) == 0
    repeated = json.loads((tmp_path / "again" / "result.json").read_text())
    bounds = [[(row["lower"], row["upper"]) for row in own["summary"]] for own in (result, repeated)]
    assert bounds[0] == bounds[1]


@pytest.mark.parametrize("rule", ["pog", "reverse-kl"])
def test_products_of_last_layers_are_proved(
    rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run.toml").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    options = ["--config", "run.toml", "--network", "mlp:4", "--out", "run", "--rule", rule]
    options += ["--structure", "last-layer-full", "--prior-precision", "30", "--claims", "direct"]
    assert exit_code(monkeypatch, main, "fedcert", "run", *options) == 0
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["summary"][0]["lower"] > 0.1
    assert exit_code(monkeypatch, main, "fedcert", "check", "run") == 0


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"events": ["box"]}, InvalidConfig, "where weights depend on each other: ask for projected events"),
        ({"rule": "pog", "compare": []}, InvalidLaw, "has no Kronecker factors"),
        ({"rule": "median", "compare": []}, InvalidConfig, "projected has no"),
    ],
)
def test_what_cannot_be_proven_is_refused_before_training(
    settings: dict[str, object], error: type[Exception], words: str
) -> None:
    endless = {"posterior": "laplace", "structure": "last-layer-kron", "laplace": {"epochs": 10**9}}
    asked = SMALL_RUN | {"compare": [], "events": ["projected"], "claims": ["direct"]}
    with pytest.raises(error, match=words):
        run(RunConfig(**asked | endless | settings))
