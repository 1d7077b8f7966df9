"""`fedcert certify` for people without our trainer: files in, a folder out that `fedcert check` proves."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from own_models import ARRAYS, MEAN, NETWORK, write_files
from terminal import exit_code

from fedcert import Posterior
from fedcert.app.cli import main
from fedcert.laws import BlockGaussian, DenseBlock, DiagonalGaussian
from fedcert.model.layers import Linear, ReLU, ResidualSum
from fedcert.model.network import Network
from fedcert.randomness import stream
from fedcert_check.run_folder import check_run

pytestmark = pytest.mark.slow
MODEL = ["posterior-0.safetensors", "posterior-1.safetensors", "--model", "model.toml"]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for least in ("LINE_SECONDS", "STAGE_SECONDS"):  # however slow the machine, no progress between errors
        monkeypatch.setattr(f"fedcert_check.console.{least}", float("inf"))
    write_files(tmp_path)
    return tmp_path


def fedcert(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    return exit_code(monkeypatch, main, "fedcert", *arguments)


CASES = {
    "x": (["--inputs", "x.npz", "--epsilon", "0.01,0.03"], "classifies", "of 2 inputs (of x, as given)"),
    "boxes": (["--inputs", "boxes.npz", "--boxes"], "classifies", "at every point of each stated box."),
    "control": (
        ["--inputs", "control.npz", "--boxes", "--epsilon", "0,0.01"],
        "satisfies",
        "of 1 property (of control, as given) each at every point of its stated box.",
    ),
    "regression": (
        ["--inputs", "regression.npz", "--epsilon", "0.01", "--rule", "pog", "--confidence-draws", "40"],
        "satisfies",
        "each at every point of the l-infinity ball of radius 0.01 around its input.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_folder_is_made_that_the_checker_proves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    options, verb, words = CASES[name]
    assert fedcert(monkeypatch, "certify", *MODEL, *options, "--out", "out", "--check") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"deploys {verb} at least" in printed
    assert words in printed
    assert fedcert(monkeypatch, "check", "out") == 0
    summary = json.loads(Path("out/result.json").read_text("utf-8"))
    labelled = verb == "classifies"
    assert (summary["accuracy"] is not None) == labelled
    assert summary.get("subject", "robustness") == ("robustness" if labelled else "constraints")
    assert ("accuracy" in printed.replace("not an accuracy", "")) == labelled
    names = {one["name"] for one in summary["conclusions"]}
    assert ("expected-accuracy" in names) == (name == "x")
    assert ("vote" in names) == labelled
    assert all(not one.startswith("population") for one in names) or name == "x"
    page = Path("out/report.html").read_text("utf-8")
    assert ("Certified accuracy" in page) == (name == "x")
    with Path("out/properties.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["norm"] for row in rows} == {summary["norm"]}
    assert all((row["label"] != "") == labelled for row in rows)


def test_a_run_with_a_residual_addition_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    block = ResidualSum((Linear(3, 3), ReLU()))
    network = Network((Linear(2, 3), ReLU(), block, ReLU(), Linear(3, 2)))
    loc = network.initialise(stream(0, "residual")).double()
    for i in range(2):
        law = DiagonalGaussian(loc + 1e-3 * i, torch.full_like(loc, 1e-3))
        Posterior(network, law).message(f"client-{i}", 1).save(f"posterior-{i}.safetensors")
    layers = [
        'type = "linear"\ninputs = 2\noutputs = 3', 'type = "relu"',
        'type = "residual"\nbody = [{ type = "linear", inputs = 3, outputs = 3 }, { type = "relu" }]',
        'type = "relu"', 'type = "linear"\ninputs = 3\noutputs = 2',
    ]  # fmt: skip
    Path("model.toml").write_text("".join(f"[[layers]]\n{layer}\n" for layer in layers))
    options = ["--inputs", "x.npz", "--epsilon", "0.001", "--events", "box", "--out", "out"]
    assert fedcert(monkeypatch, "certify", *MODEL, *options) == 0
    assert fedcert(monkeypatch, "check", "out", "--jobs", "1") == 0


@pytest.mark.parametrize("rule", ["fedavg", "median"])
def test_last_layers_that_depend_on_each_other_have_confidence_bounds(
    monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    factor = 0.1 * torch.randn(10, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for i in range(2):
        law = BlockGaussian(torch.tensor(MEAN, dtype=torch.float64) + 0.02 * i, (DenseBlock(12, factor),))
        Posterior(NETWORK, law).message(f"clinic-{i}", examples=100).save(Path(MODEL[i]))
    asked = ["--inputs", "x.npz", "--epsilon", "0.01", "--confidence-draws", "60"]
    asked += ["--rule", rule, "--claims", "local"]
    assert fedcert(monkeypatch, "certify", *MODEL, *asked, "--out", "out", "--check") == 0
    (row,) = json.loads(Path("out/result.json").read_text("utf-8"))["confidence"]
    assert row["draws"] == 60
    assert row["reproved"]
    assert 0.5 < row["lower"] < 1


def test_the_bounds_hold_for_sampled_models(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fedcert(monkeypatch, "certify", *MODEL, "--inputs", "control.npz", "--boxes", "--out", "out") == 0
    direct = next(
        row for row in json.loads(Path("out/result.json").read_text())["summary"] if row["claim"] == "direct"
    )
    generator = torch.Generator().manual_seed(0)
    mean = torch.tensor(MEAN, dtype=torch.float64) + 0.01
    theta = mean + 0.15 / 2**0.5 * torch.randn(4000, 22, generator=generator, dtype=torch.float64)
    held = ARRAYS["control"]
    low, high = torch.tensor(held["lower"]), torch.tensor(held["upper"])
    x = low + (high - low) * torch.rand(60, 2, generator=generator, dtype=torch.float64)
    y = NETWORK(theta, x)[..., 0]
    survive = ((y + 1 >= 0) & (3 - y >= 0)).all(-1).double().mean().item()  # no fewer than the safe ones
    assert direct["lower"] <= survive + 4 * (survive * (1 - survive) / 4000) ** 0.5
    assert direct["lower"] > 0.5


def test_a_tampered_folder_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--inputs", "control.npz", "--boxes", "--out", "out"]
    assert fedcert(monkeypatch, "certify", *MODEL, *options) == 0
    result = Path("out/result.json")
    sound = result.read_text("utf-8")
    changes = {
        "subject": lambda own: own.pop("subject"),
        "norm": lambda own: own.update(norm="linf"),
        "accuracy": lambda own: own.update(accuracy=0.99),
        "inputs": lambda own: own["inputs"].update(digest="0" * 64),
        "summary": lambda own: own["summary"][0].update(lower=1.0, upper=1.0),
        "conclusions": lambda own: own["conclusions"][0].update(name="expected-accuracy"),
    }
    for place, change in changes.items():
        content = json.loads(sound)
        change(content)
        result.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        assert check_run(Path("out")).exit_code != 0, place
    result.write_text(sound, encoding="utf-8")
    assert check_run(Path("out")).exit_code == 0


def test_certificates_of_other_constraints_do_not_pass_for_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, offset in (("out", 1.0), ("other", 5.0)):
        held = ARRAYS["control"] | {"d": np.array([offset, 3.0])}
        np.savez("control.npz", **held)
        assert (
            fedcert(monkeypatch, "certify", *MODEL, "--inputs", "control.npz", "--boxes", "--out", name) == 0
        )
    file = "certificates/direct-fedavg-projected-eps-0.0.safetensors"
    shutil.copy(f"other/{file}", f"out/{file}")
    report = check_run(Path("out"))
    assert report.exit_code == 1
    assert report.comparison is not None
    assert any("inputs.digest" in finding.line for finding in report.comparison.findings)


def test_certificates_of_another_domain_do_not_pass_for_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, domain in (("out", "0,1"), ("other", "0.59,0.71")):
        held = ARRAYS["control"] | {"lower": [[0.6, 0.6]], "upper": [[0.7, 0.7]]}
        np.savez("control.npz", **held)
        options = [
            "--inputs",
            "control.npz",
            "--boxes",
            "--epsilon",
            "0.1",
            "--domain",
            domain,
            "--out",
            name,
        ]
        assert fedcert(monkeypatch, "certify", *MODEL, *options) == 0
    file = "certificates/direct-fedavg-projected-eps-0.1.safetensors"
    shutil.copy(f"other/{file}", f"out/{file}")
    report = check_run(Path("out"))
    assert report.exit_code == 1
    assert report.comparison is not None
    assert any("subject.domain" in finding.line for finding in report.comparison.findings)


def test_hostile_messages_are_refused_by_name_and_field(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("posterior-2.safetensors").write_bytes(b"no message")
    options = ["--model", "model.toml", "--inputs", "x.npz", "--epsilon", "0.01", "--out", "out"]
    files = [f"posterior-{i}.safetensors" for i in range(3)]
    assert fedcert(monkeypatch, "certify", *files, *options) == 2
    assert "posterior-2.safetensors" in capsys.readouterr().err
    assert not Path("out").exists()
    assert fedcert(monkeypatch, "certify", *files, *options, "--min-clients", "2") == 0
    assert "refused: posterior-2.safetensors" in capsys.readouterr().err
    assert fedcert(monkeypatch, "check", "out") == 0


def test_a_result_is_repeated_by_its_own_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--inputs", "boxes.npz", "--boxes", "--weights", "size"]
    assert fedcert(monkeypatch, "certify", ".", *MODEL[2:], *options, "--out", "one") == 0
    again = ["--messages", "one/messages", "--config", "one/result.json", "--out", "two"]
    assert fedcert(monkeypatch, "certify", *again) == 0
    one, two = (Path(name, "properties.csv").read_text() for name in ("one", "two"))
    assert one == two
    Path("boxes.npz").write_bytes(Path("x.npz").read_bytes())
    assert fedcert(monkeypatch, "certify", *again, "--overwrite") == 2


X = ["--inputs", "x.npz"]
WRONG = {
    "no messages": ([], "give message files as arguments"),
    "two kinds of messages": ([*MODEL, *X, "--messages", "."], "not both"),
    "twice": (["posterior-0.safetensors", "./posterior-0.safetensors", *MODEL[2:], *X], "named twice"),
    "no model": ([*MODEL[:2], *X], "--inputs needs --model"),
    "nothing asked": (MODEL[:2], "give --model and --inputs"),
    "no inputs": (MODEL, "either --inputs (npz) or --properties"),
    "both": ([*MODEL, *X, "--properties", "spec.vnnlib"], "either --inputs (npz) or --properties"),
    "no radius": ([*MODEL, *X], "epsilon: say how far inputs may vary"),
    "boxes of inputs": ([*MODEL, *X, "--boxes"], "lower: no array of this name"),
    "inputs of boxes": ([*MODEL, "--inputs", "boxes.npz", "--epsilon", "0.1"], "add --boxes"),
    "no such model": ([*MODEL[:3], "no.toml", *X, "--epsilon", "0"], "no.toml: cannot be read"),
    "odd model": ([*MODEL[:3], "x.npz", *X, "--epsilon", "0"], "model.toml or model.onnx"),
    "odd inputs": ([*MODEL, "--inputs", "model.toml", "--epsilon", "0"], "suffix .npz"),
    "outside": ([*MODEL, *X, "--epsilon", "0.1", "--domain", "0.5,1"], "x: a value outside the domain"),
    "domain": ([*MODEL, *X, "--epsilon", "0.1", "--domain", "wide"], "give two numbers"),
    "margin": ([*MODEL, "--inputs", "control.npz", "--boxes", "--margin", "1"], "there are no labels"),
    "prior": ([*MODEL, *X, "--epsilon", "0.1", "--rule", "prior-corrected"], "--prior-scale"),
    "start": ([*MODEL, *X, "--epsilon", "0.1", "--rule", "server-step"], "the clients started from"),
    "strangers": ([*MODEL, *X, "--epsilon", "0.1", "--clients", "1"], "2 messages for 1 clients"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_together_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    arguments, words = WRONG[name]
    assert fedcert(monkeypatch, "certify", *arguments, "--out", "out") == 2
    captured = capsys.readouterr()
    assert words in " ".join(captured.err.split())
    assert len(captured.err.strip().splitlines()) == 1
    assert not Path("out").exists()
