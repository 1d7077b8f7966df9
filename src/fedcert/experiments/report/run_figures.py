"""Figures of one run, as SVG text."""

import io

import numpy as np
from matplotlib.figure import Figure

from fedcert.experiments.run import RunResult

INK, PALE = "#0072b2", "#d9d9d9"  # a blue that the colour-blind and a printer can tell from grey
UPPER, MC, SURVIVAL = "#d55e00", "#cc79a7", "#e69f00"


def bounds_figure(result: RunResult) -> str:
    """Every certificate as a bar to its mean lower bound, one dot a property; beside it what limits it.

    A bracket ends at the upper bound, ticks stand for the estimates of the same rule.
    """
    estimates: dict[tuple[str, str], float] = {(e.name, e.rule): e.value for e in result.estimates}
    figure = Figure(figsize=(7, 0.8 + 0.32 * len(result.certificates)), layout="constrained")
    axes = figure.subplots()
    spread = np.random.default_rng(0)
    for place, (certificate, _) in enumerate(result.certificates):
        claim, lower = certificate.claim, certificate.lower.cpu().numpy()
        deployed = claim.kind != "local"
        mean = 100 * certificate.mean_lower
        axes.barh(place, mean, height=0.6, color=INK if deployed else PALE, alpha=0.85)
        jitter = place + spread.uniform(-0.22, 0.22, len(lower))
        axes.plot(100 * lower, jitter, ".", color="black", markersize=3, alpha=0.4)
        if certificate.mean_upper is not None:
            axes.plot([mean, 100 * certificate.mean_upper], [place, place], "|-", color=UPPER, linewidth=2)
        for name, colour in (("mc-ibp", MC), ("attack-survival", SURVIVAL)) if deployed else ():
            if (name, claim.rule) in estimates:
                at = 100 * estimates[name, claim.rule]
                axes.vlines(at, place - 0.4, place + 0.4, colors=colour, linestyles="--", linewidth=1.5)
    names = [" · ".join((c.claim.kind, c.claim.rule, c.claim.events)) for c, _ in result.certificates]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("probability of safety, %")
    axes.set_xlim(0, 101)
    axes.spines[["top", "right"]].set_visible(False)
    return _svg(figure)


def federation_figure(result: RunResult) -> str | None:
    """How many examples of each class each client holds, where that is known."""
    if result.histograms is None:
        return None
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
