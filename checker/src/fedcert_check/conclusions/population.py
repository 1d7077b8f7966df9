"""New inputs of the same population, at a stated confidence over the choice of these inputs.

Given the messages, Pr(S_p) is a function of the input alone: for independent inputs these probabilities are
an independent sample. They are not known, but L_p ≤ Pr(S_p) ≤ U_p, and every limit here grows with each of
its observations: the limit of the L_p lies below that of the probabilities, whatever the L_p depend on.
"""

from fractions import Fraction

from flint import arb

from fedcert_check.balls import float_up
from fedcert_check.clopper_pearson import clopper_pearson_lower, clopper_pearson_upper
from fedcert_check.conclusions.betting import mean_limit
from fedcert_check.conclusions.bounds import Bounds
from fedcert_check.conclusions.conclusion import Conclusion
from fedcert_check.conclusions.rounding import level
from fedcert_check.conclusions.words import assumptions, ball, between, correctly, inputs, model

FEWEST = 10
THRESHOLDS = ("0.95", "0.5")
SAMPLE = (
    "These inputs are an independent sample of the population, chosen without looking at the model and not"
    " used to train it."
)


def population(bounds: Bounds, confidence: Fraction) -> list[Conclusion]:
    """What holds for new inputs: the expected accuracy, and shares of inputs with a probability τ or more.

    Args:
        bounds: what is proven.
        confidence: 1 − β of each statement; β is split in two where there are two limits.
    """
    if bounds.subject.chosen == "correct":
        return [_refused(bounds, "they were selected because the mean model classifies them correctly")]
    if len(bounds.lower) < FEWEST:
        return [_refused(bounds, f"they are fewer than {FEWEST}")]
    return [_mean(bounds, confidence), *(_share(bounds, confidence, tau) for tau in THRESHOLDS)]


def _mean(bounds: Bounds, confidence: Fraction) -> Conclusion:
    beta = _beta(bounds, confidence)
    lower, upper = mean_limit([arb(value) for value in bounds.lower], beta), None
    if bounds.upper is not None:
        upper = float_up(1 - arb(mean_limit([1 - arb(value) for value in bounds.upper], beta)))
    sentence = (
        f"With {level(confidence)} confidence, on average over the draw, {model(bounds)} classifies"
        f" {between(lower, upper)} of new inputs from {_of(bounds)} {correctly(bounds)}."
    )
    return _conclusion(bounds, confidence, "population-accuracy", lower, upper, sentence)


def _share(bounds: Bounds, confidence: Fraction, threshold: str) -> Conclusion:
    beta, tau, count = _beta(bounds, confidence), Fraction(threshold), len(bounds.lower)
    lower, upper = clopper_pearson_lower(sum(value >= tau for value in bounds.lower), count, beta), None
    if bounds.upper is not None:
        upper = clopper_pearson_upper(sum(value >= tau for value in bounds.upper), count, beta)
    sentence = (
        f"With {level(confidence)} confidence, {between(lower, upper)} of new inputs from {_of(bounds)} have"
        f" a probability of at least {level(tau)} that {model(bounds)} classifies them {correctly(bounds)}."
    )
    return _conclusion(bounds, confidence, f"population-share-{threshold}", lower, upper, sentence)


def _of(bounds: Bounds) -> str:
    """The population, which is known by its sample alone."""
    return f"the population that these {inputs(bounds.subject)} are a sample of"


def _beta(bounds: Bounds, confidence: Fraction) -> Fraction:
    """The probability that one limit may miss with."""
    return (1 - confidence) / (1 if bounds.upper is None else 2)


def _conclusion(
    bounds: Bounds, confidence: Fraction, name: str, lower: float, upper: float | None, sentence: str
) -> Conclusion:
    alone = (
        f"The statement misses for at most {level(1 - confidence)} of all samples; that one of several such"
        " statements misses is more probable."
    )
    said = (*assumptions(bounds, upper is not None), SAMPLE, alone)
    return Conclusion(name, bounds.rule, bounds.epsilon, lower, upper, sentence, said)


def _refused(bounds: Bounds, why: str) -> Conclusion:
    sentence = (
        f"From {inputs(bounds.subject)} nothing can be concluded about how {model(bounds)} classifies new"
        f" inputs on {ball(bounds)} around each: {why}."
    )
    return Conclusion("population-accuracy", bounds.rule, bounds.epsilon, None, None, sentence, ())
