import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedcert.search import exhaustive, exhaustive_within, heaviest_first

MASSES = st.lists(
    st.lists(st.one_of(st.floats(-50, 0), st.sampled_from([-1.0, -math.inf])), min_size=0, max_size=4),
    min_size=1,
    max_size=4,
)
SEARCHES = {"exhaustive": exhaustive, "heaviest-first": heaviest_first}


def mass(log_masses, k) -> float:
    return sum(m[i] for m, i in zip(log_masses, k, strict=True))


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@given(MASSES)
def test_every_tuple_comes_exactly_once(search, log_masses) -> None:
    found = list(search(log_masses))
    assert sorted(found) == sorted(itertools.product(*(range(len(m)) for m in log_masses)))


@given(MASSES)
def test_heaviest_first_equals_sorting_the_full_product(log_masses) -> None:
    full = itertools.product(*(range(len(m)) for m in log_masses))
    by_mass = sorted((mass(log_masses, k) for k in full), reverse=True)
    assert [mass(log_masses, k) for k in heaviest_first(log_masses)] == by_mass


def test_heaviest_first_is_lazy() -> None:
    """8^40 tuples could never be listed; the first ones come at once."""
    log_masses = [[-float(k) for k in range(8)] for _ in range(40)]
    first = list(itertools.islice(heaviest_first(log_masses), 1000))
    assert len(set(first)) == 1000
    assert first[0] == (0,) * 40
    assert [mass(log_masses, k) for k in first] == sorted((mass(log_masses, k) for k in first), reverse=True)


@pytest.mark.parametrize(("budget", "expected"), [(6, (0, 0)), (5, (1, 2))])
def test_tuples_are_enumerated_where_they_fit_the_budget(budget: int, expected: tuple[int, int]) -> None:
    log_masses = [[-5.0, -1.0], [-3.0, -2.0, -1.0]]
    assert next(exhaustive_within(budget)(log_masses)) == expected
