"""The expected accuracy from a confidence bound: another kind of statement than one from a certificate."""

from fractions import Fraction

from fedcert_check.conclusions.bounds import Bounds, Sampled
from fedcert_check.conclusions.conclusion import Conclusion
from fedcert_check.conclusions.expected import name
from fedcert_check.conclusions.rounding import above, below, level, mean
from fedcert_check.conclusions.words import SELECTED, assumptions, between, correctly, inputs, model, verb


def sampled(bounds: Bounds, limits: Sampled) -> Conclusion:
    """Limits that hold for all inputs together bound the mean at the same confidence.

    Args:
        bounds: what is proven.
        limits: what holds at a confidence.
    """
    lower, upper = below(mean(limits.lower)), above(mean(limits.upper))
    sure = Fraction(repr(limits.confidence))
    sentence = (
        f"With {level(sure)} confidence over the {limits.draws:,} draws of the check, {model(bounds)}"
        f" {verb(bounds)}, on average over the draw, {between(lower, upper)} of {inputs(bounds.subject)}"
        f" {correctly(bounds)}."
        f" This is not a certificate: with a probability of at most {level(1 - sure)} over those draws it is"
        " wrong."
    )
    if bounds.subject.chosen == "correct":
        sentence += f" {SELECTED}"
    said = (
        *assumptions(bounds, upper=True),
        "The draws of the check are independent of each other and of what is claimed: their seed is a digest"
        " of the claim.",
    )
    named = name(bounds, "confidence")
    return Conclusion(named, bounds.rule, bounds.epsilon, lower, upper, sentence, said)
