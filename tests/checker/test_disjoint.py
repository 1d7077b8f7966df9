"""Which boxes, tuples and products of sets are disjoint."""

import random
from itertools import combinations

import numpy as np
import pytest

from fedcert.errors import InvalidCertificate
from fedcert_check import disjoint
from fedcert_check.disjoint import (
    MAX_UNDIVIDED_NODES,
    Node,
    overlapping,
    require_disjoint_cells,
    require_disjoint_nodes,
)


def test_boxes_that_share_a_face_are_disjoint_and_others_are_named() -> None:
    low, high = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.5]]), np.array([[1.0, 1.0], [2.0, 1.0], [0.6, 0.6]])
    assert overlapping(low[:2], high[:2]) is None
    assert overlapping(low, high) == (0, 2)
    everyone_but = np.array([[True, True, False], [False, True, True]])
    require_disjoint_cells(low, high, everyone_but, "c")
    with pytest.raises(InvalidCertificate, match="0 and 2 of c"):
        require_disjoint_cells(low, high, np.ones((1, 3), dtype=bool), "c")


def test_nodes_must_differ_in_all_cells_of_some_client() -> None:
    def node(*sets: set[int]) -> tuple[frozenset[int], ...]:
        return tuple(frozenset(s) for s in sets)

    require_disjoint_nodes([node({0}, {1}), node({0}, {2})])
    require_disjoint_nodes([node({0, 1}, {1}), node({0}, {2, 3}), node({2}, {1, 2})])
    for bad in ([node({0}, {1}), node({0}, {1})], [node({0, 1}, {1}), node({1, 2}, {0, 1})]):
        with pytest.raises(InvalidCertificate, match="twice"):
            require_disjoint_nodes(bad)


def split_leaves(seed: int, count: int, cells: int = 40, clients: int = 3) -> list[Node]:
    """The leaves of a search that splits one client's set of a node in two, in any order."""
    generator = random.Random(seed)
    leaves: list[Node] = [tuple(frozenset(range(cells)) for _ in range(clients))]
    while len(leaves) < count:
        place = generator.randrange(len(leaves))
        node = leaves[place]
        wide = [i for i, own in enumerate(node) if len(own) > 1]
        if wide:
            i = generator.choice(wide)
            own = generator.sample(sorted(node[i]), len(node[i]))
            halves = (own[: len(own) // 2], own[len(own) // 2 :])
            del leaves[place]
            leaves.extend((*node[:i], frozenset(half), *node[i + 1 :]) for half in halves)
    generator.shuffle(leaves)
    return leaves


@pytest.mark.slow
def test_the_leaves_of_a_search_come_apart_without_comparing_all_pairs(monkeypatch) -> None:
    compared = []
    whole = disjoint._require_disjoint_pairs
    monkeypatch.setattr(
        disjoint, "_require_disjoint_pairs", lambda nodes: (compared.append(len(nodes)), whole(nodes))
    )
    require_disjoint_nodes(split_leaves(0, 4000))
    assert max(compared) <= MAX_UNDIVIDED_NODES
    assert sum(compared) == 4000


@pytest.mark.parametrize("seed", range(20))
def test_dividing_nodes_finds_the_same_as_comparing_all_pairs(seed: int) -> None:
    generator = random.Random(seed)
    nodes = split_leaves(seed, 60, 12)
    require_disjoint_nodes(nodes)
    place = generator.randrange(len(nodes))
    i = generator.randrange(3)
    grown = (*nodes[place][:i], nodes[place][i] | {generator.randrange(12)}, *nodes[place][i + 1 :])
    changed = [*nodes[:place], grown, *nodes[place + 1 :]]
    clash = any(
        all(not mine.isdisjoint(yours) for mine, yours in zip(a, b, strict=True))
        for a, b in combinations(changed, 2)
    )
    if clash:
        with pytest.raises(InvalidCertificate, match="twice"):
            require_disjoint_nodes(changed)
    else:
        require_disjoint_nodes(changed)


@pytest.mark.slow
def test_nodes_that_come_apart_one_by_one_are_compared_instead(monkeypatch) -> None:
    """Each division of such stairs touches all sets and sets one node apart."""
    stairs: list[Node] = []
    rest = (set(range(100)), set(range(100)))
    while all(len(own) > 1 for own in rest):
        stairs.append((frozenset([rest[0].pop()]), frozenset(rest[1])))
        stairs.append((frozenset(rest[0]), frozenset([rest[1].pop()])))
    divisions = []
    whole = disjoint._divided
    monkeypatch.setattr(disjoint, "_divided", lambda nodes: divisions.append(0) or whole(nodes))
    require_disjoint_nodes(stairs)
    assert len(divisions) < 10
    with pytest.raises(InvalidCertificate, match="twice"):
        require_disjoint_nodes([*stairs, (frozenset([0]), frozenset(range(100)))])


def test_nodes_that_cannot_be_divided_are_compared() -> None:
    """Four bricks around a fifth: disjoint, but no client divides them."""
    bricks = [
        (frozenset({0, 1}), frozenset({0})), (frozenset({2}), frozenset({0, 1})),
        (frozenset({1, 2}), frozenset({2})), (frozenset({0}), frozenset({1, 2})),
        (frozenset({1}), frozenset({1})),
    ]  # fmt: skip
    more = [(frozenset({k, k + 1}), frozenset({k, k + 1})) for k in range(3, 23, 2)]
    require_disjoint_nodes([*bricks, *more])
    with pytest.raises(InvalidCertificate, match="twice"):
        require_disjoint_nodes([*bricks, *more, (frozenset({0, 1, 2}), frozenset({1}))])
