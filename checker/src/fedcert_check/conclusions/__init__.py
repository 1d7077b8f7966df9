"""What a user may conclude from proven bounds: sentences, with their numbers and their assumptions.

`conclude` turns the bounds of one certificate into conclusions, one file for each statement. fedcert writes
them, the checker makes them again from the certificate and compares (`verify`). docs/conclusions.md proves
each statement and says what it does not say.
"""

from fractions import Fraction

from flint import ctx

from fedcert_check.balls import PRECISION
from fedcert_check.conclusions.bounds import Bounds as Bounds
from fedcert_check.conclusions.bounds import Robustness as Robustness
from fedcert_check.conclusions.bounds import Sampled as Sampled
from fedcert_check.conclusions.conclusion import Conclusion as Conclusion
from fedcert_check.conclusions.conclusion import verify as verify
from fedcert_check.conclusions.expected import expected, no_label_wins
from fedcert_check.conclusions.one_draw import all_at_once, how_many, which_at_once
from fedcert_check.conclusions.population import population
from fedcert_check.conclusions.sampled import sampled
from fedcert_check.conclusions.softmax import softmax
from fedcert_check.conclusions.vote import vote
from fedcert_check.validation import require

__all__ = ["Bounds", "Conclusion", "Robustness", "Sampled", "conclude", "verify"]


def conclude(bounds: Bounds, confidence: float = 0.95) -> list[Conclusion]:
    """All that follows from the bounds, in the order in which a reader wants it.

    Args:
        bounds: what is proven about the deployed model at one radius.
        confidence: of the statements about new inputs; the decimal number that a float is printed as.
    """
    require(0 < confidence < 1, f"a confidence of {confidence}: it must lie strictly between 0 and 1")
    with ctx.workprec(PRECISION):
        subject = bounds.subject
        by_softmax = [softmax(bounds)] if bounds.at_margins else []
        if subject.margin < 0:
            return [no_label_wins(bounds), *by_softmax]
        decisions = [vote(bounds), *by_softmax] if subject.labelled else []
        sample = subject.labelled and not subject.boxed  # of a population of labelled inputs
        return [
            expected(bounds),
            how_many(bounds),
            which_at_once(bounds),
            all_at_once(bounds),
            *decisions,
            *(population(bounds, Fraction(repr(confidence))) if sample else []),
            *([sampled(bounds, bounds.sampled)] if bounds.sampled else []),
        ]
