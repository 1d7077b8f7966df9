"""auto_LiRPA's bounds of the constraints of a network whose weights lie in boxes."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from fedcert.model.layers import Linear
from fedcert.model.network import Network
from fedcert.model.properties import Properties

Peer = Callable[[], Tensor]


def peers(network: Network, centres: Tensor, radius: float, asked: Properties, method: str) -> list[Peer]:
    """Functions that give margins of shape (boxes, properties, constraints), for several sizes of batches.

    Args:
        network: of Linear and ReLU layers.
        centres: of the weight boxes, one a row.
        radius: of the weight boxes.
        asked: the properties.
        method: IBP or CROWN.
    """
    return [
        _bounds(network, centres, radius, asked, method, batch)
        for batch in sorted({1, min(20, len(asked)), len(asked)})
    ]


def _bounds(
    network: Network, centres: Tensor, radius: float, asked: Properties, method: str, batch: int
) -> Peer:
    from auto_LiRPA import BoundedModule, BoundedTensor
    from auto_LiRPA.perturbations import PerturbationLpNorm

    lower, upper = asked.regions.lower.float(), asked.regions.upper.float()
    middle = (lower + upper) / 2
    dense = {"sparse_intermediate_bounds": False}  # its sparse rows do not know perturbed weights
    modules = [
        BoundedModule(_perturbed(network, theta, radius), middle[:batch], bound_opts=dense)
        for theta in centres
    ]

    def of(module: BoundedModule, part: slice) -> Tensor:
        region = PerturbationLpNorm(norm=float("inf"), x_L=lower[part], x_U=upper[part])
        x = BoundedTensor(middle[part], region)
        low, _ = module.compute_bounds(x=(x,), C=asked.C[part].float(), method=method)
        return low

    def margins() -> Tensor:
        parts = [slice(start, start + batch) for start in range(0, len(asked), batch)]
        with torch.no_grad():
            return torch.stack([torch.cat([of(module, part) for part in parts]) for module in modules])

    return margins


def _perturbed(network: Network, theta: Tensor, radius: float) -> nn.Module:
    """The network with every parameter in a box."""
    from auto_LiRPA import BoundedParameter
    from auto_LiRPA.perturbations import PerturbationLpNorm

    class Perturbed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for k, own in enumerate(p for p in network.unflatten(theta.float()) if p):
                for name, value in zip(("weight", "bias"), own, strict=True):
                    box = PerturbationLpNorm(norm=float("inf"), eps=radius)
                    setattr(self, f"{name}_{k}", BoundedParameter(value.clone(), box))

        def forward(self, x: Tensor) -> Tensor:
            layers = sum(isinstance(layer, Linear) for layer in network.layers)
            for k in range(layers):
                x = nn.functional.linear(x, getattr(self, f"weight_{k}"), getattr(self, f"bias_{k}"))
                x = x if k == layers - 1 else nn.functional.relu(x)
            return x

    return Perturbed()
