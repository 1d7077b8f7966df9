"""Certificate, confidence bound and estimate of the same probability, against the radius.

    python docs/figures/statements.py

One input of the example in the README: three clients, FedAvg, a network with four hidden neurons.
"""

from pathlib import Path

import numpy as np
from drawing import ESTIMATE, HERE, PROVEN, UPPER, at_least, at_most, write
from matplotlib.figure import Figure

import fedcert
from fedcert.confidence import bound
from fedcert.federation.estimates import attack_survival

MEAN = np.array([2, 0, 0, 2, 1, 1, 1, -1, 0, 0, 0, 0, 1, -1, 0, 1, -1, 1, 0, -1, 0, 0])
CLIENTS = [(MEAN + 0.02 * i, np.full(22, 0.15)) for i in range(3)]
RADII = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1)
DRAWS, SAMPLES = 200, 200


def at(radius: float) -> dict[str, float]:
    """Every statement about the same probability, in %."""
    result = fedcert.certify_classification(
        CLIENTS, fedcert.mlp(2, 4, 2), [[0.65, 0.35]], [0], epsilon=radius, claims=("direct",)
    )
    problem = result.problem
    confident = bound(problem, DRAWS)
    survival = attack_survival(
        problem.deployed, problem.network, problem.properties, "fedavg", SAMPLES, fedcert.stream(0, "figure")
    )
    return {
        "lower": at_least(result.lower[0]),
        "upper": at_most(result.upper[0]),
        "confidence lower": at_least(confident.lower.item()),
        "confidence upper": at_most(confident.upper.item()),
        "estimate": round(100 * survival.value, 2),
    }


def main(out: Path = HERE, radii: tuple[float, ...] = RADII) -> None:
    """Certify, draw, sample and write."""
    found = [at(radius) for radius in radii]
    series = {name: [one[name] for one in found] for name in found[0]}
    figure = Figure(figsize=(5.6, 4))
    axes = figure.subplots()
    axes.fill_between(radii, series["lower"], series["upper"], color=PROVEN, alpha=0.25, lw=0)
    axes.plot(radii, series["lower"], color=PROVEN, label="certificate, at least L")
    axes.plot(radii, series["upper"], color=UPPER, label="certificate, at most U")
    low, high = (np.array(series[f"confidence {end}"]) for end in ("lower", "upper"))
    axes.errorbar(
        radii,
        (low + high) / 2,
        (high - low) / 2,
        fmt="none",
        ecolor=ESTIMATE,
        capsize=3,
        label=f"confidence bound, {DRAWS} draws",
    )
    axes.plot(radii, series["estimate"], "x", color="black", label=f"estimate: {SAMPLES} draws, attacked")
    axes.set(
        xlabel="radius of the ball around the input", ylabel="probability of a safe draw, %", ylim=(75, 101)
    )
    axes.legend(loc="lower left")
    figure.tight_layout()
    write(figure, {"radius": list(radii), **series}, "statements", out)


if __name__ == "__main__":
    main()
