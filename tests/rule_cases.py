"""Rules of every registered name, and their maps in rational arithmetic."""

import statistics
from fractions import Fraction

import torch
from oracles import exact
from problems import normal, uniform
from rule_contract import Column, ExactMap

from fedcert.laws import DiagonalGaussian
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, LinearMap, LinearRule, RuleContext, TrimmedMean, build_rule


def make_laws(generator: torch.Generator, clients: int, dimension: int) -> list[DiagonalGaussian]:
    return [
        DiagonalGaussian(normal(generator, dimension), 0.1 + uniform(generator, dimension))
        for _ in range(clients)
    ]


def make_context(name: str, laws: list[DiagonalGaussian]) -> RuleContext:
    """Settings with which the rule of this name can be built."""
    n, generator = len(laws), stream(len(laws), "coefficients")
    return RuleContext(
        laws,
        [3 * i + 1 for i in range(n)],
        normal(generator, n).tolist() if name == "linear" else "size",
        (n - 1) // 4,
        normal(generator, laws[0].dimension),
        1.7,
        5.0,
    )


PUBLISHED = [
    *("conflation", "consensus", "prior-corrected"),
    *("wasserstein", "reverse-kl", "forward-kl", "averaged-variances"),
]
LINEAR = ["fedavg", "pog", *PUBLISHED, "linear", "server-step", "uniform", "signed"]
RULES = [*LINEAR, "median", "trimmed-mean"]


def make_rule(name: str, laws: list[DiagonalGaussian]) -> AggregationRule:
    """The rule of a registered name, FedAvg with equal weights, or signed weights for each parameter."""
    generator = stream(len(laws), "signed")
    match name:
        case "uniform":
            return LinearRule.fedavg([1] * len(laws))
        case "signed":
            dimension = laws[0].dimension
            return LinearRule(normal(generator, len(laws), dimension), normal(generator, dimension))
    return build_rule(name, make_context(name, laws))


def exact_map(rule: AggregationRule) -> ExactMap:
    """The map of a rule of this package, from its coefficients."""

    def linear(column: Column, d: int) -> Fraction:
        assert isinstance(rule, LinearMap)
        weights = rule.weights[:, d if rule.weights.shape[1] > 1 else 0]
        offset = Fraction(0) if rule.offset is None else exact(rule.offset[d])
        return offset + sum(exact(w) * x for w, x in zip(weights, column, strict=True))

    def median(column: Column, d: int) -> Fraction:
        return statistics.median(column)

    def trimmed_mean(column: Column, d: int) -> Fraction:
        assert isinstance(rule, TrimmedMean)
        return statistics.mean(sorted(column)[rule.trim : len(column) - rule.trim])

    named = {"median": median, "trimmed-mean": trimmed_mean}
    return linear if isinstance(rule, LinearMap) else named[rule.name]
