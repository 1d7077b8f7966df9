"""The family `box`: what it supports, which laws it can measure, and closed forms."""

from dataclasses import dataclass, replace

import pytest
import torch
from family_contract import KINDS, check_certainty, check_half_space, half_space

from fedcert.errors import InvalidLaw, ShapeMismatch
from fedcert.families.mean_box import certify
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.mean_box.family import MeanBoxFamily
from fedcert.families.problem import Problem
from fedcert.families.protocol import CellFamily, Family
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.rules import TrimmedMean

FAMILY = MeanBoxFamily()
PROBLEM = half_space(4.0)[0]
MEDIAN = PROBLEM.under(TrimmedMean.median(2))
MIXED = replace(PROBLEM, laws=(GaussianMixture(PROBLEM.laws, torch.ones(2).double()), PROBLEM.laws[1]))


@pytest.fixture(autouse=True)
def whole_boxes(monkeypatch: pytest.MonkeyPatch, without_annotations: None) -> None:
    """Boxes are not split, which has tests of its own and takes most of the time of small problems."""
    monkeypatch.setattr(certify, "MAX_PARAMETERS_TO_SPLIT", 0)


@dataclass(frozen=True)
class Unmeasured:
    """A Gaussian that does not know the mass of a box."""

    inner: DiagonalGaussian

    @property
    def loc(self) -> torch.Tensor:
        return self.inner.loc

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def components(self) -> tuple[DiagonalGaussian, ...]:
        return (self.inner,)

    def sample(self, count: int, generator: torch.Generator) -> torch.Tensor:
        return self.inner.sample(count, generator)


UNMEASURED = replace(PROBLEM, laws=(PROBLEM.laws[0], Unmeasured(PROBLEM.laws[1])))


@pytest.mark.parametrize(
    ("problem", "kinds"),
    [(PROBLEM, list(KINDS)), (MEDIAN, ["local", "transported"]), (MIXED, ["local", "transported"])],
    ids=["gaussian", "median", "mixture"],
)
def test_it_has_every_claim_but_direct_ones_without_one_deployed_gaussian(
    problem: Problem, kinds: list[str]
) -> None:
    assert isinstance(FAMILY, Family)
    assert not isinstance(FAMILY, CellFamily)
    assert [kind for kind in KINDS if FAMILY.supports(problem, kind)] == kinds


@pytest.mark.slow
def test_bounds_enclose_closed_forms() -> None:
    check_half_space(FAMILY, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [PROBLEM, MEDIAN, MIXED], ids=["gaussian", "median", "mixture"])
def test_what_is_certain_is_proven(problem: Problem) -> None:
    check_certainty(FAMILY, problem)


@pytest.mark.slow
def test_the_boxes_are_those_of_its_settings() -> None:
    narrow, wide = (
        MeanBoxFamily(MeanBox(widest=widest)).prove(PROBLEM, "direct").lower.item() for widest in (0.5, 8.0)
    )
    side = torch.erf(torch.tensor(0.5**1.5, dtype=torch.float64)).item()  # Pr(|Z| ≤ 1/2)
    assert narrow <= side**2 < wide
    assert narrow == pytest.approx(side**2, rel=1e-9)


@pytest.mark.parametrize("kind", ["local", "transported"])
def test_a_law_that_cannot_measure_boxes_is_named(kind) -> None:
    with pytest.raises(InvalidLaw, match="a Unmeasured does not know the mass of a box"):
        FAMILY.prove(UNMEASURED, kind)


@pytest.mark.parametrize(("problem", "words"), [(MEDIAN, "median deploys no law"), (MIXED, "mixtures")])
def test_a_direct_claim_that_it_does_not_support_is_an_error(problem: Problem, words: str) -> None:
    with pytest.raises(ShapeMismatch, match=words):
        FAMILY.prove(problem, "direct")
