"""Certified accuracy against radius: what `make run` proves, at more radii.

    python docs/figures/certified_accuracy.py

Three clients on the embedded digits, one hidden layer of 64, FedAvg, all 360 test inputs.
"""

from pathlib import Path

from drawing import ESTIMATE, HERE, PROVEN, UPPER, at_least, at_most, write
from matplotlib.figure import Figure

from fedcert.app.config import RunConfig
from fedcert.app.run import run

RADII = (0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08)


def main(out: Path = HERE, radii: tuple[float, ...] = RADII, properties: int = 360) -> None:
    """Train, certify, attack, draw and write."""
    found = run(RunConfig(epsilon=radii, properties=properties, claims=("direct",)))
    lower = [at_least(own.certificate.mean_lower) for own in found.proven]
    upper = [at_most(own.certificate.mean_upper) for own in found.proven]
    survival = [round(100 * own.value, 2) for _, own in found.estimates]
    accuracy = round(100 * found.accuracy_on_inputs, 2)
    figure = Figure(figsize=(5.6, 3.6))
    axes = figure.subplots()
    axes.axhline(accuracy, color=ESTIMATE, ls=":", lw=1)
    axes.text(radii[-1], accuracy + 1, "mean model, unperturbed", ha="right", color=ESTIMATE, fontsize=9)
    axes.fill_between(radii, lower, upper, color=PROVEN, alpha=0.2, lw=0)
    axes.plot(radii, lower, "o-", color=PROVEN, ms=4, label="certified: at least L")
    axes.plot(radii, upper, "-", color=UPPER, label="certified: at most U")
    axes.plot(radii, survival, "x", color="black", label="survives an attack (estimate)")
    axes.set(xlabel="ℓ∞ radius around each input", ylabel="accuracy, %", ylim=(50, 100))
    axes.legend(loc="lower left")
    figure.tight_layout()
    numbers = {
        "radius": list(radii),
        "lower": lower,
        "upper": upper,
        "survival": survival,
        "accuracy": accuracy,
    }
    write(figure, numbers, "certified-accuracy", out)


if __name__ == "__main__":
    main()
