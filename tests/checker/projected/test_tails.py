"""Sums of the clients' projections: counted one by one, and against the normal law."""

from itertools import product

import pytest
from balls import between
from flint import arb

from fedcert_check.balls import interval_mass, tail
from fedcert_check.projected.layers import Unproven
from fedcert_check.projected.tails import COVERED_DEVIATIONS, MAX_COUNTED_CLIENTS, Projections, total

CLIENTS = [(1.0,), (1.0, 1.0), (0.3, 2.0, 1.1), (1e-6, 1.0), (0.0, 1.0), (0.0, 0.5, 0.0, 1.0)]
NAN = arb("nan")


def balls(numbers: tuple[float, ...]) -> list[arb]:
    return [arb(v) for v in numbers]


def tail_of(cells: int, g: arb, deviations: list[arb]) -> arb:
    """The tail with cells of the least width that is enough."""
    way = Projections(cells)
    return way.tail(g, deviations, way.step(deviations))


@pytest.mark.parametrize("deviations", CLIENTS)
@pytest.mark.parametrize("cells", [0, 1, 2, 3, 8, 64])
def test_a_tail_is_above_that_of_the_normal_law(cells: int, deviations: tuple[float, ...]) -> None:
    s = balls(deviations)
    for z in (0.0, 1e-9, 0.5, 2.0, 5.0, 7.0):
        g = z * total(s)
        found = tail_of(cells, g, s)
        assert found.upper() >= tail(g / total(s)).lower()
        assert cells or z == 0 or found.overlaps(tail(g / total(s)))


@pytest.mark.parametrize("deviations", [own for own in CLIENTS if len(own) <= 3])
@pytest.mark.parametrize("cells", [2, 3, 7])
def test_counting_with_polynomials_is_counting_one_by_one(cells: int, deviations: tuple[float, ...]) -> None:
    way, s = Projections(cells), balls(deviations)
    step, g = way.step(s), 1.5 * total(s)
    reached = arb(0)
    tables = []
    for own in s:
        if own == 0:
            tables.append({0: arb(1)})
            continue
        first = 0
        while not first * step >= COVERED_DEVIATIONS * own:
            first += 1
        cut = range(-first, first)
        masses = {k: interval_mass(k * step / own, (k + 1) * step / own) for k in cut}
        tables.append({**masses, first: tail(first * step / own)})
    for choice in product(*tables):
        if sum(choice) * step + g >= 0:
            mass = arb(1)
            for table, k in zip(tables, choice, strict=True):
                mass *= table[k]
            reached += mass
    assert abs(way._count(g, s, step) - (1 - reached)) < 1e-14


def test_a_client_without_noise_changes_nothing() -> None:
    for cells in (0, 2, 64):
        way = Projections(cells)
        step = way.step(balls((1.0,)))
        alone = way.tail(arb(2), balls((1.0,)), step)
        joined = way.tail(arb(2), balls((1.0, 0.0)), step)
        assert joined.is_finite()
        assert cells == 0 or abs(alone - joined) < 1e-12


@pytest.mark.parametrize("cells", [0, 1, 8, 64])
@pytest.mark.parametrize("bad", [NAN, arb("inf"), arb(0, float("inf"))], ids=str)
@pytest.mark.parametrize("place", [0, 1])
def test_deviations_without_a_bound_prove_nothing(cells: int, bad: arb, place: int) -> None:
    s = balls((1.0, 2.0))
    s[place] = bad
    for found in (
        lambda: tail_of(cells, arb(2), s),
        lambda: arb(1) / Projections(cells).width(arb(2), s),
    ):
        try:
            value = found()
        except Unproven:
            continue
        assert not value.is_finite() or value <= 0 or value >= tail(arb(0))


@pytest.mark.parametrize("cells", [0, 1, 8])
@pytest.mark.parametrize("g", [arb(0), arb(-1), NAN, between(-1, 1)], ids=str)
def test_a_margin_that_is_not_positive_proves_nothing(cells: int, g: arb) -> None:
    assert tail_of(cells, g, balls((1.0, 1.0))) == 1


@pytest.mark.parametrize("deviations", CLIENTS)
@pytest.mark.parametrize("cells", [0, 1, 2, 64])
def test_a_width_costs_no_more_than_its_price(cells: int, deviations: tuple[float, ...]) -> None:
    way, s = Projections(cells), balls(deviations)
    for kappa in (0.5, 3.0, 6.0):
        true = tail(way.width(arb(kappa), s) / total(s))
        assert true.lower() <= way.price(arb(kappa), len(s)).upper()


def test_many_clients_are_bounded_and_not_counted() -> None:
    s = [arb(1)] * (MAX_COUNTED_CLIENTS + 1)
    way = Projections(64)
    found = way.tail(arb(30), s, way.step(s))
    rest = arb(30) - len(s) * way.step(s)
    assert found.overlaps(tail(rest / total(s)) + len(s) * tail(arb(COVERED_DEVIATIONS)))
