"""Confidence bounds: the third kind of statement, beside certificates and estimates."""

from fedcert.confidence.bounding import bound as bound
from fedcert.confidence.result import ConfidenceBound as ConfidenceBound
