"""Lower bounds of the deviations of the layers beyond the second (docs/soundness.md, 9.7), in balls.

For any h̄ ≥ 0, σ_l = √(Σ_k r_k² h_k² + r_b²) ≥ (Σ_k r_k² h̄_k h_k + r_b²) / √(Σ_k r_k² h̄_k² + r_b²).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from flint import arb

from fedcert_check.balls import ZERO, Balls
from fedcert_check.projected.forms import Form, Known, linear_form, through_layer
from fedcert_check.projected.layers import RandomLayer, root, times
from fedcert_check.projected.lines import through_relu
from fedcert_check.validation import Array


def lowest_deviations(
    rows: Balls,
    layers: Sequence[RandomLayer],
    known: Known,
    rates: Array,
    failure: arb,
    reach: Array | None = None,
) -> list[Balls]:
    """Lower bounds of the σ_l that rows of the last layer see, from layer L down to layer 3.

    Args:
        rows: of the last layer.
        layers: all layers.
        known: of the hidden layers.
        rates: λ of the exponential moment of each row and layer; 0 where σ_l ≥ 0 is enough.
        failure: how often each bound may fail.
        reach: of each row's lines, which may be exceeded; None for lines that hold.
    """
    found = []
    for place, depth in enumerate(reversed(range(2, len(layers)))):
        before = known.hidden[depth - 2]
        if layers[depth].fixed_weights:  # σ_l = r_b
            found.append(layers[depth].deviations(rows)[1])
        else:
            form = _towards(rows, layers[: depth + 1], known)
            found.append(_array([_lowest(form, r, rate, failure) for r, rate in enumerate(rates[:, place])]))
        rows, _, _ = through_layer(times(rows, layers[depth].mean), before, reach)
    return found


def _towards(rows: Balls, layers: Sequence[RandomLayer], known: Known) -> Form:
    """A form of the activations before the last of these layers that is at most σ_l."""
    depth = len(layers) - 1
    before = known.hidden[depth - 2]
    noise, bias_noise = layers[-1].deviations(rows)
    towards = noise * _array([arb(max(0.0, float(mean.mid()))) for mean in before.mean])
    length = root((towards * towards).sum(-1) + bias_noise * bias_noise)
    inverse = _array([1 / own if own > 0 else ZERO for own in length])
    passed, drop = through_relu(noise * towards * inverse[:, None], before.lines)
    form = linear_form(passed, layers[:-1], known.at_centre(depth))
    return replace(form, constant=form.constant + drop + bias_noise * bias_noise * inverse)


def _lowest(form: Form, r: int, rate: float, failure: arb) -> arb:
    """The quantile of one row, or 0."""
    if not rate > 0:
        return ZERO
    exponent = form.exponent(r, arb(rate))
    if exponent is None:
        return ZERO
    bound = ((failure.log() - exponent) / rate).lower()
    return bound if bound > 0 else ZERO


def _array(values: list[arb]) -> Balls:
    return np.array(values, dtype=object)
