"""ONNX models become the networks that they compute, or are refused by node."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from integrations import library
from torch import nn

from fedcert.adapters.onnx import from_onnx
from fedcert.errors import DataError, FedcertError, UnsupportedLayer

onnx = library("onnx")
library("onnx.reference")
helper, numpy_helper = onnx.helper, onnx.numpy_helper
W1, B1 = np.array([[2.0, -1.0], [0.5, 1.0], [-1.0, 0.25]]), np.array([0.5, -0.25, 0.125])
W2, B2 = np.array([[1.0, -2.0, 0.5], [0.25, 1.0, -1.0]]), np.array([0.0, 1.0])
NORM = {
    "gamma": np.array([1.5, -0.5, 2.0]), "beta": np.array([0.1, 0.2, -0.3]),
    "mean": np.array([0.3, -0.1, 0.2]), "variance": np.array([1.0, 0.5, 2.0]),
}  # fmt: skip
GEMM1 = helper.make_node("Gemm", ["x", "W1", "B1"], ["h"], name="first", transB=1)
GEMM2 = helper.make_node("Gemm", ["a", "W2", "B2"], ["y"], name="second", transB=1)


def save(
    path: Path, nodes: list[Any], shape: tuple[Any, ...] = ("batch", 2), output: str = "y", **constants: Any
) -> Path:
    held = {"W1": W1, "B1": B1, "W2": W2, "B2": B2, **constants}
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, shape)],
        [helper.make_tensor_value_info(output, onnx.TensorProto.DOUBLE, None)],
        [numpy_helper.from_array(np.asarray(own), name) for name, own in held.items() if name in used],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)]), path)
    return path


def assert_same(path: Path, inputs: np.ndarray) -> None:
    """The network with the model's weights computes what onnx's own evaluator does."""
    read = from_onnx(path)
    expected = onnx.reference.ReferenceEvaluator(onnx.load(path)).run(None, {"x": inputs})[0]
    found = read.network(read.law.loc, torch.from_numpy(inputs.reshape(len(inputs), -1)))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-9)
    assert (read.law.scale == 0).all()


INPUTS = np.random.default_rng(0).normal(size=(20, 2))


@pytest.mark.parametrize(
    "between",
    [
        [helper.make_node("Relu", ["h"], ["a"])],
        [helper.make_node("LeakyRelu", ["h"], ["a"], alpha=0.25)],
        [helper.make_node("Identity", ["h"], ["i"]), helper.make_node("Relu", ["i"], ["a"])],
        [helper.make_node("Relu", ["h"], ["i"]), helper.make_node("Dropout", ["i"], ["a"])],
        [
            helper.make_node("BatchNormalization", ["h", *NORM], ["i"], epsilon=1e-3),
            helper.make_node("Relu", ["i"], ["a"]),
        ],
    ],
    ids=lambda nodes: "-".join(node.op_type for node in nodes),
)
def test_a_chain_computes_what_the_reference_does(tmp_path: Path, between: list[Any]) -> None:
    assert_same(save(tmp_path / "m.onnx", [GEMM1, *between, GEMM2], **NORM), INPUTS)


@pytest.mark.parametrize("order", [["h", "B1"], ["B1", "h"]])
def test_a_product_takes_the_sum_after_it_as_its_bias(tmp_path: Path, order: list[str]) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "W1T"], ["h"]),
        helper.make_node("Add", order, ["s"]),
        helper.make_node("Relu", ["s"], ["a"]),
        helper.make_node("MatMul", ["a", "W2T"], ["y"]),
    ]
    path = save(tmp_path / "m.onnx", nodes, W1T=W1.T, W2T=W2.T)
    assert_same(path, INPUTS)
    assert from_onnx(path).network.parameters == 9 + 8


def test_parameters_stand_in_the_networks_order(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [GEMM1, helper.make_node("Relu", ["h"], ["a"]), GEMM2])
    expected = np.concatenate([W1.ravel(), B1, W2.ravel(), B2])
    np.testing.assert_array_equal(from_onnx(path).law.loc.numpy(), expected)


def test_images_are_flattened(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Flatten", ["x"], ["f"]),
        helper.make_node("Gemm", ["f", "W1", "B1"], ["y"], transB=1),
    ]
    assert_same(save(tmp_path / "m.onnx", nodes, shape=(None, 1, 2)), INPUTS.reshape(20, 1, 2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the exporter that needs no further package
def test_a_model_that_torch_exports_is_read(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Flatten(), nn.Linear(4, 5), nn.LeakyReLU(0.1), nn.Dropout(), nn.Linear(5, 3)
    ).eval()
    example = (torch.zeros(1, 2, 2),)
    torch.onnx.export(module, example, tmp_path / "m.onnx", input_names=["x"], dynamo=False)
    read = from_onnx(tmp_path / "m.onnx")
    x = torch.rand(7, 2, 2)
    found = read.network(read.law.loc, x.flatten(1).double())
    torch.testing.assert_close(found, module(x).double(), rtol=1e-5, atol=1e-5)


RELU = helper.make_node("Relu", ["h"], ["a"])
REFUSED = {
    "Sigmoid": [GEMM1, helper.make_node("Sigmoid", ["h"], ["y"], name="squash")],
    "scaled": [helper.make_node("Gemm", ["x", "W1", "B1"], ["y"], name="scaled", transB=1, alpha=2.0)],
    "residual": [GEMM1, RELU, helper.make_node("Add", ["a", "h"], ["y"], name="residual")],
    "shift": [GEMM1, RELU, helper.make_node("Add", ["a", "B1"], ["y"], name="shift")],
    "twice": [GEMM1, helper.make_node("Add", ["h", "h"], ["y"], name="twice")],
    "norm": [GEMM1, RELU, helper.make_node("BatchNormalization", ["a", *NORM], ["y"], name="norm")],
    "axis": [helper.make_node("Flatten", ["x"], ["y"], name="axis", axis=0)],
    "steep": [GEMM1, helper.make_node("LeakyRelu", ["h"], ["y"], name="steep", alpha=1.5)],
    "foreign": [GEMM1, helper.make_node("Relu", ["h"], ["y"], name="foreign", domain="com.example")],
    "left": [helper.make_node("MatMul", ["W1", "x"], ["y"], name="left")],
    "noise": [
        GEMM1, RELU, helper.make_node("Dropout", ["a", "ratio", "mode"], ["y"], name="noise"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_everything_else_is_refused_by_type_and_name(tmp_path: Path, name: str) -> None:
    path = save(tmp_path / "m.onnx", REFUSED[name], ratio=np.float64(0.5), mode=np.bool_(True), **NORM)
    node = REFUSED[name][-1]
    with pytest.raises(UnsupportedLayer, match=f"node '?{node.name}'? of type {node.op_type}"):
        from_onnx(path)


def test_a_product_on_the_last_axis_of_an_image_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedLayer, match="Flatten"):
        from_onnx(
            save(
                tmp_path / "m.onnx", [helper.make_node("MatMul", ["x", "W1T"], ["y"])], (None, 3, 2), W1T=W1.T
            )
        )


def test_an_output_in_the_middle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedLayer, match="not made by the last node"):
        from_onnx(save(tmp_path / "m.onnx", [GEMM1, RELU], output="h"))


@pytest.mark.parametrize("content", [b"", b"no model", bytes(range(256))])
def test_what_is_no_model_is_refused_by_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(FedcertError, match=r"m\.onnx"):
        from_onnx(tmp_path / "m.onnx")
    with pytest.raises(DataError, match=r"no\.onnx: cannot be read"):
        from_onnx(tmp_path / "no.onnx")
