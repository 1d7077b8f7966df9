"""Figures of one run, as SVG text."""

import io

import numpy as np
from matplotlib.figure import Figure

from fedcert.experiments.run import RunResult

INK, PALE = "#0072b2", "#d9d9d9"  # a blue that the colour-blind and a printer can tell from grey


def bounds_figure(result: RunResult) -> str:
    """Every certificate as a bar (mean over the properties), one dot a property, estimates as ticks."""
    rows = [
        (
            f"{c.claim.kind}\n{c.claim.rule}\n{c.claim.events}",
            c.mean_lower,
            c.lower.cpu().numpy(),
            c.claim.rule,
        )
        for c, _ in result.certificates
    ]
    mc = {e.rule: e.value for e in result.estimates if e.name == "mc-ibp"}
    figure = Figure(figsize=(max(7, 1.1 * len(rows)), 3.4), layout="constrained")
    axes = figure.subplots()
    spread = np.random.default_rng(0)
    for place, (name, mean, lower, rule) in enumerate(rows):
        axes.bar(place, 100 * mean, width=0.6, color=PALE if name.startswith("local") else INK, alpha=0.85)
        jitter = place + spread.uniform(-0.22, 0.22, len(lower))
        axes.plot(jitter, 100 * lower, ".", color="black", markersize=3, alpha=0.5)
        if rule in mc and not name.startswith("local"):
            axes.hlines(100 * mc[rule], place - 0.4, place + 0.4, colors="#d55e00", linestyles="--")
    axes.set_xticks(range(len(rows)), [name for name, *_ in rows])
    axes.set_ylabel("certified probability, %")
    axes.set_ylim(0, 103)
    axes.spines[["top", "right"]].set_visible(False)
    return _svg(figure)


def federation_figure(result: RunResult) -> str:
    """How many examples of each class each client holds."""
    counts = result.histograms.cpu().numpy()
    figure = Figure(figsize=(7, 0.5 + 0.35 * len(counts)), layout="constrained")
    axes = figure.subplots()
    axes.imshow(counts, cmap="Blues", aspect="auto")
    for (i, c), count in np.ndenumerate(counts):
        colour = "white" if count > counts.max() / 2 else "black"
        axes.text(c, i, str(count), ha="center", va="center", color=colour, fontsize=8)
    axes.set_xticks(range(counts.shape[1]))
    axes.set_yticks(range(len(counts)), [message.client for message in result.messages], parse_math=False)
    axes.set_xlabel("class")
    return _svg(figure)


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
