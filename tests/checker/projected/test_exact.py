"""The bound with the first layer's law exact, in balls: prices, lies, and the fast path's numbers."""

from dataclasses import fields, replace

import numpy as np
import pytest
from agreement import Both, both, lower_bound, upper_bound
from balls import array
from flint import arb

from fedcert_check.balls import ZERO, tail
from fedcert_check.projected import exact
from fedcert_check.projected.constraint_tails import TailChoice, row_tail
from fedcert_check.projected.exact import Choices, Region, first_law, violation, width
from fedcert_check.projected.forms import Form, Known
from fedcert_check.projected.layers import Unproven, unit
from fedcert_check.projected.movement import Moved, movement

NAN = arb("nan")


def uniform(pair: Both, ranges: float, moving: float, deviating: float) -> Choices:
    """The same failure probabilities everywhere, and no neuron of known sign."""
    widths = [layer.outputs for layer in pair.layers[:-1]]
    deep = widths[1:]
    return Choices(
        np.full(max(1, len(widths)), ranges),
        np.full(len(pair.layers), moving),
        np.full(len(pair.layers), deviating),
        [np.zeros(w, dtype=np.int8) for w in widths],
        [np.zeros(w) for w in deep],
        [np.full(w, 0.5) for w in deep],
        [np.full(2 * w, 5.0) for w in deep],
        [np.full(w, 5.0) for w in deep],
        [np.zeros(2 * w) for w in deep],
        [np.full(2 * w, 2.0) for w in deep],
        [TailChoice(1.0, 1.0, 1.0, 100, (5.0,) * (len(deep)))] * 2,
    )


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_every_event_is_paid(depth: int) -> None:
    """The prices of docs/soundness.md, 9.9, where no neuron keeps its sign."""
    pair = both(5, depth, scale=0.01)
    ranges, moving, deviating = 1e-7, 1e-9, 1e-11
    _, price = violation(pair.layers, pair.region, uniform(pair, ranges, moving, deviating))
    moving, deviating = (float(tail((-2 * arb(f).log()).sqrt())) for f in (moving, deviating))
    due = 2 * moving
    if depth > 1:
        due = pair.layers[0].outputs * moving
        for place, layer in enumerate(pair.layers[1:-1], start=2):
            due += layer.outputs * (4 * (3 * place - 2) * moving + max(2, 2 * (place - 2) + 1) * deviating)
            due += layer.outputs * (2 * ranges + 1e-11)
        due += 2 * ((3 * depth - 2) * moving + (depth - 2) * deviating)
        due += 2 * sum(1e-11 + before * deviating for before in range(depth - 2))
    assert float(price) == pytest.approx(due, rel=1e-12)


@pytest.mark.parametrize(("depth", "reach"), [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.0), (3, 1.0), (4, 0.5)])
@pytest.mark.parametrize("seed", range(3))
def test_tails_and_prices_are_those_of_the_fast_path(seed: int, depth: int, reach: float) -> None:
    pair = replace(both(seed, depth, scale=0.02), reach=reach)
    tails, price = violation(pair.layers, pair.region, pair.choices())
    found, _ = pair.found
    upper_bound(array(price), found.events)
    for mine, theirs in zip(tails, found.tails[0].tolist(), strict=True):
        assert mine <= arb(theirs)
        assert theirs - mine < 1e-5 if depth == 1 else abs(mine - theirs) < 1e-8


@pytest.mark.parametrize("depth", [3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_hidden_layers_are_those_of_the_fast_path(seed: int, depth: int) -> None:
    pair = both(seed, depth, scale=0.02)
    choices, theirs = pair.choices(), pair.known
    u = [width(v) for v in choices.movement]
    mean, deviation = first_law(pair.layers[0], pair.region.centre)
    first = movement(unit(pair.layers[0].outputs), pair.layers[:1], pair.region.radius, (), u[0])
    moved = (Moved(first, choices.sign[0]),)
    wide = width(choices.deviation[1])
    known = Known(mean, deviation, pair.region.radius, moved, (), u[1], wide)
    for place in range(1, depth - 1):
        known, _ = exact._next_layer(pair.layers[: place + 1], known, choices, place)
    for mine, other in zip(known.moved, theirs.spreads, strict=True):
        upper_bound(mine.radius, other.radius[0])
    for mine, other in zip(known.hidden, theirs.hidden, strict=True):
        upper_bound(mine.deviation, other.deviation[0])
        lower_bound(-mine.mean, -other.mean[0], 1)
        lower_bound(-mine.lines.height, -other.lines.height[0], 1)


def test_one_layer_is_a_half_space() -> None:
    pair = both(1, 1, radius=0.0)
    mean, deviation = first_law(pair.layers[0], pair.region.centre)
    tails, _ = violation(pair.layers, pair.region, pair.choices())
    for row, d, found in zip(pair.region.C, pair.region.d, tails, strict=True):
        margin = sum((c * m for c, m in zip(row, mean, strict=True)), d)
        spread = sum(((c * t) ** 2 for c, t in zip(row, deviation, strict=True)), ZERO).sqrt()
        assert found.overlaps(tail(margin / spread))


def test_a_sign_costs_what_its_flip_is_worth() -> None:
    pair = both(2, 2, scale=0.02)
    true = pair.choices()
    _, least = violation(pair.layers, pair.region, replace(true, sign=[true.sign[0] * 0]))
    mean, deviation = first_law(pair.layers[0], pair.region.centre)
    D = movement(unit(len(mean)), pair.layers[:1], pair.region.radius, (), width(true.movement[0]))
    for k in range(len(mean)):
        for sign in (-1, 1):
            signs = np.zeros(len(mean), dtype=np.int8)
            signs[k] = sign
            _, price = violation(pair.layers, pair.region, replace(true, sign=[signs]))
            assert (price - least).overlaps(tail((sign * mean[k] - D[k]) / deviation[k]))


@pytest.mark.slow
@pytest.mark.parametrize("depth", [3, 4])
def test_a_lie_about_a_deep_sign_costs_more_than_it_gains(depth: int) -> None:
    pair = both(1, depth, scale=0.002, sigmas=6.0)
    true = pair.choices()
    assert any(own.any() for own in true.sign[1:])
    tails, events = violation(pair.layers, pair.region, true)
    honest = float((sum(tails, events)).upper())
    for place in range(1, depth - 1):
        for k in np.flatnonzero(true.sign[place]):
            signs = [own.copy() for own in true.sign]
            signs[place][k] *= -1
            tails, events = violation(pair.layers, pair.region, replace(true, sign=signs))
            assert not events < 0.3
            assert honest < 0.3


def test_only_one_constraint_can_be_asked_for() -> None:
    """Each is an upper bound: they may differ in the last bits, where a direction was rounded otherwise."""
    pair = both(1, 3)
    choices = pair.choices()
    tails, events = violation(pair.layers, pair.region, choices)
    for r in range(2):
        (own,), fewer = violation(pair.layers, pair.region, choices, only=r)
        assert float(own) == pytest.approx(float(tails[r]), rel=1e-15)
        assert fewer < events


@pytest.mark.parametrize(
    ("name", "rate"),
    [("rate", 0.0), ("rate", -1.0), ("mean_rate", 0.0), ("mean_rate", -1.0)],
)
def test_a_rate_that_is_of_no_use_proves_nothing(name: str, rate: float) -> None:
    pair = both(1, 3)
    choices = pair.choices()
    spoiled = replace(
        choices,
        sign=[choices.sign[0], choices.sign[1] * 0],
        **{name: [np.full_like(own, rate) for own in getattr(choices, name)]},
    )
    with pytest.raises(Unproven):
        violation(pair.layers, pair.region, spoiled)


def test_ranges_of_a_rate_that_is_much_too_large_prove_nothing() -> None:
    pair = both(1, 3)
    choices = pair.choices()
    unknown = [choices.sign[0], choices.sign[1] * 0]
    spoiled = replace(choices, sign=unknown, rate=[np.full_like(own, 1e300) for own in choices.rate])
    tails, _ = violation(pair.layers, pair.region, spoiled)
    assert all(not tail < 1 for tail in tails)


def tail_of(given: Form, unit_of: float = 1.0) -> arb:
    """The tail of the only row, whose mean and deviation are about as large as the unit."""
    lowest = [own * 0.9 for own in given.later]
    return row_tail(given, 0, TailChoice(1 / unit_of, unit_of, unit_of, 100), lowest)


def form(**changes: object) -> Form:
    numbers = {
        "constant": array(0.4),
        "coefficient": array(1.0, -0.5),
        "noise": array(0.1, 0.2),
        "bias_noise": array(0.3),
        "later": (array(0.2), array(0.1)),
        "mean": array(0.5, -0.2),
        "scale": array(1.0, 0.5),
        "excess": array(0.01),
    }
    rows = {"coefficient", "noise", "mean"}
    return Form(**{n: v[None] if n in rows else v for n, v in {**numbers, **changes}.items()})


@pytest.mark.parametrize("field", [field.name for field in fields(Form)])
@pytest.mark.parametrize("bad", [NAN, arb(0, float("inf")), arb("inf")], ids=str)
def test_a_form_with_a_number_that_is_not_bounded_proves_nothing(field: str, bad: arb) -> None:
    """Wherever it stands: whole, or one of several."""
    assert tail_of(form()) < 0.5
    for place in range(2):
        good = getattr(form(), field)
        if field == "later":
            spoiled: object = tuple(array(bad) if k == place else own for k, own in enumerate(good))
        else:
            spoiled = good.ravel().copy()
            spoiled[place % len(spoiled)] = bad
        if field == "constant" and bad == arb("inf"):
            continue  # an infinite margin is safe
        try:
            found = tail_of(form(**{field: spoiled}))
        except Unproven:
            continue
        assert not found < 1


@pytest.mark.parametrize("power", [-150, -60, 60, 150])
def test_a_tail_does_not_depend_on_the_unit(power: int) -> None:
    """Nothing overflows or underflows."""
    one = tail_of(form())
    unit_of = arb(10) ** power
    changes = {n: getattr(form(), n) * unit_of for n in ("constant", "bias_noise", "excess")}
    changes |= {n: getattr(form(), n)[0] * unit_of for n in ("coefficient", "noise")}
    changes["later"] = tuple(own * unit_of for own in form().later)
    assert abs(tail_of(form(**changes), 10.0**power) - one) < 1e-9


def test_constraints_of_zeros_need_no_law() -> None:
    pair = both(3, 3, scale=1e30)
    nothing = replace(pair.region, C=pair.region.C * 0, d=array(1, -1))
    assert violation(pair.layers, nothing, both(3, 3).choices()) == ([0, 1], 0)


def test_a_region_is_its_centre_and_radius() -> None:
    region = Region.of(np.array([-1.0, 0.1]), np.array([3.0, 0.1]), np.eye(2), np.zeros(2))
    assert (region.centre[0], region.radius[0], region.radius[1]) == (1, 2, 0)
    assert region.centre[1].contains(arb(0.1))
    assert region.decided == [None, None]
