"""Every number of the operands leads into the enclosure of the result, in rational arithmetic."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import torch
from balls import precision
from flint import arb
from hypothesis import example, given
from hypothesis import strategies as st

from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.gaussian import tail

AWKWARD = [0.0, -0.0, 5e-324, -5e-324, 1e-160, -1e-160, 2.0**-1022, 1.0, -1.0, 1e160, 1.7e308, -1.7e308]
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(AWKWARD)
ENDS = FLOATS | st.sampled_from([math.inf, -math.inf])


@st.composite
def enclosures(draw: st.DrawFn) -> tuple[Enclosure, list[Fraction]]:
    """An enclosure, perhaps without an end, and some numbers of it."""
    inside = draw(FLOATS)
    low, high = min(draw(ENDS), inside), max(draw(ENDS), inside)
    numbers = {Fraction(x) for x in (inside, low, high) if math.isfinite(x)}
    numbers |= {(a + b) / 2 for a in numbers for b in numbers}
    return Enclosure.between(low, high), sorted(numbers)


Given = tuple[Enclosure, list[Fraction]]


def holds(found: Enclosure, x: Fraction | arb) -> bool:
    """Whether a number lies between the ends."""
    low, high = found.lower.item(), found.upper.item()
    if isinstance(x, Fraction):
        return (low == -math.inf or Fraction(low) <= x) and (high == math.inf or x <= Fraction(high))
    return not (arb(low) > x or arb(high) < x)


@pytest.mark.parametrize(
    "operation",
    [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y],
    ids=["sum", "difference", "product", "quotient"],
)
@given(enclosures(), enclosures())
def test_arithmetic_encloses_all_results(operation: Callable, one: Given, other: Given) -> None:
    found = operation(one[0], other[0])
    for x in one[1]:
        for y in other[1]:
            try:
                exact = operation(x, y)
            except ZeroDivisionError:
                continue
            assert holds(found, exact)


@given(enclosures(), st.floats(-2, 2), st.floats(-2, 2))
def test_functions_enclose_all_values(own: Given, a: float, b: float) -> None:
    X, numbers = own
    least, most = min(a, b), max(a, b)
    for x in numbers:
        assert holds(X.size(), abs(x))
        assert holds(X.square(), x * x)
        assert holds(-X, -x)
        assert holds(X.clamp(least, most), min(max(x, Fraction(least)), Fraction(most)))
        if x >= 0:
            root = X.sqrt()
            assert Fraction(root.lower.item()) ** 2 <= x
            assert root.upper.item() == math.inf or x <= Fraction(root.upper.item()) ** 2


@given(enclosures())
@example((Enclosure.between(-1e-300, 1e-300), [Fraction(0)]))
def test_functions_without_a_rational_value_enclose_it(own: Given) -> None:
    X, numbers = own
    with precision(2000):
        for number in numbers:
            x = arb(number.numerator) / arb(number.denominator)
            if abs(number) < 1000:
                assert holds(X.exp(), x.exp())
            if number > 0:
                assert holds(X.log(), x.log())
            if abs(number) < 40:
                assert holds(tail(X), (x / arb(2).sqrt()).erfc() / 2)


@pytest.mark.slow
@given(st.lists(FLOATS, min_size=1, max_size=6))
def test_sums_and_norms_hold_at_any_magnitude(values: list[float]) -> None:
    X = Enclosure.exactly(torch.tensor(values, dtype=torch.float64))
    assert holds(X.sum(), sum(map(Fraction, values)))
    square, norm = sum(Fraction(v) ** 2 for v in values), X.norm()
    assert Fraction(norm.lower.item()) ** 2 <= square
    assert norm.upper.item() == math.inf or square <= Fraction(norm.upper.item()) ** 2


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_a_mean_lies_between_its_ends_which_are_close(values: list[float]) -> None:
    mean = sum(map(Fraction, values)) / len(values)
    found = Enclosure.exactly(torch.tensor(values, dtype=torch.float64)).mean()
    assert holds(found, mean)
    assert found.upper.item() - found.lower.item() < 1e-12


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-100, 1.0, 1e100, 1e200, 1e300])
def test_a_norm_is_tight_where_squares_are_not_floats(size: float) -> None:
    norm = Enclosure.exactly(torch.tensor([3 * size, 4 * size], dtype=torch.float64)).norm()
    assert norm.lower.item() > 5 * size * 0.99
    assert norm.upper.item() < 5 * size * 1.01


def test_what_is_no_number_bounds_nothing() -> None:
    nothing = Enclosure.exactly(math.nan)
    assert (nothing.lower.item(), nothing.upper.item()) == (-math.inf, math.inf)
    for known in (Enclosure.exactly(math.inf), Enclosure.around(*torch.tensor([math.inf, 0.0]).double())):
        assert (known.lower.item(), known.upper.item()) == (-math.inf, math.inf)
    assert not (nothing <= 1.0)
    assert not (nothing >= 0.0)


def test_a_divisor_near_zero_widens_the_quotient_on_the_safe_side_alone() -> None:
    quotient = Enclosure.exactly(-1.0) / Enclosure.between(-0.0, 1e-160)
    assert quotient.lower.item() == -math.inf
    assert quotient.upper.item() < -0.9e160


def test_comparisons_are_proofs() -> None:
    X = Enclosure.between(1.0, 2.0)
    assert bool(X > 0.5)
    assert bool(X <= 2.0)
    assert not bool(X > 1.5)
    assert not bool(X < 1.5)
    assert bool(Enclosure.exactly(2.5) > X)
    assert bool(X.where(torch.tensor(False), 3.0) >= 3.0)
