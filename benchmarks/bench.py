"""`make bench`: our bounds beside auto_LiRPA's, and how time grows with each thing that can grow.

All in one process and one thread; times are processor times, and the ratios are what to read. Interval and
backward linear bounds (float64, every rounding charged) and auto_LiRPA's IBP and CROWN for perturbed weights
and inputs (float32, no rounding charged) bound the same constraints of the same networks over the same weight
boxes and input regions; auto_LiRPA takes 1, 20 or all properties at a time, whichever is fastest.
Projected events bound a probability and have no counterpart: their time is for a direct claim, search
included. auto_LiRPA is no dependency: name a clone of it, or it is left out.

    python benchmarks/bench.py [--auto-lirpa PATH] [--properties 200] [--quick] [--plot scaling.png]
"""

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import torch
from bench_peer import peers
from bench_scaling import Series, scaling
from torch import Tensor

from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier

WIDTHS = ((64,), (64, 64), (128,), (128, 128))
RADIUS = 1e-3
BOX = 7e-5
"""Half the width of the weight boxes."""
BOXES = 2
FEW = 5
"""Properties that CROWN and projected events are timed on: each takes about as long as the next."""
METHODS = (
    ("interval", IntervalVerifier(), "IBP"),
    ("interval, merged", MergedIntervalVerifier(), None),
    ("linear", LinearVerifier(), "CROWN"),
)
"""Our bounds, and the method of auto_LiRPA that they are compared with."""


def seconds(work: Callable[[], Tensor]) -> tuple[float, Tensor]:
    """Processor time of the faster of two runs, after one to warm up."""
    work()
    times = []
    for _ in range(2):
        start = time.process_time()
        found = work()
        times.append(time.process_time() - start)
    return min(times), found


def compare(widths: tuple[int, ...], count: int, lirpa: bool) -> None:
    """The rows of one network."""
    network, generator = mlp(784, *widths, 10), stream(0, "benchmark")
    theta = network.initialise(generator).double()
    centres = theta + 1e-5 * torch.randn(BOXES, len(theta), generator=generator, dtype=torch.float64)
    x = torch.rand(count, 784, generator=generator, dtype=torch.float64)
    asked = linf_robustness(x, network(theta, x).argmax(-1), RADIUS)
    boxes, pairs = Box.around(centres, BOX), BOXES * count
    name = "784-" + "-".join(map(str, widths)) + "-10"
    for label, verifier, method in METHODS:
        own, margins = seconds(lambda verifier=verifier: verifier.margins(network, boxes, asked))
        some = asked[:FEW] if method == "CROWN" else asked
        cells = [name, label, f"{1e6 * own / pairs:.0f}", f"{margins[:, : len(some)].mean().item():.6f}"]
        if lirpa and method:
            timed = [seconds(peer) for peer in peers(network, centres, BOX, some, method)]
            spent, found = min(timed, key=lambda one: one[0])
            spent = spent * len(asked) / len(some)
            looser = (found.double() - margins[:, : len(some)]).max().item()
            cells += [f"{1e6 * spent / pairs:.0f}", f"{found.mean().item():.6f}"]
            cells += [f"{looser:.1e}", f"**{spent / own:.0f}**"]
        print(f"| {' | '.join(cells + ['–'] * (8 - len(cells)))} |", flush=True)
    law = DiagonalGaussian(theta, torch.full_like(theta, 8e-3))
    problem = Problem(network, asked, (law, law), LinearRule.fedavg([1, 1]))
    few = asked[:FEW]
    spent, lower = seconds(lambda: ProjectedFamily().prove(problem.asking(few), "direct").lower)
    row = (name, "projected (direct)", f"{1e6 * spent / len(few):.0f}", f"L {lower.mean().item():.4f}")
    print(f"| {' | '.join([*row, *['–'] * 4])} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--auto-lirpa", type=Path)
    parser.add_argument("--properties", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="smaller sizes everywhere")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()

    warnings.filterwarnings("ignore", category=DeprecationWarning)  # auto_LiRPA uses what torch will drop
    torch.set_num_threads(1)
    if options.auto_lirpa is not None:
        sys.path.insert(0, str(options.auto_lirpa))
    lirpa = find_spec("auto_LiRPA") is not None
    if not lirpa:
        print("auto_LiRPA is not here (--auto-lirpa PATH names a clone): our own times alone\n")
    print(f"{BOXES} boxes × {options.properties} properties, µs a box and property\n")
    print("| network | bounds | ours | mean margin | auto_LiRPA | mean margin | largest lead | ratio |")
    print("|" + "---|" * 8)
    for widths in WIDTHS[:2] if options.quick else WIDTHS:
        compare(widths, options.properties, lirpa)
    print("\n| what grows | from … to | seconds | exponent of time |\n|---|---|---|---|", flush=True)
    found: list[Series] = []
    for series in scaling(options.quick):
        found.append(series)
        print(series.row, flush=True)
    if options.plot is not None:
        plot(found, options.plot)


def plot(found: Sequence[Series], path: Path) -> None:
    """Time against each thing that grows, on logarithmic axes."""
    from matplotlib.figure import Figure

    columns = math.ceil(len(found) / 2)
    figure = Figure(figsize=(3.2 * columns, 5.4), layout="constrained")
    for axes, series in zip(figure.subplots(2, columns).flat, found, strict=False):
        axes.plot(series.sizes, series.seconds, "o-")
        axes.set(xscale="log", yscale="log", xlabel=series.what, ylabel="s")
        axes.set_title(f"{series.of}: exponent {series.exponent:.2f}", fontsize=9)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
