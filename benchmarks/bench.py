"""`make bench`: our bounds beside those of others, and how time grows with each thing that can grow.

All in one process and one thread; times are processor times, and the ratios are what to read. Interval and
backward linear bounds (float64, every rounding charged) and auto_LiRPA's IBP and CROWN for perturbed weights
and inputs (float32, no rounding charged) bound the same constraints of the same networks over the same weight
boxes and input regions; auto_LiRPA takes 1, 20 or all properties at a time, whichever is fastest. The
verifier of Batten et al., with the linear bounds of Wicker et al., takes one box and one property at a time.
Projected events bound a probability and have no counterpart: their time is for a direct claim, search
included. None of them is a dependency: name clones, or they are left out.

    python benchmarks/bench.py [--auto-lirpa PATH] [--batten PATH] [--properties 200] [--quick] [--plot FILE]
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import torch
from bench_batten import intervals, lines, released
from bench_peer import peers
from bench_scaling import DEPTHS, Series, scaling, seconds
from torch import Tensor

from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties, linf_robustness
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
METHODS = {
    "interval": IntervalVerifier(),
    "interval, merged": MergedIntervalVerifier(),
    "linear": LinearVerifier(),
}
COLOURS = {"interval": "#0072b2", "linear": "#d55e00", "projected": "#009e73"}

Rival = Callable[[Network, Tensor, Properties], Sequence[Callable[[], Tensor]]]
"""Ways to find margins of shape (boxes, properties, constraints) over the boxes around some centres."""


def rivals(lirpa: bool, batten: Path | None) -> dict[str, dict[str, Rival]]:
    """What our bounds are compared with, by the name of ours and of theirs."""
    interval: dict[str, Rival] = {}
    linear: dict[str, Rival] = {}
    if lirpa:
        interval["auto_LiRPA, IBP"] = lambda f, centres, asked: peers(f, centres, BOX, asked, "IBP")
        linear["auto_LiRPA, CROWN"] = lambda f, centres, asked: peers(f, centres, BOX, asked[:FEW], "CROWN")
    if batten is not None:
        theirs = released(batten)
        interval["Batten et al."] = lambda f, centres, asked: [
            intervals(theirs, f, Box.around(centres, BOX), asked)
        ]
        linear["Wicker et al., by Batten et al."] = lambda f, centres, asked: [
            lines(theirs, f, Box.around(centres, BOX), asked)
        ]
    return {"interval": interval, "linear": linear}


def compare(widths: tuple[int, ...], count: int, others: dict[str, dict[str, Rival]]) -> None:
    """The rows of one network."""
    network, generator = mlp(784, *widths, 10), stream(0, "benchmark")
    theta = network.initialise(generator).double()
    centres = theta + 1e-5 * torch.randn(BOXES, len(theta), generator=generator, dtype=torch.float64)
    x = torch.rand(count, 784, generator=generator, dtype=torch.float64)
    asked = linf_robustness(x, network(theta, x).argmax(-1), RADIUS)
    boxes, pairs = Box.around(centres, BOX), BOXES * count
    name = "784-" + "-".join(map(str, widths)) + "-10"
    for label, verifier in METHODS.items():
        own, margins = seconds(lambda verifier=verifier: verifier.margins(network, boxes, asked))
        ours = f"| {name} | {label} | {1e6 * own / pairs:.1f} | {margins.mean().item():.4f} |"
        beside = others.get(label, {})
        for rival, ways in beside.items():
            timed = [seconds(way) for way in ways(network, centres, asked)]
            spent, found = min(timed, key=lambda one: one[0])
            there = margins[: found.shape[0], : found.shape[1]]
            each, lead = spent / (found.shape[0] * found.shape[1]), found.double() - there
            figures = f"{1e6 * each:.0f} | {-lead.mean().item():.1e} | {lead.max().item():.1e}"
            print(f"{ours} {rival} | {figures} | **{each * pairs / own:,.0f}** |", flush=True)
        if not beside:
            print(ours, "– | – | – | – | – |", flush=True)
    law = DiagonalGaussian(theta, torch.full_like(theta, 8e-3))
    few, rule = asked[:FEW], LinearRule.fedavg([1, 1])
    spent, lower = seconds(  # of a problem that is new each time and remembers nothing
        lambda: ProjectedFamily().prove(Problem(network, few, (law, law), rule), "direct").lower
    )
    figures = f"{1e6 * spent / FEW:.0f} | L {lower.mean().item():.4f}"
    print(f"| {name} | projected (direct) | {figures} | – | – | – | – | – |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--auto-lirpa", type=Path)
    parser.add_argument("--batten", type=Path)
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
        print("auto_LiRPA is not here (--auto-lirpa PATH names a clone): left out\n")
    others = rivals(lirpa, options.batten)
    print(f"{BOXES} boxes × {options.properties} properties, µs a box and property\n")
    print(
        "| network | bounds | ours | mean margin | beside | theirs | ours tighter by | largest lead | ratio |"
    )
    print("|" + "---|" * 9)
    for widths in WIDTHS[:2] if options.quick else WIDTHS:
        compare(widths, options.properties, others)
    print("\n| what grows | sizes | seconds | exponent | at the end |\n|" + "---|" * 5, flush=True)
    found: list[Series] = []
    for series in scaling(options.quick):
        found.append(series)
        print(series.row, flush=True)
    if options.plot is not None:
        plot(found, options.plot)


def plot(found: Sequence[Series], path: Path) -> None:
    """Time against each thing that grows, on logarithmic axes, one panel each."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.5), layout="constrained")
    panels = figure.subplots(2, 3, sharey=True).flat
    for what, axes in zip(dict.fromkeys(series.what for series in found), panels, strict=False):
        for series in (own for own in found if own.what == what):
            colour = COLOURS[series.of.split(",")[0]]
            label = f"{series.of}: exponent {series.exponent:.2f}"
            axes.plot(series.sizes, series.seconds, "o-", color=colour, label=label, markersize=4)
        axes.set(xscale="log", yscale="log", xlabel=what)
        axes.tick_params(labelleft=True)
        axes.grid(axis="y", alpha=0.3)
        if what == "hidden layers":
            axes.set_xticks(DEPTHS, DEPTHS)
            axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
    for axes in panels:
        axes.set_axis_off()
    figure.supylabel("processor seconds", fontsize=10)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
