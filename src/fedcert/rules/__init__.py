"""Aggregation rules: what the server makes of the clients' parameters."""

from fedcert.rules.average import WeightedAverage
from fedcert.rules.linear import LinearRule
from fedcert.rules.protocol import AggregationRule, GaussianRule
from fedcert.rules.trimmed_mean import CoordinateMedian, TrimmedMean

__all__ = [
    "AggregationRule",
    "CoordinateMedian",
    "GaussianRule",
    "LinearRule",
    "TrimmedMean",
    "WeightedAverage",
]
