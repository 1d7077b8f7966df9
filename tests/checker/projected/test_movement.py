"""Movement in balls: formulas by hand, and the fast path's numbers, which must be a hair wider."""

import numpy as np
import pytest
from agreement import Both, both, upper_bound
from balls import array, between
from flint import arb

from fedcert.families.projected import spread as fast
from fedcert_check.balls import exact, tail
from fedcert_check.projected.folded import folded_mean
from fedcert_check.projected.layers import unit
from fedcert_check.projected.movement import (
    Moved,
    movement,
    movement_of_inputs,
    noise_over,
    noise_over_inputs,
    read,
    smaller,
    still,
)


def test_a_neuron_moves_by_its_sign() -> None:
    moved = Moved(array(1, 2, 4), np.array([1, -1, 0], dtype=np.int8))
    assert moved.theta.tolist() == [1, 0, 0.5]
    assert moved.activations.tolist() == [1, 0, 4]
    assert moved.unknown.tolist() == [0, 0, 2]
    assert moved.steepness.tolist() == [1, 0, 1]


def test_noise_over_inputs_is_its_formula() -> None:
    (found,) = noise_over_inputs(array(3, 4), exact(np.array([[1.0, 2.0]])), arb(5))
    assert found.overlaps((2 / arb.pi()).sqrt() * 11 + 5 * arb(9 + 64).sqrt())


def test_only_a_single_input_is_still() -> None:
    assert still(array(0, 0))
    assert not still(array(0, 1e-300))
    assert not still(array(0, between(-1, 1)))
    assert not still(array(arb("nan"), 0))


@pytest.mark.parametrize(
    ("a", "b"), [(arb("nan"), arb(1)), (arb(1), arb("nan")), (arb(1), arb("inf")), (arb(2), between(-3, 5))]
)
def test_the_smaller_bound_is_one_of_the_two_and_no_nan_where_one_would_be_missed(a: arb, b: arb) -> None:
    (found,) = smaller(array(a), array(b))
    assert found is a or found is b
    assert not (found.is_finite() and not (a.upper() >= found.upper() or b.upper() >= found.upper()))


def test_a_network_of_one_layer_moves_by_its_rows_and_their_noise() -> None:
    pair = both(1, 1)
    layer, radius = pair.layers[0], pair.region.radius
    W = np.array(layer.mean.entries(), dtype=object).reshape(layer.outputs, -1)
    S = np.array([v.sqrt() for v in layer.variance.entries()], dtype=object).reshape(W.shape)
    for found, weights, scales in zip(
        movement(unit(len(W)), pair.layers, radius, (), arb(3)), W, S, strict=True
    ):
        widths = [s * r for s, r in zip(scales, radius, strict=True)]
        average = sum(
            (folded_mean(w, s) * r for w, s, r in zip(weights, scales, radius, strict=True)), arb(0)
        )
        bound = average + 3 * sum((v * v for v in widths), arb(0)).sqrt()
        assert bound <= found <= bound * (1 + arb(1e-14))


def test_shaken_rows_move_on_average_as_samples_do() -> None:
    """E_N sup |(B + N) W v| over the weights: what is said to hold but for Q(u) holds as often."""
    pair, random = both(1, 2), np.random.default_rng(0)
    layer, radius, u = pair.layers[0], pair.region.radius, 1.5
    shape = layer.outputs, layer.mean.ncols()
    M = np.array([float(v) for v in layer.mean.entries()]).reshape(shape)
    S = np.array([float(v.sqrt()) for v in layer.variance.entries()]).reshape(shape)
    rows, shaking = random.normal(size=(1, shape[0])), 0.5 * random.uniform(size=(1, shape[0]))
    (bound,) = movement_of_inputs(exact(rows), layer, radius, arb(u), exact(shaking))
    delta = np.array([float(v) for v in radius])
    noise = rows + shaking * random.normal(size=(4000, shape[0]))
    means = [(np.abs(noise @ (M + S * random.normal(size=shape))) @ delta).mean() for _ in range(1000)]
    assert np.mean(np.array(means) > float(bound)) < float(tail(arb(u))) + 0.03
    (still_rows,) = movement_of_inputs(exact(rows), layer, radius, arb(u))
    assert bound > still_rows


def moved_alike(pair: Both) -> list[Moved]:
    """The fast path's movement of each hidden layer, in balls."""
    return [
        Moved(exact(own.radius[0].numpy()), (2 * own.slope[0].numpy() - 1).astype(np.int8))
        for own in pair.spreads
    ]


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_movement_is_that_of_the_fast_path(seed: int, depth: int) -> None:
    pair = both(seed, depth)
    moved = moved_alike(pair)
    u = arb(pair.u.item())
    found = movement(pair.region.C, pair.layers, pair.region.radius, moved, u)
    upper_bound(
        found, fast.movement(pair.properties.C, pair.fast_layers, pair.radius, pair.spreads, pair.u)[0]
    )
    first = unit(pair.layers[0].outputs)
    rows = pair.unit(0)
    upper_bound(
        movement_of_inputs(first, pair.layers[0], pair.region.radius, u),
        pair.fast_layers[0].movement(rows, pair.radius, pair.u)[0],
    )
    for place in range(1, depth):
        rows = pair.unit(place)
        noise, _ = pair.layers[place].deviations(unit(pair.layers[place].outputs))
        own = pair.fast_layers[place].noise(rows)
        for mine, theirs in zip(noise, own.weight[0], strict=True):
            upper_bound(mine, theirs)
        upper_bound(
            noise_over(read(place, pair.layers, pair.region.radius, moved), noise, u),
            own.over_moved(fast.read(place, pair.fast_layers, pair.radius, pair.spreads), pair.u)[0],
        )


def test_nothing_moves_from_a_single_input() -> None:
    pair = both(0, 3, radius=0.0)
    moved = [Moved(v.radius * 0, v.sign) for v in moved_alike(pair)]
    assert all(v == 0 for v in movement(pair.region.C, pair.layers, pair.region.radius, moved, arb(9)))
