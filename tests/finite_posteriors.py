"""Exact models to hold conclusions against: finitely many networks with probabilities, on finite balls."""

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class FinitePosterior:
    """Networks with their logits at every point of the ball around every input.

    Attributes:
        probability: of each network, multiples of a power of two, so that sums of them are exact.
        logits: of shape (networks, inputs, points of a ball, classes).
        labels: of the inputs.
    """

    probability: Array
    logits: Array
    labels: Array

    @property
    def margin(self) -> Array:
        """M: the least margin of the label on the ball, of shape (networks, inputs)."""
        label = self.labels[None, :, None, None]
        own = np.take_along_axis(self.logits, np.broadcast_to(label, (*self.logits.shape[:3], 1)), 3)
        others = self.logits.copy()
        np.put_along_axis(others, np.broadcast_to(label, own.shape), -np.inf, 3)
        return (own[..., 0] - others.max(3)).min(2)

    def satisfied(self, margin: float = 0.0) -> Array:
        """S_p of each network."""
        return self.margin >= margin

    def mass(self, networks: Array) -> Array:
        """The probability of sets of networks, given as truth values of shape (networks, …)."""
        return np.tensordot(self.probability, networks.astype(np.float64), 1)


def make_posterior(seed: int, *, networks: int = 64, inputs: int = 6, skill: float = 3.0) -> FinitePosterior:
    """Random networks that prefer the label, more or less from input to input, with 3 points in a ball."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, inputs)
    logits = rng.normal(size=(networks, inputs, 1, 3)) + 0.3 * rng.normal(size=(networks, inputs, 3, 3))
    logits += 2.0 * rng.normal(size=(networks, 1, 1, 1)) * np.eye(3)[labels][None, :, None, :]  # dependent
    logits += skill * rng.uniform(0.3, 2.5, (1, inputs, 1, 1)) * np.eye(3)[labels][None, :, None, :]
    weights = rng.multinomial(2**20 - networks, rng.dirichlet(np.ones(networks))) + 1
    return FinitePosterior(weights / 2**20, logits, labels)
