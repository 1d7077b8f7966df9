"""The family `paper-box`: what it supports, whose cells it uses, and closed forms."""

import math
from dataclasses import replace

import pytest
import torch
from family_contract import KINDS, check_certainty, check_half_space, half_space
from oracles import log_mass

from fedcert.errors import InvalidConfig
from fedcert.families.cells import Cells
from fedcert.families.paper_box.events import PaperBox
from fedcert.families.paper_box.family import PaperBoxFamily
from fedcert.families.problem import Problem, SentCells
from fedcert.families.protocol import CellFamily
from fedcert.laws import GaussianMixture
from fedcert.rules import LinearRule, TrimmedMean
from fedcert.verify.interval import IntervalVerifier

FAMILY = PaperBoxFamily(gamma=(1.0, 3.0, 5.0), centers=30)
PROBLEM = half_space(2.0)[0]
MEDIAN = PROBLEM.under(TrimmedMean.median(2))
MIXED = replace(PROBLEM, laws=(GaussianMixture(PROBLEM.laws, torch.ones(2).double()), PROBLEM.laws[1]))


def same(one: Cells, other: Cells) -> bool:
    return all(
        torch.equal(a, b)
        for a, b in (
            (one.boxes.lower, other.boxes.lower),
            (one.boxes.upper, other.boxes.upper),
            (one.log_mass, other.log_mass),
            (one.member, other.member),
        )
    )


@pytest.mark.parametrize(
    ("problem", "kinds"),
    [(PROBLEM, list(KINDS)), (MEDIAN, ["local", "transported"]), (MIXED, [])],
    ids=["gaussian", "median", "mixture"],
)
def test_it_needs_gaussians_and_for_direct_claims_a_deployed_law(problem: Problem, kinds: list[str]) -> None:
    assert [kind for kind in KINDS if FAMILY.supports(problem, kind)] == kinds


@pytest.mark.slow
def test_bounds_enclose_closed_forms() -> None:
    check_half_space(FAMILY, 0.9)
    check_certainty(FAMILY, PROBLEM)
    check_certainty(FAMILY, MEDIAN)


def test_the_settings_are_those_of_the_events() -> None:
    family = PaperBoxFamily(gamma=(2.0,), centers=7, cells=3)
    assert isinstance(family, CellFamily)
    assert family.events == PaperBox((2.0,), 7, 3)
    assert PaperBoxFamily().events == PaperBox()
    with pytest.raises(InvalidConfig, match="finite number > 0"):
        _ = PaperBoxFamily(gamma=(math.inf,)).events


def test_a_clients_cells_depend_on_its_number_and_the_seed_and_on_nothing_else() -> None:
    safe, law = PROBLEM.safe(IntervalVerifier()), PROBLEM.laws[0]
    first = FAMILY.client_cells(law, 0, safe)
    assert len(first) > 0
    assert same(first, FAMILY.client_cells(law, 0, safe))
    assert not same(first, FAMILY.client_cells(law, 1, safe))
    assert not same(first, replace(FAMILY, seed=1).client_cells(law, 0, safe))


def test_cells_are_screened_unless_told_otherwise_and_weigh_no_more_than_they_do() -> None:
    safe, law = PROBLEM.safe(IntervalVerifier()), PROBLEM.laws[0]
    screened, every = (replace(FAMILY, screen=own).client_cells(law, 0, safe) for own in (True, False))
    assert safe(screened.boxes).all()
    assert not safe(every.boxes).all()
    for cells in (screened, every):
        assert len(cells) <= FAMILY.cells
        for box, claimed in zip(cells.boxes, cells.log_mass.tolist(), strict=True):
            assert claimed <= log_mass(law, box)


@pytest.mark.parametrize("kind", ["local", "transported"])
def test_cells_that_were_sent_are_used_under_their_name(kind) -> None:
    safe = PROBLEM.safe(IntervalVerifier())
    own = [FAMILY.client_cells(law, i, safe) for i, law in enumerate(PROBLEM.laws)]
    sent = SentCells(dict.fromkeys("ab", "others"), tuple(lambda cells=cells: cells for cells in own))
    made, given = FAMILY.prove(PROBLEM, kind), FAMILY.prove(replace(PROBLEM, sent=sent), kind)
    assert torch.equal(made.lower, given.lower)
    assert made.lower.item() > 0
    assert (made.claim.events, given.claim.events) == ("paper-box", "others")
    none = SentCells(dict.fromkeys("ab", "others"), (lambda: Cells.none(2),) * 2)
    assert FAMILY.prove(replace(PROBLEM, sent=none), kind).lower.item() == 0


def test_a_direct_claim_makes_cells_of_its_own() -> None:
    none = SentCells(dict.fromkeys("ab", "others"), (lambda: Cells.none(2),) * 2)
    made, given = FAMILY.prove(PROBLEM, "direct"), FAMILY.prove(replace(PROBLEM, sent=none), "direct")
    assert given.claim == made.claim
    assert torch.equal(made.lower, given.lower)


def test_equal_laws_have_equal_direct_certificates() -> None:
    laws = (PROBLEM.laws[0], replace(PROBLEM.laws[1], scale=PROBLEM.laws[0].scale))
    problem = replace(PROBLEM, laws=laws)
    pog = problem.under(LinearRule.product_of_gaussians(laws))
    assert torch.equal(FAMILY.prove(problem, "direct").lower, FAMILY.prove(pog, "direct").lower)
    assert FAMILY.prove(pog, "direct").claim.rule == "pog"


def test_no_more_tuples_are_tried_than_the_budget_has() -> None:
    small, large = (replace(FAMILY, budget=own).prove(PROBLEM, "transported") for own in (1, 20_000))
    assert 0 < small.lower.item() < large.lower.item()
