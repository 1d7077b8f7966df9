"""On average over the draw: the share of the inputs that the deployed model classifies robustly."""

from fedcert_check.conclusions.bounds import Bounds
from fedcert_check.conclusions.conclusion import Conclusion
from fedcert_check.conclusions.rounding import above, below, mean
from fedcert_check.conclusions.words import (
    SELECTED,
    assumptions,
    ball,
    between,
    correctly,
    inputs,
    model,
    verb,
)


def expected(bounds: Bounds) -> Conclusion:
    """E[share of S_p that hold] = mean Pr(S_p), which lies between mean L_p and mean U_p."""
    lower = below(mean(bounds.lower))
    upper = None if bounds.upper is None else above(mean(bounds.upper))
    sentence = (
        f"On average over the draw, {model(bounds)} {verb(bounds)} {between(lower, upper)} of"
        f" {inputs(bounds.subject)} {correctly(bounds, in_full=True)}."
    )
    if bounds.subject.chosen == "correct":
        sentence += f" {SELECTED}"
    said = assumptions(bounds, upper is not None)
    return Conclusion(name(bounds, "expected"), bounds.rule, bounds.epsilon, lower, upper, sentence, said)


def name(bounds: Bounds, kind: str) -> str:
    """What a statement about a mean is called: an accuracy only where inputs have labels.

    Args:
        bounds: what is proven.
        kind: "expected" or "confidence".
    """
    accuracy = bounds.subject.labelled and not bounds.subject.boxed
    return f"{kind}-{'accuracy' if accuracy else 'share'}"


def no_label_wins(bounds: Bounds) -> Conclusion:
    """Why nothing about classification follows from properties with a negative margin."""
    sentence = (
        f"Nothing can be concluded about how {model(bounds)} classifies {inputs(bounds.subject)} on"
        f" {ball(bounds)} {'of' if bounds.subject.boxed else 'around'} each: with a margin of"
        f" {bounds.subject.margin!r}, a property may hold though the label does not win."
    )
    return Conclusion(name(bounds, "expected"), bounds.rule, bounds.epsilon, None, None, sentence, ())
