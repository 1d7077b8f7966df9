"""The checker's own verdicts on one network: exact at the edge, and each charge is needed."""

import numpy as np
import pytest
from oracles import exact

from fedcert_check.confidence import linear, network, verdict
from fedcert_check.confidence.network import layers_of
from fedcert_check.confidence.verdict import judge
from fedcert_check.layers import Network
from fedcert_check.properties import Properties

NETWORK = Network.read([{"type": "linear", "inputs": 5, "outputs": 1}])


def at_the_edge(weights: np.ndarray, x: np.ndarray) -> Properties:
    """Σ w x ≥ s, where s is the sum as floating point finds it."""
    value = x[None] @ weights[None].T
    return Properties(x[None], x[None], np.ones((1, 1, 1)), -value)


def rounded_up() -> tuple[np.ndarray, np.ndarray]:
    """Weights and inputs whose sum floating point finds too large."""
    generator = np.random.default_rng(0)
    while True:
        weights, x = generator.normal(size=5), generator.uniform(size=5)
        asked = at_the_edge(weights, x)
        if sum(exact(w) * exact(v) for w, v in zip(weights, x, strict=True)) < -exact(asked.d.item()):
            return weights, x


@pytest.mark.parametrize("charged", [True, False])
def test_the_roundings_of_products_are_charged(charged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not charged:
        for module in (network, linear, verdict):
            monkeypatch.setattr(module, "relative_error", lambda terms, layers: 0.0, raising=False)
        monkeypatch.setattr(network, "FLOOR", 0.0)
        monkeypatch.setattr(network, "NEAR", 0.0)
    weights, x = rounded_up()
    layers = layers_of(NETWORK, np.append(weights, 0.0), np.zeros(6))
    assert judge(layers, at_the_edge(weights, x)).proven.item() != charged


@pytest.mark.parametrize(("radius", "expected"), [(0.1, "proven"), (0.2, "neither")])
def test_the_radius_of_the_weights_is_charged(radius: float, expected: str) -> None:
    one = np.ones((1, 5))
    layers = layers_of(NETWORK, np.append(np.ones(5), 0.0), np.append(np.full(5, radius), 0.0))
    found = judge(layers, Properties(one, one, np.ones((1, 1, 1)), np.array([[-4.2]])))
    assert found.proven.item() == (expected == "proven")
    assert not found.broken.item()


def test_what_is_not_finite_proves_and_breaks_nothing() -> None:
    shape = [{"type": "linear", "inputs": 2, "outputs": 2}, {"type": "relu"}]
    deep = Network.read([*shape, {"type": "linear", "inputs": 2, "outputs": 1}])
    layers = layers_of(deep, np.full(deep.dimension, 1e300), np.zeros(deep.dimension))
    for sign in (1.0, -1.0):
        asked = Properties(-np.ones((1, 2)), np.ones((1, 2)), sign * np.ones((1, 1, 1)), np.zeros((1, 1)))
        found = judge(layers, asked)
        assert not found.proven.any()
        assert not found.broken.any()
