"""How the time a property takes grows with the channels of a network and with the size of the images.

    python benchmarks/convolution_growth.py --out runs/growth.md
    python benchmarks/convolution_growth.py --device cuda

Networks cnn:c,2c/32 as they are initialised, on images of random pixels: time depends on shapes, and hardly
on what was learned. All parameters random (independent, of deviation 0.01), or those of the last layer alone
(one dense covariance). Direct claims, radius 1/255, lower and upper bounds; processor seconds on a CPU,
seconds on another device.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import torch

from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import BlockGaussian, DenseBlock, DiagonalGaussian
from fedcert.laws.protocol import GaussianLaw
from fedcert.model.network import Network, cnn
from fedcert.model.properties import linf_robustness
from fedcert.randomness import stream
from fedcert.rules import LinearRule

CLASSES, HIDDEN, DEVIATION, RADIUS = 10, 32, 0.01, 1 / 255
Kind = Literal["all", "last layer"]
COLUMNS = ("random", "image", "channels", "parameters", "neurons", "s a property", "times the first")


def law_of(network: Network, kind: Kind) -> GaussianLaw:
    """A law of all parameters, or of the last layer's, around the initial ones."""
    loc = network.initialise(stream(0, "growth")).double()
    if kind == "all":
        return DiagonalGaussian(loc, torch.full_like(loc, DEVIATION))
    count = HIDDEN * CLASSES + CLASSES
    factor = torch.randn(count, count, dtype=loc.dtype, generator=stream(1, "growth"))
    return BlockGaussian(loc, (DenseBlock(len(loc) - count, factor * DEVIATION / count**0.5),))


def seconds(network: Network, kind: Kind, inputs: int, device: str) -> float:
    """Of one property; the first one, which loads and compiles, is not counted."""
    law = law_of(network, kind).to(device)
    x = torch.rand(inputs, network.inputs, dtype=torch.float64, generator=stream(2, "growth")).to(device)
    label = network(law.loc, x).argmax(-1)
    clock = time.process_time if device == "cpu" else time.perf_counter

    def certify(count: int) -> float:
        properties = linf_robustness(x[:count], label[:count], RADIUS, classes=CLASSES, domain=(0.0, 1.0))
        problem = Problem(network, properties, (law,), LinearRule.fedavg([1]).to(device))
        start = clock()
        ProjectedFamily().prove(problem, "direct").lower.sum().item()
        return clock() - start

    certify(1)
    return certify(inputs) / inputs


def shapes(channels: list[int], sides: list[int]) -> Iterator[tuple[str, int, int]]:
    """What grows, the channels of the first convolution, and the side of the images."""
    middle = sides[len(sides) // 2]
    yield from (("channels", own, middle) for own in channels)
    yield from (("image", channels[len(channels) // 2], side) for side in sides)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--channels", type=int, nargs="+", default=[4, 8, 16, 32])
    parser.add_argument("--sides", type=int, nargs="+", default=[14, 28, 56])
    parser.add_argument("--kind", nargs="+", choices=("all", "last layer"), default=["all", "last layer"])
    parser.add_argument("--inputs", type=int, default=4, help="properties a network")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    print("\n".join(lines), flush=True)
    for kind in options.kind:
        firsts = dict[str, float]()
        for growing, own, side in shapes(options.channels, options.sides):
            network = cnn((1, side, side), (own, 2 * own), HIDDEN, CLASSES)
            found = seconds(network, kind, options.inputs, options.device)
            first = firsts.setdefault(growing, found)
            neurons = sum(layer.outputs for layer in law_of(network, kind).layers(network)[:-1])
            cells = (kind, f"{side} × {side}", f"{own}, {2 * own}", f"{network.parameters:,}", f"{neurons:,}")
            lines.append(f"| {' | '.join(cells)} | {found:.3f} | {found / first:.1f} |")
            print(lines[-1], flush=True)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
