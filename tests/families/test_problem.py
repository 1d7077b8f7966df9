from itertools import product
from typing import ClassVar

import pytest
import torch

from fedcert.api.certify import KINDS
from fedcert.errors import InvalidMessage, ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem, SentCells
from fedcert.families.protocol import CellFamily
from fedcert.families.registry import families
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.rules import LinearRule, TrimmedMean

NETWORK = mlp(2, 2)
LAW = DiagonalGaussian(torch.zeros(6, dtype=torch.float64), torch.ones(6, dtype=torch.float64))
PROPERTIES = linf_robustness(torch.zeros(1, 2), torch.tensor([0]), 0.1, classes=2)
RULE = LinearRule.fedavg([1, 1])


class Counting(LinearRule):
    """A rule that counts how often it is asked for its law."""

    asked: ClassVar[int] = 0

    def pushforward(self, laws):
        type(self).asked += 1
        return super().pushforward(laws)


@pytest.fixture
def counted(monkeypatch) -> Problem:
    monkeypatch.setattr(Counting, "asked", 0)
    return Problem(NETWORK, PROPERTIES, (LAW, LAW), Counting(RULE.weights))


def test_the_deployed_law_is_computed_once(counted: Problem) -> None:
    first = counted.deployed
    assert counted.deployed is first
    assert counted.deploy(counted.laws) is first
    assert Counting.asked == 1


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
def test_all_claims_of_all_families_share_one_deployed_law(counted: Problem) -> None:
    made = [
        family.prove(counted, kind)
        for family in families()
        for kind in KINDS
        if not isinstance(family, CellFamily) and family.supports(counted, kind)
    ]
    assert {(c.claim.events, c.claim.kind) for c in made} >= set(product(("box", "projected"), KINDS))
    assert Counting.asked == 1


def test_fewer_laws_than_clients_are_not_taken_for_the_clients_own(counted: Problem) -> None:
    for few in ([], [LAW]):
        with pytest.raises((ValueError, ShapeMismatch)):
            counted.deploy(few)


def test_other_laws_than_the_clients_own_are_deployed_anew(counted: Problem) -> None:
    wider = LAW.with_scale(2.0)
    assert counted.deploy([LAW, wider]).scale[0].item() == pytest.approx(1.25**0.5)
    assert counted.deploy([LAW, LAW]).scale[0].item() == pytest.approx(0.5**0.5)
    mixture = GaussianMixture((LAW, wider), torch.ones(2, dtype=torch.float64))
    mixed = Problem(NETWORK, PROPERTIES, (LAW, mixture), RULE)
    assert mixed.deploy([LAW, wider]).scale[0].item() == pytest.approx(1.25**0.5)


def test_another_rule_deploys_another_law() -> None:
    problem = Problem(NETWORK, PROPERTIES, (LAW, LAW), RULE)
    assert problem.deployed.scale[0].item() == pytest.approx(0.5**0.5)
    assert problem.under(LinearRule(2 * RULE.weights)).deployed.scale[0].item() == pytest.approx(2**0.5)


def test_other_properties_are_asked_of_the_same_deployed_law(counted: Problem) -> None:
    others = linf_robustness(torch.ones(3, 2), torch.tensor([0, 1, 0]), 0.25, classes=2)
    other = counted.asking(others)
    assert other.properties is others
    assert len(counted.properties) == 1, "the problem itself is unchanged"
    assert (other.network, other.laws, other.rule) == (counted.network, counted.laws, counted.rule)
    assert other.deployed is counted.deployed
    assert other.asking(PROPERTIES).deployed is counted.deployed
    assert Counting.asked == 1


@pytest.mark.slow
def test_other_properties_have_other_bounds() -> None:
    """The bounds are those of the new properties, not remembered ones."""
    law = DiagonalGaussian(torch.tensor([3, 0, 0, 3, 0, 0]).double(), torch.full((6,), 0.1).double())
    x, label = torch.tensor([[0.7, 0.3]]), torch.tensor([0])
    small, large = (linf_robustness(x, label, radius, classes=2) for radius in (0.01, 0.3))
    (family,) = (own for own in families() if own.name == "projected")
    first = Problem(NETWORK, small, (law, law), RULE)
    bounds = [family.prove(problem, "direct").lower.item() for problem in (first, first.asking(large))]
    alone = family.prove(Problem(NETWORK, large, (law, law), RULE), "direct").lower.item()
    assert bounds[1] == alone
    assert bounds[0] > 0.99 > bounds[1]


@pytest.mark.parametrize("rule", [RULE, TrimmedMean.median(2)])
def test_other_properties_may_be_asked_where_no_law_is_deployed(rule) -> None:
    mixture = GaussianMixture((LAW, LAW), torch.ones(2, dtype=torch.float64))
    other = Problem(NETWORK, PROPERTIES, (LAW, mixture), rule).asking(PROPERTIES)
    with pytest.raises(ShapeMismatch):
        _ = other.deployed


def test_what_has_no_law_in_closed_form_says_so() -> None:
    median = Problem(NETWORK, PROPERTIES, (LAW, LAW), TrimmedMean.median(2))
    assert not median.has_deployed_law
    with pytest.raises(ShapeMismatch, match="median"):
        _ = median.deployed
    mixture = GaussianMixture((LAW, LAW), torch.ones(2, dtype=torch.float64))
    mixed = Problem(NETWORK, PROPERTIES, (LAW, mixture), RULE)
    assert not mixed.gaussian
    with pytest.raises(ShapeMismatch, match="mixture"):
        _ = mixed.deployed


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeMismatch, match="laws of 1 clients"):
        Problem(NETWORK, PROPERTIES, (LAW,), RULE)
    with pytest.raises(ShapeMismatch, match="client 0 has 6 parameters, the network 9"):
        Problem(mlp(2, 3), PROPERTIES, (LAW, LAW), RULE)
    with pytest.raises(ShapeMismatch, match="cells of 1 clients"):
        Problem(NETWORK, PROPERTIES, (LAW, LAW), RULE, SentCells({"a": "cells"}, (lambda: Cells.none(6),)))


def test_nothing_is_computed_of_cells_that_no_claim_asks_for() -> None:
    def never() -> Cells:
        raise AssertionError("nobody asked")

    sent = SentCells({"a": "x" * 40, "b": "y" * 40}, (never, never))
    problem = Problem(NETWORK, PROPERTIES, (LAW, LAW), RULE, sent)
    assert problem.deployed.dimension == 6
    with pytest.raises(InvalidMessage, match="64"):
        _ = sent.events


def test_cells_of_several_families_have_a_joint_name() -> None:
    sent = SentCells({"a": "paper-box", "b": "cells", "c": "cells"}, (lambda: Cells.none(6),) * 3)
    assert sent.events == "cells+paper-box"
    assert len(sent.cells) == 3
