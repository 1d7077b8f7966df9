"""Parameters as an ArrayRecord, under the names of a torch module's state dict, and back."""

import math

import numpy as np
import torch
from flwr.app import Array, ArrayRecord
from jaxtyping import Float64
from torch import Tensor, nn

from fedcert.errors import ShapeMismatch
from fedcert.model.network import Network
from fedcert.model.torch_module.read import read_module


def parameters_record(model: Network | nn.Module, theta: Tensor) -> ArrayRecord:
    """The parameters θ by name, in double precision.

    A module's names are those of its state dict. A network's are those of the nn.Sequential with the same
    layers: "0.weight", "0.bias", "2.weight", …

    Args:
        model: whose parameters they are.
        theta: the flat vector.

    Examples:
        >>> from fedcert import mlp
        >>> list(parameters_record(mlp(2, 3, 2), torch.zeros(17)))
        ['0.weight', '0.bias', '2.weight', '2.bias']
    """
    shapes = _shapes(model)
    if theta.shape != (sum(map(math.prod, shapes.values())),):
        raise ShapeMismatch(f"parameters of shape {tuple(theta.shape)} for the shapes {shapes}")
    pieces = theta.detach().double().cpu().split([math.prod(shape) for shape in shapes.values()])
    return ArrayRecord({
        name: Array(piece.reshape(shape).numpy())
        for piece, (name, shape) in zip(pieces, shapes.items(), strict=True)
    })


def parameters_vector(model: Network | nn.Module, record: ArrayRecord) -> Float64[Tensor, "n_w"]:
    """The flat vector θ of parameters that are given by name.

    Args:
        model: whose parameters they are.
        record: by the names of `parameters_record`, in any order.
    """
    shapes = _shapes(model)
    if set(record) != set(shapes):
        raise ShapeMismatch(f"arrays {sorted(record)} for the parameters {sorted(shapes)}")
    arrays = {name: np.asarray(record[name].numpy(), dtype=np.float64) for name in shapes}
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ShapeMismatch(f"{name} has the shape {arrays[name].shape}, but the model needs {shape}")
    return torch.cat([torch.from_numpy(array).flatten() for array in arrays.values()])


def _shapes(model: Network | nn.Module) -> dict[str, tuple[int, ...]]:
    """The shapes of all parameters by name, in the order of θ."""
    if isinstance(model, Network):
        names = ("weight", "bias")
        return {
            f"{place}.{name}": shape
            for place, layer in enumerate(model.leaves)
            for name, shape in zip(names, layer.shapes, strict=bool(layer.shapes))
        }
    shapes: dict[str, tuple[int, ...]] = {}
    for source in read_module(model).sources:
        if source.norms or any(entry.name is None for entry in source.entries):
            raise ShapeMismatch(
                "a module with batch normalisation or a layer without bias: θ is not its state dict; give"
                " the network, from_torch(module)"
            )
        shapes |= {str(entry.name): entry.shape for entry in source.entries}
    return shapes
