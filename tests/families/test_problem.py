import pytest
import torch

from fedcert.errors import InvalidMessage, ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem, SentCells
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

    asked = 0

    def pushforward(self, laws):
        type(self).asked += 1
        return super().pushforward(laws)


def test_the_deployed_law_is_computed_once() -> None:
    problem = Problem(NETWORK, PROPERTIES, (LAW, LAW), Counting(RULE.weights))
    first = problem.deployed
    assert problem.deployed is first
    assert Counting.asked == 1


def test_another_rule_deploys_another_law() -> None:
    problem = Problem(NETWORK, PROPERTIES, (LAW, LAW), RULE)
    assert problem.deployed.scale[0].item() == pytest.approx(0.5**0.5)
    assert problem.under(LinearRule(2 * RULE.weights)).deployed.scale[0].item() == pytest.approx(2**0.5)


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
