"""Networks in ONNX: a chain of fully connected layers and activations, through the package `onnx`.

The graph must be a chain: every node takes what the node before it made, and constants. Nodes that compute
nothing in inference (Identity, Dropout, Flatten) are left out, and a BatchNormalization is folded into the
linear layer before it: W, b become diag(s) W, s∘b + t with s = γ/√(v + ε) and t = β − m∘s. Everything else is
refused by its type and name. θ is the network's: W of the first linear layer, row by row, then its b, and so
on.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from numpy.typing import NDArray
from torch import Tensor

from fedcert.adapters.library import Library
from fedcert.adapters.posterior import Posterior
from fedcert.errors import FedcertError, InvalidInputs, UnsupportedLayer
from fedcert.laws import DiagonalGaussian
from fedcert.model.layers import Layer, LeakyReLU, Linear, ReLU
from fedcert.model.network import Network

ONNX = Library("onnx", "onnx", "onnx")
SUPPORTED = (
    "Gemm, MatMul and Add, Relu, LeakyRelu, Flatten, Identity, Dropout, BatchNormalization after a layer"
)
MAX_BYTES = 2**31
Constants = Mapping[str, NDArray[np.float64]]


@dataclass
class Chain:
    """What was read so far.

    Attributes:
        flat: whether inputs are vectors here, so that a linear layer acts on all of them.
        layers: of the network.
        parameters: W and b of each linear layer.
        foldable: whether the last layer is linear, and what follows may change its W and b.
        biased: whether that layer has its bias already.
    """

    flat: bool
    layers: list[Layer] = field(default_factory=list)
    parameters: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=list)
    foldable: bool = False
    biased: bool = False

    def linear(self, weight: NDArray[np.float64], bias: NDArray[np.float64] | None) -> None:
        """Add a layer W x + b; without b it may follow in an Add."""
        if not self.flat:
            raise UnsupportedLayer(
                "it acts on the last axis of a tensor: supported after a Flatten to vectors"
            )
        outputs, inputs = weight.shape
        self.layers.append(Linear(inputs, outputs))
        self.parameters.append((weight, np.zeros(outputs) if bias is None else _row(bias, outputs)))
        self.foldable, self.biased = True, bias is not None

    def activation(self, layer: Layer) -> None:
        """Add a layer without parameters."""
        self.layers.append(layer)
        self.foldable = False

    def add(self, bias: NDArray[np.float64]) -> None:
        """Give the last layer its bias."""
        if not self.foldable or self.biased:
            raise UnsupportedLayer("an addition is supported as the bias of the MatMul before it")
        weight, none = self.parameters[-1]
        self.parameters[-1], self.biased = (weight, _row(bias, len(none))), True

    def fold(self, scale: NDArray[np.float64], shift: NDArray[np.float64]) -> None:
        """Multiply the outputs of the last layer, and add to them."""
        if not self.foldable:
            raise UnsupportedLayer("supported directly after a Gemm, or after a MatMul and its Add")
        weight, bias = self.parameters[-1]
        scale, shift = _row(scale, len(bias)), _row(shift, len(bias))
        self.parameters[-1], self.biased = (scale[:, None] * weight, scale * bias + shift), True


def from_onnx(path: str | PathLike[str]) -> Posterior:
    """The network of an ONNX file, with its weights as a law of deviation 0.

    `from_onnx(path).network` is the architecture alone, for posteriors that come from elsewhere.

    Args:
        path: of the file.

    Examples:
        >>> import fedcert  # doctest: +SKIP
        >>> network = fedcert.from_onnx("model.onnx").network  # doctest: +SKIP
        >>> fedcert.certify_classification(clients, network, x, y, epsilon=0.01)  # doctest: +SKIP
    """
    onnx = ONNX.load()
    try:
        file = Path(path)
        if file.stat().st_size > MAX_BYTES:
            raise InvalidInputs(f"{path}: more than {MAX_BYTES:,} bytes")
        model = onnx.load_model_from_string(file.read_bytes())
    except OSError as error:
        raise InvalidInputs(f"{path}: cannot be read ({error.strerror or error})") from error
    except InvalidInputs:
        raise
    except Exception as error:  # protobuf has classes of errors of its own, which differ between versions
        raise InvalidInputs(f"{path}: not an ONNX file ({str(error)[:120]})") from error
    try:
        chain = _read(onnx, model)
        network = Network(tuple(chain.layers))
    except FedcertError as error:
        raise type(error)(f"{path}: {error}") from error
    theta = _theta(chain)
    return Posterior(network, DiagonalGaussian(theta, torch.zeros_like(theta)))


def _theta(chain: Chain) -> Float64[Tensor, "n_w"]:
    parts = [own.ravel() for pair in chain.parameters for own in pair]
    return torch.from_numpy(np.concatenate(parts))


def _read(onnx: Any, model: Any) -> Chain:
    """The chain of a model's nodes."""
    graph, constants = model.graph, _constants(onnx, model)
    entrances = [own for own in graph.input if own.name not in constants]
    if len(entrances) != 1 or len(graph.output) != 1:
        raise UnsupportedLayer(
            f"{len(entrances)} inputs and {len(graph.output)} outputs: supported is one of each"
        )
    dimensions = entrances[0].type.tensor_type.shape.dim
    if len(dimensions) < 2:
        raise UnsupportedLayer(
            f"input {entrances[0].name!r}: supported are inputs with a batch axis, then others"
        )
    chain, current = Chain(len(dimensions) == 2), entrances[0].name
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            continue
        place = f"node {node.name or node.output[0]!r} of type {node.op_type}"
        try:
            _require_chain(node, current, constants)
            _node(onnx, node, current, constants, chain)
        except FedcertError as error:
            raise type(error)(f"{place}: {error}") from error
        current = node.output[0]
    if current != graph.output[0].name:
        raise UnsupportedLayer(f"the output {graph.output[0].name!r} is not made by the last node")
    known = [own.dim_value for own in dimensions[1:]]
    if chain.layers and all(known) and math.prod(known) != Network(tuple(chain.layers)).inputs:
        raise UnsupportedLayer(f"inputs of shape {known} for a first layer of another width")
    return chain


def _require_chain(node: Any, current: str, constants: Constants) -> None:
    if node.domain not in ("", "ai.onnx"):
        raise UnsupportedLayer(f"of the domain {node.domain!r}: supported are {SUPPORTED}")
    others = [name for name in node.input if name and name != current and name not in constants]
    if others or list(node.input).count(current) != 1:
        made = f"{others[0]!r}" if others else "one tensor twice, or none"
        raise UnsupportedLayer(
            f"it takes {made}: supported are chains, in which each node takes the one before"
        )


def _node(onnx: Any, node: Any, current: str, constants: Constants, chain: Chain) -> None:
    """Add one node to the chain."""
    set_to = {own.name: onnx.helper.get_attribute_value(own) for own in node.attribute}
    given = [constants.get(name) for name in node.input]
    match node.op_type:
        case "Gemm":
            if (set_to.get("alpha", 1.0), set_to.get("beta", 1.0), set_to.get("transA", 0)) != (1.0, 1.0, 0):
                raise UnsupportedLayer("supported with alpha = beta = 1 and transA = 0")
            weight = _matrix(node, given, current)
            bias = given[2] if len(given) > 2 else None
            chain.linear(
                weight if set_to.get("transB", 0) else weight.T, np.zeros(1) if bias is None else bias
            )
        case "MatMul":
            chain.linear(_matrix(node, given, current).T, None)
        case "Add":
            chain.add(next(own for own in given if own is not None))
        case "Relu":
            chain.activation(ReLU())
        case "LeakyRelu":
            chain.activation(LeakyReLU(float(set_to.get("alpha", 0.01))))
        case "Flatten":
            if set_to.get("axis", 1) != 1:
                raise UnsupportedLayer("supported with axis = 1")
            chain.flat = True
        case "Identity":
            pass
        case "Dropout":
            if len(given) > 2 and node.input[2] and bool(np.any(given[2])):
                raise UnsupportedLayer("it is in training mode: export the model for inference")
        case "BatchNormalization":
            chain.fold(*_scale_and_shift(set_to, given))
        case _:
            raise UnsupportedLayer(f"supported are {SUPPORTED}")


def _matrix(node: Any, given: list[NDArray[np.float64] | None], current: str) -> NDArray[np.float64]:
    """The constant second factor of a product."""
    if len(given) < 2 or node.input[0] != current or given[1] is None or given[1].ndim != 2:
        raise UnsupportedLayer("supported is the input times a constant matrix, in this order")
    return given[1]


def _scale_and_shift(
    set_to: Mapping[str, Any], given: list[NDArray[np.float64] | None]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if set_to.get("training_mode", 0) or len(given) != 5:
        raise UnsupportedLayer("it is in training mode: export the model for inference")
    gamma, beta, mean, variance = (np.zeros(0) if own is None else own for own in given[1:])
    root = np.sqrt(variance + float(set_to.get("epsilon", 1e-5)))
    return gamma / root, beta - mean * gamma / root


def _constants(onnx: Any, model: Any) -> dict[str, NDArray[np.float64]]:
    """All constants of a graph by name, in double precision."""
    tensors = {own.name: own for own in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            for own in node.attribute:
                if own.name == "value":
                    tensors[node.output[0]] = own.t
    found = {}
    for name, tensor in tensors.items():
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise UnsupportedLayer(
                f"the constant {name!r} is in another file: save the model with its weights inside"
            )
        found[name] = _numbers(onnx, name, tensor)
    return found


def _numbers(onnx: Any, name: str, tensor: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(onnx.numpy_helper.to_array(tensor)).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputs(f"the constant {name!r} is malformed ({str(error)[:120]})") from error


def _row(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """A constant as one number for each of so many outputs."""
    if values.size not in (1, width) or values.ndim > 2 or (values.ndim == 2 and len(values) != 1):
        raise UnsupportedLayer(f"a constant of shape {values.shape} for {width} outputs")
    return np.broadcast_to(values.ravel(), (width,)).astype(np.float64)
