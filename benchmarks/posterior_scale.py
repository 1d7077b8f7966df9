"""Certified probability against the posterior scale, for every family of events.

The clients' means are kept and all their deviations set to one scale. Drawn: the direct certificates of
paper-box, box, the conditional events of the theory and ours with its upper bound, MC–IBP (sampled networks
that intervals prove safe) and attack survival (sampled networks that an attack does not break) with their
intervals: the truth lies between the last two, up to sampling.

    FEDCERT_DATA=... python benchmarks/posterior_scale.py [--dataset mnist] [--out posterior_scale.png]
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from common import SETTINGS, Setting, mean, percent, train
from matplotlib.figure import Figure
from projected_certificates import boxes, chained

from fedcert.families.problem import Problem
from fedcert.families.projected.direct import certify_projected_directly
from fedcert.families.projected.references import Conditional
from fedcert.federation.estimates import mc_ibp
from fedcert.randomness import stream

SCALES = (1e-5, 1e-4, 1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3e-2, 6e-2)
COLUMNS = ("paper-box", "box", "conditional", "L", "U", "MC–IBP", "survival")
STYLES = {
    "paper-box": ("#999999", "-."),
    "box": ("#56b4e9", "--"),
    "conditional": ("#009e73", ":"),
    "L": ("#0072b2", "-"),
    "U": ("#d55e00", "-"),
}


Figures = dict[str, tuple[float, float, float]]


def figures(setting: Setting, scale: float) -> Figures:
    """Each column's figure, and its interval where it is an estimate."""
    torch.set_num_threads(1)
    at = train(setting).scaled(scale)
    paper, box = boxes(at)
    ours = certify_projected_directly(Problem(at.network, at.properties, tuple(at.laws), at.rule))
    row = {"paper-box": paper, "box": box, "conditional": chained(at, Conditional())}
    row |= {"L": mean(ours.lower), "U": mean(ours.upper)}
    intervals = mc_ibp(at.deployed, at.network, at.properties, "fedavg", 300, stream(0, "mc-ibp"))
    estimates = {"MC–IBP": intervals, "survival": at.survival()}
    exact = {name: (value, value, value) for name, value in row.items()}
    return exact | {name: (e.value, *e.confidence_interval()) for name, e in estimates.items()}


def figure(settings: list[Setting], curves: list[list[Figures]]) -> Figure:
    """One panel a federation."""
    result = Figure(figsize=(3.3 * len(settings), 3.2), layout="constrained")
    panels = result.subplots(1, len(settings), sharey=True, squeeze=False)[0]
    for axes, setting, rows in zip(panels, settings, curves, strict=True):
        for name, (colour, line) in STYLES.items():
            values = [100 * row[name][0] for row in rows]
            axes.plot(SCALES, values, line, color=colour, label=name, linewidth=1.8)
        for name, colour in (("MC–IBP", "#cc79a7"), ("survival", "#e69f00")):
            low, high = ([100 * row[name][k] for row in rows] for k in (1, 2))
            axes.fill_between(SCALES, low, high, color=colour, alpha=0.35, label=name, linewidth=0)
        axes.set_xscale("log")
        hidden = "×".join(map(str, setting.hidden))
        axes.set_title(
            f"{setting.clients} clients, hidden {hidden}, α = {setting.concentration:g}", fontsize=9
        )
        axes.set_xlabel("posterior scale")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("probability of safety, %")
    panels[0].legend(fontsize=7, loc="lower left")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--out", type=Path, default=Path("posterior_scale.png"))
    options = parser.parse_args()
    settings = [Setting(options.dataset, s.clients, s.hidden, s.concentration) for s in SETTINGS[:3]]
    jobs = [(setting, scale) for setting in settings for scale in SCALES]
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(figures, *zip(*jobs, strict=True)))
    curves = [found[k : k + len(SCALES)] for k in range(0, len(found), len(SCALES))]
    print("| clients | hidden | scale | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (3 + len(COLUMNS)))
    for setting, rows in zip(settings, curves, strict=True):
        for scale, row in zip(SCALES, rows, strict=True):
            cells = " | ".join(percent(row[name][0]) for name in COLUMNS)
            print(f"| {setting.clients} | {','.join(map(str, setting.hidden))} | {scale:g} | {cells} |")
    figure(settings, curves).savefig(options.out, dpi=150)


if __name__ == "__main__":
    main()
