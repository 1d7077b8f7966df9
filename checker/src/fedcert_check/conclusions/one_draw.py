"""One draw: how many inputs, which inputs, and whether all of them hold for the model that is deployed.

Only the probability of each S_p is known, not how they depend on each other. For any set A of inputs that
the draw has no say in, the expected number of violations in A is at most the sum of 1 − L_p over A, and
Pr(j violations or more) ≤ that sum / j (Markov; for j = 1 the union bound).
"""

import math
from fractions import Fraction
from itertools import accumulate

from fedcert_check.conclusions.bounds import Bounds
from fedcert_check.conclusions.conclusion import Conclusion
from fedcert_check.conclusions.rounding import below, level
from fedcert_check.conclusions.words import assumptions, correctly, inputs, model, verb
from fedcert_check.percent import percent_down
from fedcert_check.subject import singular

PROBABILITY = Fraction(95, 100)
"""With which a statement about one draw is to hold."""


def how_many(bounds: Bounds) -> Conclusion:
    """The largest number of inputs that hold with `PROBABILITY`, whichever they are.

    Of the k inputs with the largest L_p all but j − 1 hold unless there are j violations among them, so
    k − j + 1 do with the least j that Markov's inequality allows; the best k is taken. No larger number
    follows from the L_p alone (Rüger's inequality is sharp).
    """
    count = max(
        k - max(1, math.ceil(violations / (1 - PROBABILITY))) + 1
        for k, violations in enumerate(_violations(bounds), 1)
    )
    if count <= 0:
        return _nothing(bounds, "one-draw", "how many")
    sentence = (
        f"With probability at least {level(PROBABILITY)}, {model(bounds)} {verb(bounds)} at least"
        f" {count:,} of"
        f" {inputs(bounds.subject)} {correctly(bounds)}."
    )
    return _conclusion(bounds, "one-draw", float(count), sentence)


def which_at_once(bounds: Bounds) -> Conclusion:
    """The largest set of inputs, fixed before the draw, that hold all at once with `PROBABILITY`."""
    count = sum(violations <= 1 - PROBABILITY for violations in _violations(bounds))
    if count == 0:
        return _nothing(bounds, "most-at-once", "which")
    least = sorted(bounds.lower, reverse=True)[count - 1]
    noun = bounds.subject.noun if count > 1 else singular(bounds.subject.noun)
    which, together = (f"the {noun}", "") if count == 1 else (f"the {count:,} {noun}", ", all at once,")
    each = "each " if count > 1 else ""
    sentence = (
        f"With probability at least {level(PROBABILITY)}, {model(bounds)} {verb(bounds)}{together}"
        f" {which} with"
        f" the largest proven probability ({each}at least {percent_down(least)}) of {inputs(bounds.subject)}"
        f" {correctly(bounds)}."
    )
    return _conclusion(bounds, "most-at-once", float(count), sentence)


def all_at_once(bounds: Bounds) -> Conclusion:
    """Pr(all S_p) ≥ 1 − Σ (1 − L_p)."""
    probability = below(max(1 - _violations(bounds)[-1], Fraction(0)))
    if probability == 0:
        doing = "classifying" if bounds.subject.labelled else "satisfying"
        sentence = (
            f"Nothing can be concluded about {model(bounds)} {doing} all of {inputs(bounds.subject)} at"
            f" once {correctly(bounds)}: the proven probabilities of failure add up to 100 % or more."
        )
    else:
        sentence = (
            f"With probability at least {percent_down(probability)}, {model(bounds)} {verb(bounds)} all of"
            f" {inputs(bounds.subject)} at once {correctly(bounds)}."
        )
    return _conclusion(bounds, "all-at-once", probability, sentence)


def _violations(bounds: Bounds) -> list[Fraction]:
    """The most violations to expect among the k inputs with the largest L_p, for k = 1, 2, …, N."""
    return list(accumulate(1 - Fraction(value) for value in sorted(bounds.lower, reverse=True)))


def _nothing(bounds: Bounds, name: str, question: str) -> Conclusion:
    sentence = (
        f"Nothing can be concluded with probability {level(PROBABILITY)} about {question} of"
        f" {inputs(bounds.subject)} {model(bounds)} {verb(bounds)} {correctly(bounds)}: the proven"
        " probabilities"
        " are too small."
    )
    return _conclusion(bounds, name, 0.0, sentence)


def _conclusion(bounds: Bounds, name: str, value: float, sentence: str) -> Conclusion:
    return Conclusion(name, bounds.rule, bounds.epsilon, value, None, sentence, assumptions(bounds))
