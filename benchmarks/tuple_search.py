"""How do exhaustive, heaviest-first and hull search grow with the number of clients?

Every client holds four disjoint cells that tile the box of six deviations around its posterior mean, so there
are 4^n tuples. Exhaustive and heaviest-first search try single tuples until their budget ends; hull search
accepts all tuples below a node with one call. Counted are the boxes given to the verifier.

    python benchmarks/tuple_search.py [--budget 256] [--clients 2,5,10,50,200,1000] [--picture FILE]
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from matplotlib.figure import Figure

from fedcert.certificate import Certificate
from fedcert.families.cells import Cells
from fedcert.families.hull import certify_hulls
from fedcert.families.paper_box.transported import certify_transported
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties, linf_robustness
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.search import exhaustive, heaviest_first
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier

NETWORK = mlp(16, 16, 4)


class Counting:
    """The interval verifier, counting the boxes it is given."""

    def __init__(self) -> None:
        self.boxes = 0

    def __call__(self, network: Network, boxes: Box, properties: Properties) -> torch.Tensor:
        """Verify and count."""
        self.boxes += len(boxes)
        return IntervalVerifier()(network, boxes, properties)


def four_cells(law: DiagonalGaussian) -> Cells:
    """The box of six deviations, cut in the middle of its first two coordinates."""
    box = Box.around(law.loc, 6 * law.scale)
    parts = []
    for first in (False, True):
        for second in (False, True):
            lower, upper = box.lower.clone(), box.upper.clone()
            for d, above in enumerate((first, second)):
                (lower if above else upper)[d] = law.loc[d]
            parts.append(Box(lower, upper))
    boxes = Box.stack(parts)
    return Cells.shared(boxes, law.log_mass(boxes))


def problem(clients: int) -> tuple[list[Cells], Safe, Counting]:
    generator = stream(0, "benchmark", clients)
    theta = 3 * NETWORK.initialise(stream(0, "theta")).double()
    laws = [
        DiagonalGaussian(
            theta + 1e-3 * torch.randn(len(theta), generator=generator, dtype=torch.float64),
            torch.full_like(theta, 1e-4),
        )
        for _ in range(clients)
    ]
    x = torch.rand(1, 16, generator=stream(0, "x"), dtype=torch.float64)
    verifier = Counting()
    safe = Safe(NETWORK, linf_robustness(x, NETWORK(theta, x).argmax(-1), 1e-3, classes=4), verifier)
    return [four_cells(law) for law in laws], safe, verifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--budget", type=int, default=256)
    parser.add_argument("--clients", default="2,5,10,50,200,1000")
    parser.add_argument("--picture", type=Path, default=Path(__file__).with_suffix(".png"))
    options = parser.parse_args()
    budget = options.budget
    numbers = [int(n) for n in options.clients.split(",")]
    searches: dict[str, Callable[[list[Cells], LinearRule, Safe], Certificate]] = {
        "exhaustive": lambda c, r, s: certify_transported(c, r, s, exhaustive, budget, "box"),
        "heaviest first": lambda c, r, s: certify_transported(c, r, s, heaviest_first, budget, "box"),
        "hull": lambda c, r, s: certify_hulls(c, r, s, budget, "box"),
    }
    rows: dict[str, list[tuple[int, float, float]]] = {name: [] for name in searches}
    print(f"{'clients':>8} {'search':15} {'calls':>7} {'seconds':>9} {'bound':>8}")
    for n in numbers:
        for name, search in searches.items():
            cells, safe, verifier = problem(n)
            rule = LinearRule.fedavg([1] * n)
            seconds = float("inf")
            for _ in range(3):  # the best of three: machines are shared
                verifier.boxes = 0
                start = time.perf_counter()
                bound = search(cells, rule, safe).mean_lower
                seconds = min(seconds, time.perf_counter() - start)
            rows[name].append((verifier.boxes, seconds, bound))
            print(f"{n:8d} {name:15} {verifier.boxes:7d} {seconds:9.3f} {bound:8.4f}")
    draw(numbers, rows, options.picture)
    print(f"picture: {options.picture}")


def draw(numbers: list[int], rows: dict[str, list[tuple[int, float, float]]], picture: Path) -> None:
    """Calls, seconds and bounds against the number of clients."""
    figure = Figure(figsize=(9, 3), layout="constrained")
    panels = figure.subplots(1, 3)
    styles = {"exhaustive": ("#999999", "o"), "heaviest first": ("#d55e00", "s"), "hull": ("#0072b2", "^")}
    for k, (axes, label) in enumerate(zip(panels, ("verifier calls", "seconds", "certified"), strict=True)):
        for name, values in rows.items():
            colour, marker = styles[name]
            axes.plot(numbers, [v[k] for v in values], color=colour, marker=marker, label=name)
        axes.set_xscale("log")
        if k < 2:
            axes.set_yscale("log")
        axes.set_xlabel("clients")
        axes.set_ylabel(label)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False)
    figure.savefig(picture, dpi=130)


if __name__ == "__main__":
    main()
