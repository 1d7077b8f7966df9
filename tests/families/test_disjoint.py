from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform
from torch import Tensor

from fedcert.families import disjoint
from fedcert.families.disjoint import PAIR, comparisons, first_overlap
from fedcert.numerics.box import Box, overlap
from fedcert.randomness import stream


def overlapping(boxes: Box, member: Tensor) -> set[tuple[int, int]]:
    """All pairs of cells of one property that share interior points, by the definition."""
    return {
        (i, k)
        for row in member
        for i, k in combinations(row.nonzero().squeeze(-1).tolist(), 2)
        if overlap(boxes[i], boxes[k])
    }


@given(
    seed=st.integers(0, 2**32),
    cells=st.integers(0, 9),
    properties=st.integers(0, 4),
    dimension=st.integers(1, 3),
    pairs=st.sampled_from([1, 5, 100]),
)
def test_an_overlap_is_found_where_there_is_one(
    seed: int, cells: int, properties: int, dimension: int, pairs: int
) -> None:
    """Corners on a small grid touch and coincide; boxes of no width are among them."""
    generator = stream(seed, "disjoint")
    lower = (4 * uniform(generator, cells, dimension)).floor()
    boxes = Box(lower, lower + (3 * uniform(generator, cells, dimension)).floor())
    member = uniform(generator, properties, cells) < 0.4
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"PAIRS": pairs, "ELEMENTS": 2, "FIRST_COLUMNS": 1, "MOST_COLUMNS": 2}.items():
            patch.setattr(disjoint, name, value)
        found = first_overlap(boxes, member)
    expected = overlapping(boxes, member)
    assert found in expected if expected else found is None


def test_cells_that_part_in_the_last_coordinate_alone_are_disjoint() -> None:
    boxes = Box(torch.zeros(40, 700).double(), torch.ones(40, 700).double())
    boxes.lower[:, -1] = torch.arange(40)
    boxes.upper[:, -1] = boxes.lower[:, -1] + 1
    everyone = torch.ones(2, 40, dtype=torch.bool)
    assert first_overlap(boxes, everyone) is None
    boxes.upper[17, -1] += 0.5
    assert first_overlap(boxes, everyone) == (17, 18)


def test_a_pair_that_serves_several_properties_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def count(boxes: Box, earlier: Tensor, later: Tensor) -> Tensor:
        compared.extend(zip(earlier.tolist(), later.tolist(), strict=True))
        return earlier[:0]

    monkeypatch.setattr(disjoint, "_clashes", count)
    member = torch.tensor([[True, True, False, True], [True, True, True, False]]).repeat(50, 1)
    assert first_overlap(Box.point(normal(stream(0, "cells"), 4, 2)), member) is None
    assert sorted(compared) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]


def test_comparisons_are_counted_property_by_property() -> None:
    member = torch.tensor([
        [True, True, True, False],
        [False, False, True, True],
        [False, False, False, True],
    ])
    assert comparisons(member, 1000) == (3 + 1) * 1000
    assert comparisons(member, 1) == (3 + 1) * PAIR
    assert comparisons(member[:, :0], 7) == 0
