import math
from dataclasses import replace
from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform, vector

from fedcert.errors import OverlappingCells, ShapeMismatch
from fedcert.families.cells import Cells, retain_disjoint
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box, overlap
from fedcert.randomness import stream
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier


def line(*ends: tuple[float, float]) -> Box:
    return Box(vector(*(low for low, _ in ends))[:, None], vector(*(high for _, high in ends))[:, None])


def test_overlapping_cells_of_one_property_raise() -> None:
    boxes, log_mass = line((0, 2), (1, 3), (3, 4)), vector(-1, -1, -1)
    with pytest.raises(OverlappingCells, match="cells 0 and 1 overlap"):
        Cells.shared(boxes, log_mass)
    apart = torch.tensor([[True, False, True], [False, True, True]])
    assert len(Cells(boxes, log_mass, apart)) == 3
    with pytest.raises(OverlappingCells):
        Cells(boxes, log_mass, torch.tensor([[True, False, True], [True, True, False]]))


def test_duplicated_cells_raise() -> None:
    with pytest.raises(OverlappingCells):
        Cells.shared(line((0, 1), (0, 1)), vector(-1, -1))


def test_touching_cells_are_disjoint() -> None:
    assert len(Cells.shared(line((0, 1), (1, 2)), vector(-1, -1))) == 2


def test_cells_known_to_be_disjoint_are_not_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = Cells.shared(line((0, 1), (1, 2)), vector(-1, -1))

    def compare(boxes: Box, member: torch.Tensor) -> None:
        raise AssertionError("cells are compared once")

    monkeypatch.setattr("fedcert.families.cells.first_overlap", compare)
    assert torch.equal(cells.to("cpu").boxes.lower, cells.boxes.lower)
    lighter = cells.with_mass(vector(-2, -3))
    assert lighter.log_mass.tolist() == [-2, -3]
    assert torch.equal(lighter.boxes.upper, cells.boxes.upper)
    assert torch.equal(lighter.member, cells.member)


def test_other_masses_must_fit_the_cells() -> None:
    cells = Cells.shared(line((0, 1), (1, 2)), vector(-1, -1))
    with pytest.raises(ShapeMismatch, match="masses for 2 cells"):
        cells.with_mass(vector(-1))


def test_mass_adds_up_accepted_members_only_and_rounds_down() -> None:
    member = torch.tensor([[True, True, False], [True, True, True]])
    cells = Cells(line((0, 1), (1, 2), (2, 3)), vector(0.25, 0.25, 0.5).log(), member)
    accepted = torch.tensor([[True, False, True], [True, True, True]])
    mass = cells.mass(accepted)
    assert mass.tolist() == pytest.approx([0.25, 1.0], abs=1e-14)
    assert mass[1] <= 1.0
    with pytest.raises(ShapeMismatch):
        cells.mass(accepted[:, :2].repeat(2, 1))


def test_parts_must_fit() -> None:
    with pytest.raises(ShapeMismatch):
        Cells(line((0, 1)), vector(-1, -1), torch.ones(1, 2, dtype=torch.bool))
    with pytest.raises(ShapeMismatch, match="2 properties, but 3"):
        Cells(line((0, 1)), vector(-1), torch.ones(2, 1, dtype=torch.bool)).members(3)


def retained_naively(boxes: Box, order, eligible, limit: int) -> list[int]:
    kept: list[int] = []
    for k in order:
        if len(kept) < limit and eligible[k] and not any(overlap(boxes[k], boxes[j]) for j in kept):
            kept.append(k)
    return kept


class Listed:
    """Candidates that exist, and know which of them meet."""

    def __init__(self, boxes: Box) -> None:
        self.boxes = boxes

    def __len__(self) -> int:
        return len(self.boxes)

    def __getitem__(self, index: torch.Tensor) -> Box:
        return self.boxes[index]

    def meeting(self, k: int) -> torch.Tensor:
        return overlap(self.boxes[k], self.boxes)


class Careless(Listed):
    """Candidates that do not know which of them meet."""

    def meeting(self, k: int) -> torch.Tensor:
        return torch.zeros(len(self), dtype=torch.bool)


def at_least(thresholds: list[float]) -> Safe:
    """One-weight networks x ↦ w at the input 1, safe where w ≥ threshold (and the bias is 0)."""
    count = len(thresholds)
    one = torch.ones(count, 1, dtype=torch.float64)
    properties = Properties(Box.point(one), one[:, None], -vector(*thresholds)[:, None])
    return Safe(mlp(1, 1), properties, IntervalVerifier())


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32),
    limit=st.integers(1, 5),
    screened=st.booleans(),
    candidates=st.sampled_from([Listed, Careless]),
)
def test_retention_is_greedy_for_each_property(seed: int, limit: int, screened: bool, candidates) -> None:
    generator = stream(seed, "retention")
    count = 70  # more than two blocks of candidates
    weight = 4 * normal(generator, count)
    center = torch.stack([weight, torch.zeros_like(weight)], dim=-1)
    boxes = Box.around(center, 0.3 * uniform(generator, count, 1) * vector(1, 0) + vector(0, 1e-3))
    law = DiagonalGaussian(vector(0, 0), vector(2, 1))
    order = torch.randperm(count, generator=generator)
    safe = at_least([-1.0, 0.5, 100.0]) if screened else None
    cells = retain_disjoint(candidates(boxes), order, law, safe, limit)
    eligible = safe(boxes).mT if safe else torch.ones(1, count, dtype=torch.bool)
    assert torch.equal(cells.log_mass, law.log_mass(cells.boxes))
    for p, accepted in enumerate(eligible):
        expected = retained_naively(boxes, order.tolist(), accepted.tolist(), limit)
        got = cells.boxes[cells.member[p].nonzero().squeeze(-1)]
        assert torch.equal(
            got.lower.sort(0).values, boxes[torch.tensor(expected, dtype=int)].lower.sort(0).values
        )
        assert not any(overlap(a, b) for a, b in combinations([got[i] for i in range(len(got))], 2))


def test_nothing_acceptable_gives_no_cells() -> None:
    boxes = Box.around(torch.zeros(4, 2, dtype=torch.float64), 0.1)
    law = DiagonalGaussian(vector(0, 0), vector(1, 1))
    cells = retain_disjoint(Listed(boxes), torch.arange(4), law, at_least([math.pi, 4.0]), 8)
    assert len(cells) == 0
    assert cells.mass(torch.ones(2, 0, dtype=torch.bool)).tolist() == [0.0, 0.0]


def test_only_usable_candidates_are_taken() -> None:
    boxes, law = line((0, 1), (2, 3), (4, 5)), DiagonalGaussian(vector(0), vector(1))
    usable = torch.tensor([[False, True, True]])
    cells = retain_disjoint(Listed(boxes), torch.tensor([2, 0, 1]), law, None, 8, usable)
    assert cells.boxes.lower.squeeze(-1).tolist() == [4, 2]


def test_candidates_that_meet_those_taken_are_not_verified() -> None:
    asked = 0

    class Counting(IntervalVerifier):
        def __call__(self, network, boxes, properties):  # type: ignore[no-untyped-def]
            nonlocal asked
            asked += len(boxes)
            return super().__call__(network, boxes, properties)

    boxes = Box.around(torch.zeros(100, 2, dtype=torch.float64), torch.linspace(2, 1, 100).double()[:, None])
    safe = replace(at_least([-5.0, -6.0]), verifier=Counting())
    cells = retain_disjoint(
        Listed(boxes), torch.arange(100), DiagonalGaussian(vector(0, 0), vector(1, 1)), safe, 8
    )
    assert asked == len(cells) == 1


def test_cells_that_touch_at_a_fixed_parameter_count_it_once_at_most() -> None:
    """Under a law with a density faces weigh nothing; a parameter that is fixed there has all its mass."""
    law = DiagonalGaussian(vector(0.0, 0.0), vector(0.0, 1.0))
    lower, upper = (
        torch.tensor([[-1.0, -9.0], [0.0, -9.0], [0.0, -9.0]]),
        torch.tensor([[0.0, 9.0], [1.0, 9.0], [0.0, 9.0]]),
    )
    boxes = Box(lower.double(), upper.double())
    cells = Cells.shared(boxes, law.log_mass(boxes))
    assert cells.mass(torch.ones(1, 3, dtype=torch.bool)).item() <= 1
    around_it = Box(vector(-1.0, -9.0).unsqueeze(0), vector(1.0, 9.0).unsqueeze(0))
    whole = Cells.shared(around_it, law.log_mass(around_it))
    assert whole.mass(torch.ones(1, 1, dtype=torch.bool)).item() == pytest.approx(1)
