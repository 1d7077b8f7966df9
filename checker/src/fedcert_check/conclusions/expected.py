"""On average over the draw: the share of the inputs that the deployed model classifies robustly."""

from fedcert_check.conclusions.bounds import Bounds
from fedcert_check.conclusions.conclusion import Conclusion
from fedcert_check.conclusions.rounding import above, below, mean
from fedcert_check.conclusions.words import SELECTED, assumptions, ball, between, correctly, inputs, model

NAME = "expected-accuracy"


def expected(bounds: Bounds) -> Conclusion:
    """E[share of S_p that hold] = mean Pr(S_p), which lies between mean L_p and mean U_p."""
    lower = below(mean(bounds.lower))
    upper = None if bounds.upper is None else above(mean(bounds.upper))
    sentence = (
        f"On average over the draw, {model(bounds)} classifies {between(lower, upper)} of"
        f" {inputs(bounds.subject)} {correctly(bounds, in_full=True)}."
    )
    if bounds.subject.chosen == "correct":
        sentence += f" {SELECTED}"
    said = assumptions(bounds, upper is not None)
    return Conclusion(NAME, bounds.rule, bounds.epsilon, lower, upper, sentence, said)


def no_label_wins(bounds: Bounds) -> Conclusion:
    """Why nothing about classification follows from properties with a negative margin."""
    sentence = (
        f"Nothing can be concluded about how {model(bounds)} classifies {inputs(bounds.subject)} on"
        f" {ball(bounds)} around each: with a margin of {bounds.subject.margin!r}, a property may hold though"
        " the label does not win."
    )
    return Conclusion(NAME, bounds.rule, bounds.epsilon, None, None, sentence, ())
