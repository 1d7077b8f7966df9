"""Aggregation rules: what the server makes of the clients' parameters."""

from fedcert.rules.builders import RuleBuilder, RuleContext
from fedcert.rules.linear import LinearRule
from fedcert.rules.pooling import Pooling
from fedcert.rules.protocol import AggregationRule, GaussianRule, LinearMap
from fedcert.rules.registry import build_rule, register_rule, register_rule_type, rule_names, rule_types
from fedcert.rules.stated import StatedGaussian
from fedcert.rules.trimmed_mean import TrimmedMean
from fedcert.rules.with_law import with_law

__all__ = [
    "AggregationRule",
    "GaussianRule",
    "LinearMap",
    "LinearRule",
    "Pooling",
    "RuleBuilder",
    "RuleContext",
    "StatedGaussian",
    "TrimmedMean",
    "build_rule",
    "register_rule",
    "register_rule_type",
    "rule_names",
    "rule_types",
    "with_law",
]
