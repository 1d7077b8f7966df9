"""Every registered family against the contract that it declares to follow."""

import pytest
import torch
from family_contract import check_family
from problems import normal

from fedcert.families.problem import Problem
from fedcert.families.protocol import Family
from fedcert.families.registry import families
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties, linf_robustness
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, LinearRule, TrimmedMean

NETWORK = mlp(2, 3, 2)
RULES = [
    LinearRule.fedavg([1, 2, 3]),
    LinearRule(torch.tensor([[0.7], [0.6], [-0.3]], dtype=torch.float64)),
    TrimmedMean.median(3),
]


def make_problem(rule: AggregationRule, scale: float) -> Problem:
    """Three clients that agree up to small differences, and properties near their decision boundary."""
    shared = normal(stream(1, "shared"), NETWORK.parameters)
    laws = [
        DiagonalGaussian(
            shared + 0.1 * scale * normal(stream(1, "client", i), len(shared)),
            torch.full_like(shared, scale),
        )
        for i in range(3)
    ]
    x = torch.rand(6, 2, generator=stream(1, "inputs"), dtype=torch.float64)
    label = NETWORK(rule([law.loc for law in laws]), x).argmax(-1)
    return Problem(NETWORK, linf_robustness(x, label, 0.01, classes=2), tuple(laws), rule)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-4, 0.02, 0.3])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
@pytest.mark.usefixtures("without_annotations")
def test_no_sample_contradicts_a_family(family: Family, rule: AggregationRule, scale: float) -> None:
    check_family(family, make_problem(rule, scale))


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_a_family_that_claims_too_much_is_noticed(family: Family) -> None:
    problem = make_problem(RULES[0], 0.3)
    unsafe = problem.properties
    worse = Properties(unsafe.regions, unsafe.C, unsafe.d - 100.0)  # violated almost surely

    class Boastful:
        name = family.name
        supports = staticmethod(family.supports)

        @staticmethod
        def prove(asked: Problem, kind: str, track: object = None) -> object:
            return family.prove(make_problem(RULES[0], 1e-4), kind)

    with pytest.raises(AssertionError):
        check_family(Boastful(), Problem(NETWORK, worse, problem.laws, problem.rule))
