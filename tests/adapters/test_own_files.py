"""Models in ONNX and specifications in VNN-LIB on the command line and in Python, to a checked folder."""

from pathlib import Path

import numpy as np
import pytest
import torch
from integrations import library
from own_models import MEAN, NETWORK, SPECIFICATION, write_files
from terminal import exit_code

import fedcert
from fedcert.app.cli import main
from fedcert.app.result import read_summary
from fedcert_check.run_folder import check_run

onnx = library("onnx")
library("vnnlib")
FILES = ["posterior-0.safetensors", "posterior-1.safetensors"]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    helper, parts = onnx.helper, np.split(np.array(MEAN, dtype=np.float64), [8, 12, 20])
    shapes = {"W1": (4, 2), "B1": (4,), "W2": (2, 4), "B2": (2,)}
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "W1", "B1"], ["h"], transB=1),
            helper.make_node("Relu", ["h"], ["a"]),
            helper.make_node("Gemm", ["a", "W2", "B2"], ["y"], transB=1),
        ],
        "model",
        [helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, (None, 2))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, (None, 2))],
        [
            onnx.numpy_helper.from_array(part.reshape(shape), name)
            for part, (name, shape) in zip(parts, shapes.items(), strict=True)
        ],
    )
    onnx.save(helper.make_model(graph), "model.onnx")


@pytest.mark.slow
def test_the_same_network_gives_the_same_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("toml", "onnx"):
        options = ["--model", f"model.{kind}", "--inputs", "x.npz", "--epsilon", "0.01", "--out", kind]
        assert exit_code(monkeypatch, main, "fedcert", "certify", *FILES, *options) == 0
        assert exit_code(monkeypatch, main, "fedcert", "check", kind) == 0
    assert Path("toml/properties.csv").read_text() == Path("onnx/properties.csv").read_text()


@pytest.mark.slow
def test_a_specification_is_certified_and_holds_for_sampled_models(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--model", "model.onnx", "--properties", "spec.vnnlib", "--out", "out"]
    assert exit_code(monkeypatch, main, "fedcert", "certify", *FILES, *options) == 0
    assert check_run(Path("out")).exit_code == 0
    summary = read_summary(Path("out"))
    assert summary["subject"] == "constraints"
    bounds = [row for row in summary["summary"] if row["claim"] == "direct"]
    generator = torch.Generator().manual_seed(0)
    theta = torch.tensor(MEAN, dtype=torch.float64) + 0.01
    theta = theta + 0.15 / 2**0.5 * torch.randn(4000, 22, generator=generator, dtype=torch.float64)
    shares = []
    for low, high, unsafe in (
        ([0.6, 0.3], [0.7, 0.35], lambda y: y[..., 0] <= y[..., 1]),
        ([0.6, 0.0], [0.7, 0.1], lambda y: y[..., 0] <= -1.5),
    ):  # what SPECIFICATION says, in Python
        ends = torch.tensor([low, high], dtype=torch.float64)
        x = ends[0] + (ends[1] - ends[0]) * torch.rand(50, 2, generator=generator, dtype=torch.float64)
        shares.append((~unsafe(NETWORK(theta, x))).all(-1).double().mean().item())
    survive = sum(shares) / 2  # some inputs are not sampled: no fewer models than the safe ones
    assert 0.5 < bounds[0]["lower"] <= survive + 4 * (0.25 / 8000) ** 0.5


def test_python_reads_the_same_files() -> None:
    network = fedcert.from_onnx("model.onnx").network
    assert network == NETWORK
    asked = fedcert.from_vnnlib("spec.vnnlib", network)
    assert len(asked) == SPECIFICATION.count("(and")
    result = fedcert.certify(FILES, "fedavg", network, asked)
    assert bool((result.lower > 0.5).all())
    assert "2 properties as given, on the stated boxes" in repr(result)
    folder = result.save("saved")
    assert check_run(folder).exit_code == 0
