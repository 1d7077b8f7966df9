"""Milliseconds a property for interval bounds, linear bounds and projected events, and for auto_LiRPA.

Interval and linear bounds (ours, float64, rounding charged) and auto_LiRPA's CROWN for perturbed weights and
inputs (float32, no rounding charged) verify the same weight box around the mean of the same federation
(MNIST, two clients, concentration 1) for the same properties; projected events have no box: they bound the
probability itself at the learned scale, with the search for the best split. auto_LiRPA bounds one property
at a time, since a perturbed weight has no batch dimension. Each method is run once to warm up; all in one
process, so the ratios are what to read. auto_LiRPA is no dependency: name a clone of it.

    FEDCERT_DATA=... python benchmarks/verifier_speed.py [--auto-lirpa PATH] [--hidden 64] [--properties 50]
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from common import Setting, train
from torch import Tensor, nn

from fedcert.families.projected.direct import lower_bound
from fedcert.model.layers import Linear
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.verify.interval import MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier

RADIUS = 7e-5


def peer(path: Path, network: Network, theta: Tensor, properties: Properties) -> Callable[[], Tensor]:
    """auto_LiRPA's CROWN margins of one property after the other, for the box θ ± RADIUS."""
    sys.path.insert(0, str(path))
    from auto_LiRPA import BoundedModule, BoundedParameter, BoundedTensor
    from auto_LiRPA.perturbations import PerturbationLpNorm

    class Perturbed(nn.Module):
        """The network with every parameter in a box."""

        def __init__(self) -> None:
            super().__init__()
            for k, own in enumerate(p for p in network.unflatten(theta.float()) if p):
                for name, value in zip(("weight", "bias"), own, strict=True):
                    box = PerturbationLpNorm(norm=float("inf"), eps=RADIUS)
                    setattr(self, f"{name}_{k}", BoundedParameter(value.clone(), box))

        def forward(self, x: Tensor) -> Tensor:
            layers = sum(isinstance(layer, Linear) for layer in network.layers)
            for k in range(layers):
                x = nn.functional.linear(x, getattr(self, f"weight_{k}"), getattr(self, f"bias_{k}"))
                x = x if k == layers - 1 else nn.functional.relu(x)
            return x

    lower, upper = properties.regions.lower.float(), properties.regions.upper.float()
    middle = (lower + upper) / 2
    dense = {"sparse_intermediate_bounds": False}  # its sparse rows do not know perturbed weights
    bounded = BoundedModule(Perturbed(), middle[:1], bound_opts=dense)

    def margins() -> Tensor:
        found = []
        for p in range(len(properties)):
            region = PerturbationLpNorm(norm=float("inf"), x_L=lower[p : p + 1], x_U=upper[p : p + 1])
            x = BoundedTensor(middle[p : p + 1], region)
            low, _ = bounded.compute_bounds(x=(x,), C=properties.C[p : p + 1].float(), method="CROWN")
            found.append(low.detach())
        return torch.cat(found)

    return margins


def milliseconds(method: Callable[[], Tensor], properties: int) -> tuple[float, Tensor]:
    method()
    start = time.perf_counter()
    result = method()
    return 1000 * (time.perf_counter() - start) / properties, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--auto-lirpa", type=Path)
    parser.add_argument("--hidden", default="64")
    parser.add_argument("--properties", type=int, default=50)
    options = parser.parse_args()

    hidden = tuple(int(width) for width in options.hidden.split(","))
    trained = train(Setting("mnist", 2, hidden, 1.0), properties=options.properties)
    network, properties, law = trained.network, trained.properties, trained.deployed
    theta = law.loc
    box = Box.around(theta, RADIUS)
    boxes = Box(box.lower.unsqueeze(0), box.upper.unsqueeze(0))
    methods: dict[str, Callable[[], Tensor]] = {
        "interval": lambda: MergedIntervalVerifier().margins(network, boxes, properties)[0],
        "linear": lambda: LinearVerifier().margins(network, boxes, properties)[0],
        "projected": lambda: lower_bound(network, law, properties),
    }
    if options.auto_lirpa:
        methods["auto_LiRPA"] = peer(options.auto_lirpa, network, theta, properties)
    found = {name: milliseconds(method, options.properties) for name, method in methods.items()}
    print(f"784-{options.hidden}-10, {options.properties} properties, {torch.get_num_threads()} threads")
    for name, (spent, result) in found.items():
        shown = "" if name == "projected" else f", mean margin {result.mean().item():.5f}"
        print(f"{name:>10}: {spent:9.3f} ms a property{shown}")


if __name__ == "__main__":
    main()
