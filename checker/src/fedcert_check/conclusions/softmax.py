"""Decision by the mean softmax over the posterior: robust if its proven lower bound is above 1/2.

With M the least margin of the label over the ball and K classes, softmax_c ≥ s(M) at every point of the
ball, s(δ) = 1/(1 + (K − 1) e^−δ). s grows, so for δ_1 < … < δ_m, whatever M is,
s(M) ≥ Σ_i (s(δ_i) − s(δ_i−1)) 1{M ≥ δ_i} with s(δ_0) := 0: the sum is s at the largest δ_i ≤ M, or 0.
"""

from itertools import pairwise

from flint import arb

from fedcert_check.balls import ONE, ZERO
from fedcert_check.conclusions.bounds import Bounds
from fedcert_check.conclusions.conclusion import Conclusion
from fedcert_check.conclusions.words import assumptions, inputs, throughout

MEAN = (
    "The mean is that over the whole law of the deployed model; a mean over finitely many drawn models may"
    " differ."
)


def softmax(bounds: Bounds) -> Conclusion:
    """The number of inputs for which the label has more than half of the mean softmax on the whole ball."""
    half = ONE / 2
    count = sum(bool(mean > half) for mean in mean_softmax(bounds))
    around = f"{count:,} of {inputs(bounds.subject)}"
    sentence = (
        f"The mean softmax over the draws that {bounds.rule} may deploy decides for the label at every point"
        f" of {throughout(bounds, around)}: at each point the label's share is more than half."
        if count
        else f"Nothing can be concluded about the mean softmax over the draws that {bounds.rule} may deploy"
        f" on {throughout(bounds, inputs(bounds.subject), 'any')}: no proven share is above 50 %."
    )
    said = (*assumptions(bounds), MEAN)
    return Conclusion("mean-softmax", bounds.rule, bounds.epsilon, float(count), None, sentence, said)


def mean_softmax(bounds: Bounds) -> list[arb]:
    """For each input, a ball around a lower bound of E softmax_c on the whole ball.

    Pr(M ≥ δ) falls with δ, so what is proven at a larger margin counts at the smaller ones.
    """
    proven: dict[float, list[float]] = {}
    for margin, lower in ((bounds.subject.margin, bounds.lower), *bounds.at_margins):
        known = proven.get(margin, [0.0] * len(lower))
        proven[margin] = [max(pair) for pair in zip(known, lower, strict=True)]
    margins = sorted(proven)
    for smaller, larger in reversed(list(pairwise(margins))):
        proven[smaller] = [max(pair) for pair in zip(proven[smaller], proven[larger], strict=True)]
    shares = [ZERO, *(least_share(margin, bounds.classes or 2) for margin in margins)]
    steps = [after - before for before, after in pairwise(shares)]
    return [
        sum((step * arb(value) for step, value in zip(steps, values, strict=True)), ZERO)
        for values in zip(*(proven[margin] for margin in margins), strict=True)
    ]


def least_share(margin: float, classes: int) -> arb:
    """The least softmax of a class that wins by the margin: s(δ) = 1/(1 + (K − 1) e^−δ).

    Args:
        margin: δ.
        classes: K.
    """
    return 1 / (1 + (classes - 1) * (-arb(margin)).exp())
