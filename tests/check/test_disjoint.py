"""Which boxes, tuples and products of sets are disjoint."""

import numpy as np
import pytest

from fedcert.check.disjoint import overlapping, require_disjoint_cells, require_disjoint_nodes
from fedcert.errors import InvalidCertificate


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
