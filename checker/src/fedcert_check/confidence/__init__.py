"""Confidence bounds, checked: drawn again from the seed, judged again, counted again.

Unlike certificates they are not proven in balls, which would take days for thousands of networks, but in
floating point whose errors are charged (docs/soundness.md, 12). The limits of the counts are computed in
balls.
"""

from fedcert_check.confidence.checking import ConfidenceReport as ConfidenceReport
from fedcert_check.confidence.checking import check_confidence as check_confidence
