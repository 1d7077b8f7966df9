"""Local certificates do not add up: clients that are safe deploy an unsafe average, and the reverse.

    python docs/figures/local_certificates.py

The network is f(x) = ±(relu(a x) + relu(b x)) ∓ 1 at x = 1 with random a and b; it is safe where f ≥ 0. The
two clients have learned the same function with their hidden neurons in another order.
"""

from pathlib import Path

import numpy as np
from drawing import ESTIMATE, HERE, PROVEN, SAFE, UNSAFE, UPPER, at_least, at_most, write
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.patheffects import withStroke

import fedcert

SIGMA = 0.35
HALO = (withStroke(linewidth=3, foreground="white"),)
CLIENTS = ((2.0, -2.0), (-2.0, 2.0))
NETWORK = fedcert.mlp(1, 2, 1)


def bounds(sign: float) -> dict[str, tuple[float, float]]:
    """Certified bounds by kind of claim, in %, for f = sign · (relu(a) + relu(b) − 1)."""
    deviations = np.array([SIGMA, SIGMA, 0, 0, 0, 0, 0])
    laws = [(np.array([*client, 0, 0, sign, sign, -sign]), deviations) for client in CLIENTS]
    asked = fedcert.on_boxes([[1.0]], [[1.0]], C=[[1.0]], d=[0.0])
    result = fedcert.certify(laws, "fedavg", NETWORK, asked, claims=("local", "direct"))
    return {
        own.claim.kind: (
            at_least(own.lower.item()),
            100.0 if own.upper is None else at_most(own.upper.item()),
        )
        for own in result.certificates
    }


def plane(axes: Axes, sign: float, found: dict[str, tuple[float, float]]) -> None:
    """The safe set, both clients' laws and that of the deployed model."""
    grid = np.linspace(-3.2, 3.2, 129)
    a, b = np.meshgrid(grid, grid)
    value = sign * (np.maximum(a, 0) + np.maximum(b, 0) - 1)
    axes.contourf(a, b, value, levels=[-99, 0, 99], colors=[UNSAFE, SAFE])
    for i, client in enumerate(CLIENTS):
        for deviations in (1, 2, 3):
            axes.add_patch(Circle(client, deviations * SIGMA, fill=False, ec=ESTIMATE, ls=":"))
        axes.annotate(f"client {i + 1}", client, ha="center", va="center", path_effects=HALO)
    for deviations in (1, 2, 3):
        axes.add_patch(Circle((0, 0), deviations * SIGMA / 2**0.5, fill=False, ec="black"))
    beside = (0, -3.6 * SIGMA / 2**0.5)  # below the circles, readable on either colour
    axes.annotate("deployed", beside, ha="center", va="center", fontsize=8, path_effects=HALO)
    axes.set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), aspect="equal", xlabel="a", ylabel="b")
    (local, _), (lower, upper) = found["local"], found["direct"]
    axes.set_title(f"clients: at least {local} % safe\ndeployed: {lower} % to {upper} % safe", fontsize=10)
    axes.text(-3, -2.6, "green: safe", color=PROVEN, fontsize=9)
    axes.text(-3, -3, "red: unsafe", color=UPPER, fontsize=9)


def main(out: Path = HERE) -> None:
    """Certify, draw and write."""
    figure = Figure(figsize=(4.4, 8.8))  # narrow: readable on a phone
    numbers = {}
    signs = {"safe clients": 1.0, "unsafe clients": -1.0}
    for axes, (name, sign) in zip(figure.subplots(2, 1), signs.items(), strict=True):
        numbers[name] = bounds(sign)
        plane(axes, sign, numbers[name])
    figure.tight_layout()
    write(figure, numbers, "local-certificates", out)


if __name__ == "__main__":
    main()
