"""Boxes of weights against what a neuron sees of them, in two dimensions and in many.

    python docs/figures/boxes_and_projections.py

A linear classifier has the weights w ~ N(x, σ² I) for one class and 0 for the other; it is safe where
w · x' ≥ 0 for all x' of a ball around x, ‖x‖ = 1. Above: two weights, and the boxes that the certificate of
`box` events is made of. Below: more weights, the same margin.
"""

from pathlib import Path

import numpy as np
from drawing import ESTIMATE, HERE, PROVEN, SAFE, UNSAFE, UPPER, at_least, at_most, write
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from numpy.typing import NDArray

import fedcert

SIGMA, RADIUS = 0.5, 0.01
SIZES = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def certified(weights: int) -> fedcert.Certification:
    """Both families' certificates of the classifier with this many weights."""
    x = np.full(weights, weights**-0.5)
    mean = np.concatenate([x, np.zeros(weights + 2)])
    deviations = np.concatenate([np.full(weights, SIGMA), np.zeros(weights + 2)])
    return fedcert.certify_classification(
        [(mean, deviations)],
        fedcert.mlp(weights, 2),
        [x],
        [0],
        epsilon=RADIUS * weights**-0.5,
        domain=(-np.inf, np.inf),
        events="box,projected",
        claims=("direct",),
    )


def plane(axes: Axes, boxes: list[NDArray[np.float64]]) -> None:
    """The safe set, the posterior, and the boxes of a certificate."""
    axes.set(xlim=(-1, 2.6), ylim=(-1, 2.6), aspect="equal", xlabel="first weight", ylabel="second weight")
    axes.set_facecolor(SAFE)
    edge = np.array([-1.0, 2.6])
    axes.fill_between(edge, -edge, -1, color=UNSAFE, lw=0)
    axes.plot(edge, -edge, color=UPPER, lw=1.5)
    axes.text(-0.9, -0.6, "unsafe", color=UPPER)
    for lower, upper in zip(*boxes, strict=True):
        axes.add_patch(Rectangle(lower, *(upper - lower), fill=False, ec=PROVEN, lw=0.7))
    mean = (2**-0.5, 2**-0.5)
    for deviations in (1, 2, 3):
        axes.add_patch(Circle(mean, deviations * SIGMA, fill=False, ec=ESTIMATE, ls=":"))
    axes.plot(*mean, "o", color=ESTIMATE, ms=4)
    axes.set_title("two weights: boxes that are proven safe", fontsize=10)


def main(out: Path = HERE, sizes: tuple[int, ...] = SIZES) -> None:
    """Certify, draw and write."""
    results = {weights: certified(weights) for weights in sizes}
    tiles = results[sizes[0]].certificates[0].witness.tensors
    ends = [tiles[f"tiles.{end}"][:, 0, :2].numpy() for end in ("lower", "upper")]
    figure = Figure(figsize=(5, 8.2))  # narrow: readable on a phone
    above, below = figure.subplots(2, 1, gridspec_kw={"height_ratios": (1.4, 1)})
    plane(above, ends)
    lower = {
        own.claim.events: [at_least(result.certificates[i].lower.item()) for result in results.values()]
        for i, own in enumerate(results[sizes[0]].certificates)
    }
    upper = [at_most(result.certificates[1].upper.item()) for result in results.values()]
    below.semilogx(sizes, upper, color=UPPER, label="projected, upper bound U", base=2)
    below.semilogx(sizes, lower["projected"], "o-", color=PROVEN, label="projected, lower bound L", base=2)
    below.semilogx(sizes, lower["box"], "s--", color=ESTIMATE, label="boxes, lower bound L", base=2)
    below.set(xlabel="number of weights", ylabel="probability of a safe draw, %", ylim=(-2, 102))
    below.set_title("the same margin, more weights", fontsize=10)
    below.legend(loc="center right")
    figure.tight_layout()
    numbers = {"weights": list(sizes), "tiles": len(ends[0]), **lower, "upper": upper}
    write(figure, numbers, "boxes-and-projections", out)


if __name__ == "__main__":
    main()
