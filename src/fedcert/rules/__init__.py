"""Aggregation rules: what the server makes of the clients' parameters."""

from fedcert.rules.average import WeightedAverage
from fedcert.rules.linear import LinearRule
from fedcert.rules.order import CoordinateMedian, TrimmedMean
from fedcert.rules.protocol import AggregationRule, GaussianRule

__all__ = [
    "AggregationRule",
    "CoordinateMedian",
    "GaussianRule",
    "LinearRule",
    "TrimmedMean",
    "WeightedAverage",
]
