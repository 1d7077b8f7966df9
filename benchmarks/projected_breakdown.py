"""Where projected events break down: certified probability against depth, posterior scale and input radius.

Two clients, concentration 1, layers of 64; the learned posterior scale, unless it is the axis. The gap
between L and the survival of sampled networks under attack is what the method does not prove.

    FEDCERT_DATA=... python benchmarks/projected_breakdown.py [--dataset mnist] [--out breakdown.png]
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from common import Setting, mean, percent, train
from matplotlib.figure import Figure

from fedcert.families.problem import Problem
from fedcert.families.projected.direct import certify_projected_directly

DEPTHS = (1, 2, 3, 4)
SCALES = (3e-2, 6e-2, 1.2e-1, 2.4e-1)
RADII = (0.0, 1e-3, 3e-3, 1e-2, 3e-2)
Job = tuple[str, int, float | None, float]


def figures(job: Job) -> tuple[float, float, float]:
    """L, U and attack survival of one federation."""
    torch.set_num_threads(1)
    dataset, depth, scale, epsilon = job
    trained = train(Setting(dataset, 2, (64,) * depth, 1.0), epsilon)
    if scale is not None:
        trained = trained.scaled(scale)
    ours = certify_projected_directly(
        Problem(trained.network, trained.properties, tuple(trained.laws), trained.rule)
    )
    return mean(ours.lower), mean(ours.upper), trained.survival(300).value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--out", type=Path, default=Path("projected_breakdown.png"))
    options = parser.parse_args()
    jobs: dict[str, list[tuple[float, Job]]] = {
        "hidden layers of 64": [(n, (options.dataset, n, None, 1e-3)) for n in DEPTHS],
        "posterior scale, hidden 64": [(s, (options.dataset, 1, s, 1e-3)) for s in SCALES],
        "posterior scale, hidden 64,64": [(s, (options.dataset, 2, s, 1e-3)) for s in SCALES],
        "input radius, hidden 64": [(e, (options.dataset, 1, None, e)) for e in RADII],
        "input radius, hidden 64,64": [(e, (options.dataset, 2, None, e)) for e in RADII],
    }
    result = Figure(figsize=(3.0 * len(jobs), 3.0), layout="constrained")
    panels = result.subplots(1, len(jobs), sharey=True)
    print("| axis | value | L | U | survival |\n|---|---|---|---|---|")
    with ProcessPoolExecutor() as pool:
        started = {axis: [pool.submit(figures, job) for _, job in own] for axis, own in jobs.items()}
        found = {axis: [future.result() for future in own] for axis, own in started.items()}
    for axes, (axis, own) in zip(panels, jobs.items(), strict=True):
        places = range(len(own))
        for column, (name, style) in enumerate((("L", "o-"), ("U", "v--"), ("survival", "s:"))):
            colour = ("#0072b2", "#d55e00", "#e69f00")[column]
            values = [100 * row[column] for row in found[axis]]
            axes.plot(places, values, style, color=colour, label=name, markersize=4)
        axes.set_xticks(places, [f"{value:g}" for value, _ in own])
        axes.set_xlabel(axis)
        axes.spines[["top", "right"]].set_visible(False)
        for (value, _), row in zip(own, found[axis], strict=True):
            print(f"| {axis} | {value:g} | " + " | ".join(percent(x) for x in row) + " |")
    panels[0].set_ylabel("probability of safety, %")
    panels[0].legend(fontsize=8)
    result.savefig(options.out, dpi=150)


if __name__ == "__main__":
    main()
