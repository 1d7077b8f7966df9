"""Decision by majority vote of the posterior: the label wins on the whole ball if L_p > 1/2."""

from fedcert_check.conclusions.bounds import Bounds
from fedcert_check.conclusions.conclusion import Conclusion
from fedcert_check.conclusions.words import assumptions, inputs, throughout

VOTERS = (
    "The vote is that of the whole law of the deployed model: at each point every class has the probability"
    " that a draw chooses it. A vote of finitely many drawn models may differ."
)


def vote(bounds: Bounds) -> Conclusion:
    """The number of inputs with L_p > 1/2.

    At each x of the ball Pr(the draw chooses the label at x) ≥ Pr(S_p) ≥ L_p > 1/2, more than all other
    classes have together.
    """
    count = sum(value > 0.5 for value in bounds.lower)
    around = f"{count:,} of {inputs(bounds.subject)}"
    sentence = (
        f"A majority vote over the draws that {bounds.rule} may deploy decides for the label at every point"
        f" of {throughout(bounds, around)}: at each point more than half of the draws choose it."
        if count
        else f"Nothing can be concluded about a majority vote over the draws that {bounds.rule} may deploy"
        f" on {throughout(bounds, inputs(bounds.subject), 'any')}: no proven probability is above 50 %."
    )
    said = (*assumptions(bounds), VOTERS)
    return Conclusion("vote", bounds.rule, bounds.epsilon, float(count), None, sentence, said)
