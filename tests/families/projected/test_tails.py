import math
from fractions import Fraction
from itertools import pairwise, product

import pytest
import torch
from balls import precision
from flint import arb
from oracles import normal_cdf
from problems import uniform, vector
from torch import Tensor

from fedcert.families.projected.tails import REACH, Cells, Limit, Product, Projections
from fedcert.randomness import stream

WAYS: dict[str, Projections] = {
    "limit": Limit(),
    "product": Product(),
    "cells": Cells(64),
    "few cells": Cells(8),
    "uncounted cells": Cells(64, counted_from=2.0),
}


@pytest.fixture(autouse=True)
def many_digits():
    with precision(300):
        yield


def exact_tail(g: float, deviations: Tensor) -> arb:
    """Pr(Σ P_i ≤ −g)."""
    variance = sum((arb(s) ** 2 for s in deviations.tolist()), arb(0))
    return normal_cdf(-arb(g) / variance.sqrt())


def clients(seed: int, count: int, spread: float = 10.0) -> Tensor:
    """Deviations that differ by a factor of at most `spread`."""
    return spread ** uniform(stream(seed, "clients"), count)


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_a_tail_is_an_upper_bound_of_the_normal_one(name: str, count: int) -> None:
    for seed in range(4):
        for spread in (1.0, 3.0, 1e6):
            s = clients(seed, count, spread)
            z = torch.cat([vector(0.0, 1e-9, 6.0, 7.0), 5 * uniform(stream(seed, "g"), 8)])
            g = z * s.square().sum().sqrt()
            for value, tail in zip(g, WAYS[name].tail(g, s.expand(len(g), -1)), strict=True):
                assert exact_tail(value.item(), s) <= arb(tail.item())
                assert tail <= 1


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_width_costs_its_price(name: str, count: int) -> None:
    way = WAYS[name]
    kappa = vector(0.5, 1.0, 2.0, 4.0, 6.0)
    for seed in range(3):
        s = clients(seed, count)
        widths, prices = way.width(kappa, s.expand(len(kappa), -1)), way.price(kappa, count)
        for width, price in zip(widths.tolist(), prices.tolist(), strict=True):
            assert exact_tail(width, s) <= arb(price)


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_limit_is_below_cells_and_cells_below_slabs(seed: int, count: int) -> None:
    s = clients(seed, count, 3.0)
    g = vector(0.3, 1.0, 2.0, 3.0, 4.0) * s.square().sum().sqrt()
    limit, cells, slabs = (way.tail(g, s.expand(5, -1)) for way in (Limit(), Cells(512), Product()))
    assert (limit <= cells).all()
    assert (cells <= slabs).all()
    kappa = vector(2.0, 4.0)
    widths = [way.width(kappa, s.expand(2, -1)) for way in (Limit(), Cells(512), Product())]
    assert all((narrow <= wide).all() for narrow, wide in pairwise(widths))


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("sigmas", [0.5, 1.0, 2.0, 3.0])
def test_ever_more_cells_come_down_to_the_limit(sigmas: float, count: int) -> None:
    s = clients(count, count, 2.0)
    g = sigmas * s.square().sum().sqrt().unsqueeze(0)
    tails = [Cells(K).tail(g, s.unsqueeze(0)).item() for K in (8, 32, 128, 512, 2048)]
    limit = Limit().tail(g, s.unsqueeze(0)).item()
    assert all(fine <= coarse for coarse, fine in pairwise(tails))
    assert limit <= tails[-1]
    assert tails[-1] - limit < 0.01
    assert tails[-1] - limit < (tails[0] - limit) / 50
    step = Cells(2048).step(s)
    shifted = Limit().tail(g - (count + 1) * step, s.unsqueeze(0)).item()
    assert tails[-1] <= shifted + 1e-12


def counted(cells: Cells, g: float, deviations: Tensor) -> arb:
    """1 − the mass of all tuples of cells whose lower ends add up to −g or more, one by one."""
    step = Fraction(cells.step(deviations).item())
    masses: list[dict[int, arb]] = []
    for s in deviations.tolist():
        first = math.ceil(Fraction(REACH) * Fraction(s) / step)
        own = {}
        for k in range(-first, first + 1):
            a, b = (arb(end.numerator) / end.denominator / arb(s) for end in (k * step, (k + 1) * step))
            own[k] = (normal_cdf(b) if k < first else arb(1)) - normal_cdf(a)
        masses.append(own)
    total = arb(0)
    for chosen in product(*masses):
        if sum(chosen) * step >= -Fraction(g):
            mass = arb(1)
            for k, own in zip(chosen, masses, strict=True):
                mass *= own[k]
            total += mass
    return 1 - total


@pytest.mark.parametrize(("count", "size"), [(1, 8), (2, 8), (2, 21), (3, 8), (3, 13)])
def test_counting_by_convolution_is_counting_one_by_one(count: int, size: int) -> None:
    cells = Cells(size)
    for seed in range(3):
        s = clients(seed, count, 3.0)
        for g in (4 * s.sum() * uniform(stream(seed, "g"), 3)).tolist():
            one_by_one, found = counted(cells, g, s), cells._count(g, s)
            assert one_by_one <= arb(found)
            assert found == pytest.approx(float(one_by_one), abs=1e-12)


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("g", [math.nan, -math.inf, -1.0, -1e-300, 0.0])
def test_what_is_not_positive_has_a_tail_of_one(name: str, g: float) -> None:
    assert WAYS[name].tail(vector(g), vector(1.0, 0.5).unsqueeze(0)).item() == 1.0


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_deviations_that_are_unknown_have_a_tail_of_one(name: str, bad: float) -> None:
    assert WAYS[name].tail(vector(1.0), vector(1.0, bad).unsqueeze(0)).item() == 1.0
    assert not WAYS[name].width(vector(1.0), vector(1.0, bad).unsqueeze(0)).item() < math.inf


@pytest.mark.parametrize("name", WAYS)
def test_a_client_without_noise_adds_nothing_but_a_cell(name: str) -> None:
    g, s = vector(2.0), vector(1.0, 0.0).unsqueeze(0)
    tail = WAYS[name].tail(g, s).item()
    assert exact_tail(2.0, s[0]) <= arb(tail)
    assert tail < 0.9 or name == "few cells"
    assert WAYS[name].tail(g, vector(0.0, 0.0).unsqueeze(0)).item() < 1e-9


@pytest.mark.parametrize("name", WAYS)
def test_rows_are_bounded_one_by_one(name: str) -> None:
    generator = stream(9, "rows")
    g, s = 3 * uniform(generator, 2, 3), 0.2 + uniform(generator, 2, 3, 4)
    together = WAYS[name].tail(g, s)
    for i, j in product(range(2), range(3)):
        assert WAYS[name].tail(g[i, j], s[i, j]).item() == pytest.approx(together[i, j].item(), rel=1e-12)
