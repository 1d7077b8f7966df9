"""The family `projected`: what it supports, what its settings do, and closed forms."""

import math
from dataclasses import replace

import pytest
import torch
from family_contract import KINDS, check_certainty, check_half_space, half_space
from scipy.special import ndtr

from fedcert.errors import ShapeMismatch
from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.families.projected.tails import Cells, Limit
from fedcert.families.protocol import CellFamily, Family
from fedcert.laws import GaussianMixture
from fedcert.progress import silent
from fedcert.rules import TrimmedMean

FAMILY = ProjectedFamily()
PROBLEM, TRUTH = half_space(2.0)
MEDIAN = PROBLEM.under(TrimmedMean.median(2))
MIXTURE = GaussianMixture(PROBLEM.laws, torch.ones(2).double())
MIXED = replace(PROBLEM, laws=(MIXTURE, PROBLEM.laws[1]))


@pytest.mark.parametrize(
    ("problem", "kinds"),
    [(PROBLEM, list(KINDS)), (MEDIAN, ["local"]), (MIXED, list(KINDS))],
    ids=["gaussian", "median", "mixture"],
)
def test_it_needs_linear_rules_for_all_but_local_claims(problem: Problem, kinds: list[str]) -> None:
    assert isinstance(FAMILY, Family)
    assert not isinstance(FAMILY, CellFamily)
    assert [kind for kind in KINDS if FAMILY.supports(problem, kind)] == kinds


@pytest.mark.slow
def test_bounds_enclose_closed_forms() -> None:
    check_half_space(FAMILY, 0.9999)


def test_a_direct_claim_about_one_number_is_exact_to_a_billionth() -> None:
    found = FAMILY.prove(PROBLEM, "direct")
    assert found.upper is not None
    assert found.lower.item() == pytest.approx(TRUTH["direct"], abs=2e-9)
    assert found.upper.item() == pytest.approx(TRUTH["direct"], abs=2e-9)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [PROBLEM, MEDIAN, MIXED], ids=["gaussian", "median", "mixture"])
def test_what_is_certain_is_proven(problem: Problem) -> None:
    check_certainty(FAMILY, problem)


def test_projections_are_cut_as_its_settings_say() -> None:
    """In the limit of fine cells a transported claim is the direct one; cells lose a little."""
    cells, limit = (
        replace(FAMILY, projections=own).prove(PROBLEM, "transported") for own in (Cells(), Limit())
    )
    assert cells.lower.item() < limit.lower.item() <= TRUTH["transported"]
    assert limit.lower.item() == pytest.approx(TRUTH["transported"], rel=1e-6)
    assert FAMILY.prove(PROBLEM, "transported").lower.item() == pytest.approx(TRUTH["transported"], abs=2e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["transported", "direct"])
def test_too_few_bounds_for_the_tuples_of_mixtures_prove_less_and_nothing_false(kind) -> None:
    """Two tuples, of one half each: the probability is the mean of two normal ones."""
    d, other = PROBLEM.properties.d.item(), PROBLEM.laws[1]
    truth = 0.0
    for law in PROBLEM.laws:
        mean = (law.loc.sum() + other.loc.sum()).item() / 2 + d
        deviation = math.hypot(law.scale.norm().item(), other.scale.norm().item()) / 2
        truth += ndtr(mean / deviation) / 2
    few, enough = (replace(FAMILY, tuples=tuples).prove(MIXED, kind).lower.item() for tuples in (1, 2))
    assert few < 0.5 < enough < truth
    assert enough == pytest.approx(truth, abs=2e-3)


@pytest.mark.parametrize("kind", ["transported", "direct"])
def test_a_claim_that_it_does_not_support_is_an_error_that_names_kind_and_rule(kind) -> None:
    with pytest.raises(ShapeMismatch, match=f"no {kind} claim under the rule median"):
        FAMILY.prove(MEDIAN, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_every_claim_shows_its_progress(kind) -> None:
    seen: list[str] = []

    def track(items, description, total=None):
        seen.append(description)
        return silent(items, description, total)

    assert FAMILY.prove(replace(PROBLEM), kind, track).claim.kind == kind  # one that nothing is known of
    assert seen
