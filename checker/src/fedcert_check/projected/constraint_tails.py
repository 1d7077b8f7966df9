"""Upper bounds of the probabilities that constraints are violated (docs/soundness.md, 9.6 to 9.8, 9.12)."""

from collections.abc import Sequence
from typing import NamedTuple

from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls
from fedcert_check.projected.excess import price_of_excess
from fedcert_check.projected.forms import Form
from fedcert_check.projected.inversion import Row, lower_tail
from fedcert_check.projected.layers import largest


class TailChoice(NamedTuple):
    """What the witness says of one constraint.

    Attributes:
        rate: λ of the exponential moment.
        centre: about the mean.
        spread: about the deviation.
        terms: of the inversion; 0 for none.
        lowest: λ of the lower bounds of the deviations of the layers beyond the second, from the last down.
        reach: of lines that may be exceeded; 0 for lines that hold.
    """

    rate: float
    centre: float
    spread: float
    terms: int
    lowest: tuple[float, ...] = ()
    reach: float = 0.0


def row_tail(form: Form, r: int, chosen: TailChoice, lowest: Sequence[Balls]) -> arb:
    """An upper bound of Pr(Y ≤ T) for one row, by an exponential moment or by inversion, and by E T.

    Args:
        form: the rows.
        r: the row.
        chosen: any choice.
        lowest: lower bounds of the deviations of the form's later layers.
    """
    more = price_of_excess(form.excess[r], lowest[0][r]) if lowest else ZERO
    if not more.is_finite():
        return ONE
    return more + _tail_of_form(form, r, chosen, lowest)


def _tail_of_form(form: Form, r: int, chosen: TailChoice, lowest: Sequence[Balls]) -> arb:
    """An upper bound of Pr(Y ≤ 0)."""
    K = form.exponent(r, arb(chosen.rate))
    least = ONE if K is None or not K.is_finite() else min(ONE, K.exp().upper())
    if not (chosen.spread > 0 and chosen.terms > 0):
        return least
    row = Row(
        form.constant[r],
        form.coefficient[r].tolist(),
        form.noise[r].tolist(),
        form.bias_noise[r],
        [(low[r], high[r]) for low, high in zip(lowest, form.later, strict=True)],
        form.mean[r].tolist(),
        form.scale.tolist(),
    )
    found = lower_tail(row, arb(chosen.centre), arb(chosen.spread), chosen.terms)
    return largest(min(least, found.upper()), ZERO) if found.is_finite() else least
