"""Search: which tuples of cells to try, in which order. The budget is the caller's."""

import heapq
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Protocol, runtime_checkable


@runtime_checkable
class Search(Protocol):
    """Yields distinct tuples (k_1, …, k_n) of cell indices, one index a client."""

    def __call__(self, log_masses: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
        """Search the product of the clients' cells, given their log masses."""
        ...


def exhaustive(log_masses: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
    """Every tuple, in lexicographic order."""
    return product(*(range(len(masses)) for masses in log_masses))


def heaviest_first(log_masses: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
    """Every tuple, in the order of falling joint mass Π p_{i,k_i}, made as they are asked for.

    With each client's cells sorted, the heaviest tuple takes every client's first cell, and a tuple's
    successors move one client on to its next cell. To reach each tuple along one path only, a
    successor moves the client that its parent moved last, or a later one. The heap holds the frontier.
    """
    ranked = [sorted(range(len(m)), key=[-mass for mass in m].__getitem__) for m in log_masses]
    if not all(ranked):
        return

    def entry(ranks: tuple[int, ...], last_moved: int) -> tuple[float, tuple[int, ...], int]:
        # summed from the left, in which every addition is monotone, so no successor overtakes
        mass = sum(m[order[r]] for m, order, r in zip(log_masses, ranked, ranks, strict=True))
        return -mass, ranks, last_moved

    frontier = [entry((0,) * len(ranked), 0)]
    while frontier:
        _, ranks, last_moved = heapq.heappop(frontier)
        yield tuple(order[r] for order, r in zip(ranked, ranks, strict=True))
        for client in range(last_moved, len(ranked)):
            if ranks[client] + 1 < len(ranked[client]):
                moved = (*ranks[:client], ranks[client] + 1, *ranks[client + 1 :])
                heapq.heappush(frontier, entry(moved, client))


def exhaustive_within(budget: int) -> Search:
    """Algorithm 1's choice: every tuple where they fit the budget, otherwise the heaviest first."""

    def search(log_masses: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
        fits = prod(len(masses) for masses in log_masses) <= budget
        return exhaustive(log_masses) if fits else heaviest_first(log_masses)

    return search
