"""Certificates of single kinds, for tests that bring their own verifier."""

from collections.abc import Sequence

from fedcert.certificate import Certificate
from fedcert.families.mean_box.certify import certify_boxes
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.mean_box.measures import identity
from fedcert.laws import DiagonalGaussian
from fedcert.rules import GaussianRule
from fedcert.verify import Safe


def certify_boxes_directly(
    laws: Sequence[DiagonalGaussian], rule: GaussianRule, safe: Safe, events: MeanBox
) -> Certificate:
    """Boxes under the deployed law."""
    deployed = rule.pushforward(laws)
    return certify_boxes([deployed], identity(rule.name, deployed), safe, events, "direct")
