"""How far an input region moves a layer's pre-activations (docs/soundness.md, 9.2 and 9.3), in balls."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, ctx

from fedcert_check.balls import Balls, size, zeros
from fedcert_check.projected import floats
from fedcert_check.projected.any_layer import Layer
from fedcert_check.projected.folded import folded_means
from fedcert_check.projected.layers import RandomLayer, Unproven, greatest, random_weights, root, times, where
from fedcert_check.validation import Array


@dataclass(frozen=True)
class Moved:
    """The movement of a hidden layer: |Δ_k| ≤ D_k on its events.

    Attributes:
        radius: D.
        sign: 1 for neurons that stay active on the region, −1 for those that stay inactive, 0 for others.
    """

    radius: Balls
    sign: Array

    @property
    def theta(self) -> Balls:
        """θ of Δ's linear part: 1, 0, or ½ for a neuron of unknown sign."""
        return np.array([(arb(1) + int(s)) / 2 for s in self.sign], dtype=object)

    @property
    def steepness(self) -> Balls:
        """L of |h(x) − h(y)| ≤ L |Δ(x) − Δ(y)|: 0 for a neuron that stays inactive, 1 for any other."""
        return where(self.sign < 0, zeros(len(self.sign)), zeros(len(self.sign)) + 1)

    @property
    def activations(self) -> Balls:
        """δ: bounds of |h_k(x) − h_k(x_c)|."""
        return where(self.sign < 0, zeros(len(self.sign)), self.radius)

    @property
    def unknown(self) -> Balls:
        """Bounds of |θΔ − Δ/2|: D/2 for a neuron of unknown sign."""
        return where(self.sign == 0, self.radius / 2, zeros(len(self.sign)))


@dataclass(frozen=True)
class Read:
    """What a layer reads moves by v, |v| ≤ δ, no farther than L∘(W v'), |v'| ≤ δ', W the layer before.

    Attributes:
        delta: δ.
        steepness: L.
        layer: W's law.
        inputs: δ'.
    """

    delta: Balls
    steepness: Balls
    layer: Layer
    inputs: Balls


def read(depth: int, layers: Sequence[Layer], radius: Balls, moved: Sequence[Moved]) -> Read:
    """How the region moves what layers[depth] reads, from the values at the centre."""
    before = moved[depth - 1]
    inputs = radius if depth == 1 else moved[depth - 2].activations
    return Read(before.activations, before.steepness, layers[depth - 1], inputs)


def movement_events(layers: Sequence[Layer]) -> int:
    """One event for the first layer, three for each other one; none for a layer whose weights are known."""
    return (not layers[0].fixed_weights) + 3 * random_weights(layers[1:])


def still(radius: Balls) -> bool:
    """Whether nothing moves: the region is a single input."""
    return all(v == 0 for v in radius)


def norm(rows: Balls) -> Balls:
    """‖row‖."""
    return root(np.asarray((rows * rows).sum(-1), dtype=object))


def noise_over_inputs(delta: Balls, deviation: Balls, u: arb) -> Balls:
    """√(2/π) Σ_k δ_k r_k + u √Σ_k δ_k² r_k² ≥ Σ_k δ_k |N_k| but for Q(u)."""
    widths = deviation * delta
    return mean_size() * widths.sum(-1) + u * norm(widths)


def noise_over(moved: Read, deviation: Balls, u: arb) -> Balls:
    """A bound of sup_x N·v(x) and of sup_x −N·v(x), N_k ~ N(0, r_k²): one event, and one a side."""
    if still(moved.delta):
        return zeros(len(deviation))
    widths, reading = deviation * moved.delta, deviation * moved.steepness
    contracted = moved.layer.spread(reading, moved.inputs, u)
    return mean_size() * smaller(widths.sum(-1), contracted) + u * norm(widths)


def shaken(layer: Layer, rows: Balls, moved: Read, u: arb) -> Balls:
    """A bound of sup_x |B W̃ v(x)| for rows B, on two events for each."""
    if not isinstance(layer, RandomLayer):
        return shaken_inputs(layer, rows, moved.delta, u)
    return noise_over(moved, layer.deviations(rows)[0], u)


def shaken_inputs(layer: Layer, rows: Balls, delta: Balls, u: arb) -> Balls:
    """A bound of sup |B W̃ v| over |v| ≤ δ for rows B, on one event for each."""
    if still(delta):
        return zeros(len(rows))
    if not isinstance(layer, RandomLayer):
        return mean_size() * (layer.deviations(rows) @ delta) + u * layer.steepest(rows, delta)
    return noise_over_inputs(delta, layer.deviations(rows)[0], u)


def movement(rows: Balls, layers: Sequence[Layer], radius: Balls, moved: Sequence[Moved], u: arb) -> Balls:
    """Bounds of |B·(a_l(x) − a_l(x_c))|, for rows B of the last layer; `movement_events` for each."""
    total = zeros(len(rows))
    if still(radius):
        return total
    for depth in reversed(range(1, len(layers))):
        noise = shaken(layers[depth], rows, read(depth, layers, radius, moved), u)
        rows = layers[depth].product(rows)
        total = total + noise + size(rows) @ moved[depth - 1].unknown
        rows = rows * moved[depth - 1].theta
    return total + movement_of_inputs(rows, layers[0], radius, u)


def movement_of_inputs(
    rows: Balls, layer: Layer, radius: Balls, u: arb, shaking: Balls | None = None
) -> Balls:
    """A bound of E_N |(B + N) W (x − x_c)|, for rows B of the first layer; one event for each (9.3).

    Args:
        rows: B.
        layer: W's law.
        radius: of the region.
        u: width of the events.
        shaking: deviations of independent normals N that are added to the rows; None for none.
    """
    if still(radius):
        return zeros(len(rows))
    if not isinstance(layer, RandomLayer):
        if shaking is not None:
            raise Unproven("rows are shaken only where weights are independent")
        means: Balls = folded_means(layer.product(rows), layer.deviations(rows)) @ radius
        return means + u * layer.steepest(rows, radius)
    if ctx.prec <= floats.FLOAT_PRECISION:
        return floats.movement_of_inputs(rows, layer.in_floats, radius, u, shaking)
    deviation, _ = layer.deviations(rows)
    average, variance = deviation, deviation * deviation
    beyond, lipschitz = zeros(len(rows)), variance @ (radius * radius)
    if shaking is not None:
        widest, steepest = radius * layer.widest, greatest(shaking)
        average = root(variance + times(shaking * shaking, layer.square))
        beyond = steepest * widest.sum() / arb.pi()
        lipschitz = lipschitz + steepest * steepest * (widest * widest).sum()
    mean: Balls = folded_means(times(rows, layer.mean), average) @ radius
    return mean + beyond + u * root(lipschitz)


def mean_size() -> arb:
    """E |Z| = √(2/π)."""
    return (2 / arb.pi()).sqrt()


def smaller(a: Balls, b: Balls) -> Balls:
    """Of two upper bounds the smaller one, entry by entry."""
    return np.array([x if x.upper() <= y.upper() else y for x, y in zip(a, b, strict=True)], dtype=object)
