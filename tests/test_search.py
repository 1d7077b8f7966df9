import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedcert.search import BestFirst, exhaustive, exhaustive_within, heaviest_first

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


@pytest.mark.slow
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


KEYED = st.lists(st.integers(-3, 3), min_size=1, max_size=30)


@given(KEYED)
def test_the_best_comes_first_and_equals_in_the_order_in_which_they_were_added(keys: list[int]) -> None:
    """Sorting in Python is stable: the oracle."""
    nodes = list(enumerate(keys))
    frontier = BestFirst(lambda node: node[1], nodes[0])
    frontier.add(*nodes[1:])
    assert list(frontier) == sorted(nodes, key=lambda node: node[1])


@given(st.integers(0, 6), st.integers(0, 80))
def test_nodes_added_on_the_way_take_their_places(depth: int, budget: int) -> None:
    """Halves of intervals, the longest first: whenever it stops, done and waiting ones tile the root."""
    frontier = BestFirst(lambda node: node[0] - node[1], (0, 2**depth))
    done = []
    for low, high in itertools.islice(frontier, budget):
        if high - low == 1:
            done.append((low, high))
        else:
            frontier.add((low, (low + high) // 2), ((low + high) // 2, high))
    assert len(frontier) == len(frontier.waiting)
    ends = sorted([*done, *frontier.waiting])
    assert ends[0][0] == 0
    assert ends[-1][1] == 2**depth
    assert all(before[1] == after[0] for before, after in itertools.pairwise(ends))
    assert bool(frontier) == (budget < 2 ** (depth + 1) - 1)


def test_the_budget_takes_no_node_that_is_not_looked_at() -> None:
    frontier = BestFirst(abs, 3)
    frontier.add(1, 2)
    assert list(itertools.islice(frontier, 1)) == [1]
    assert sorted(frontier.waiting) == [2, 3]
    assert next(frontier) == 2


def test_keys_are_computed_once_and_nodes_need_no_order() -> None:
    asked = []

    def key(node: dict[str, int]) -> int:
        asked.append(node["place"])
        return 0

    frontier = BestFirst(key, {"place": 0})
    frontier.add({"place": 1}, {"place": 2})
    assert [node["place"] for node in frontier] == [0, 1, 2]
    assert asked == [0, 1, 2]
