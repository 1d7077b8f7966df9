"""The witness of a mixture: disjoint nodes, whose weights and choices give the bounds again."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import prod

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import vector
from torch import Tensor

from fedcert.errors import InvalidConfig
from fedcert.families.projected.choices import Choices
from fedcert.families.projected.components import Interval
from fedcert.families.projected.nodes import bounds_and_witness
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.search import IndexProduct


def point(at: float) -> DiagonalGaussian:
    return DiagonalGaussian(vector(at), vector(1.0))


def mixture(*places: float) -> GaussianMixture:
    return GaussianMixture(tuple(map(point, places)), vector(*range(1, len(places) + 1)))


class Recorder:
    """L and U that differ from call to call and property to property, and say so in their choices."""

    def __init__(self, seed: int, properties: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.properties, self.calls = properties, 0

    def __call__(self, laws: Sequence[DiagonalGaussian]) -> tuple[Interval, Choices]:
        lower, slack = (torch.rand(self.properties, generator=self.generator).double() for _ in range(2))
        lower = torch.where(lower < 0.3, torch.zeros_like(lower), lower)
        upper = torch.where(slack < 0.3, torch.ones_like(lower), lower + (1 - lower) * slack)
        self.calls += 1
        choices = {"lower": lower, "upper.upper": upper}
        if self.calls % 2:  # some bounds have choices that others do not
            choices["chain.odd"] = torch.full((self.properties, 2), float(self.calls)).double()
        return (lower, upper), choices


def nodes_of(tensors: dict[str, Tensor], prefix: str, clients: int) -> list[tuple[int, IndexProduct, int]]:
    offsets, members = (tensors[f"{prefix}nodes.{name}"].tolist() for name in ("offsets", "components"))
    sets = [tuple(members[a:b]) for a, b in pairwise(offsets)]
    owner, rows = (tensors[f"{prefix}nodes.{name}"].tolist() for name in ("property", "row"))
    return [
        (p, tuple(sets[t * clients : (t + 1) * clients]), row)
        for t, (p, row) in enumerate(zip(owner, rows, strict=True))
    ]


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 12), st.booleans())
def test_nodes_and_rows_give_the_bounds_again(seed: int, budget: int, near: bool) -> None:
    """In rational arithmetic; every tuple of no node counts with L = 0 and U = 1."""
    laws = [mixture(0.0, 0.01, 9.0), mixture(0.0, 0.02) if near else mixture(0.0, 5.0), point(0.0)]
    shares = [[Fraction(k + 1, n * (n + 1) // 2) for k in range(n)] for n in (3, 2)] + [[Fraction(1)]]
    (lower, upper), witness = bounds_and_witness(laws, Recorder(seed, 3), budget, 1e-3)
    tensors = dict(witness.tensors)
    for prefix, stated, whole in (("", lower, 0), ("upper.", upper, 1)):
        table = tensors[f"{prefix}{'upper' if whole else 'lower'}"]
        totals = [Fraction(whole)] * 3
        seen: list[set[tuple[int, ...]]] = [set(), set(), set()]
        for p, node, row in nodes_of(tensors, prefix, 3):
            assert 0 < table[row] < 1
            tuples = set(product(*node))
            assert not tuples & seen[p]
            seen[p] |= tuples
            weight = prod(sum(own[k] for k in chosen) for own, chosen in zip(shares, node, strict=True))
            totals[p] += weight * (Fraction(table[row].item()) - whole)
        for p, total in enumerate(totals):
            assert stated[p].item() == pytest.approx(float(total), abs=1e-12)
            assert Fraction(stated[p].item()) >= total if whole else Fraction(stated[p].item()) <= total
        mine = [name for name in tensors if name.startswith("upper.") == bool(whole) and "nodes" not in name]
        assert {len(tensors[name]) for name in mine} == {len(table)}


def test_a_node_whose_parts_add_nothing_is_written_as_one() -> None:
    law = mixture(0.0, 0.01, 0.02)

    def bound(laws: Sequence[DiagonalGaussian]) -> tuple[Interval, Choices]:
        whole = laws[0].loc_error is not None
        lower = vector(0.9, 0.2) if whole else vector(0.5, 0.3)
        return (lower, torch.ones_like(lower)), {"lower": lower}

    _, witness = bounds_and_witness([law], bound, 99, 1e-3)
    nodes = nodes_of(dict(witness.tensors), "", 1)
    assert [node for p, node, _ in nodes if p == 0] == [((0, 1, 2),)]
    assert sorted(node for p, node, _ in nodes if p == 1) == [((0,),), ((1,),), ((2,),)]
    assert len(witness.tensors["lower"]) == 1 + 3


def test_a_gaussian_has_one_row_for_each_property_and_no_nodes() -> None:
    choices = {"chosen": vector(1.0)}
    interval, witness = bounds_and_witness([point(0.0)], lambda laws: ((vector(0.5),) * 2, choices), 1, 0.0)
    assert interval[0].item() == 0.5
    assert witness.tensors is choices


def test_a_budget_of_nothing_is_refused() -> None:
    for law in (point(0.0), mixture(0.0, 9.0)):
        with pytest.raises(InvalidConfig, match="at least one"):
            bounds_and_witness([law], Recorder(0, 1), 0, 0.0)
