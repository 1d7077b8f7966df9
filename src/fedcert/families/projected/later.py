"""The deviations of the layers beyond the second, from below.

The rows B_l of layer l see the noise N_l = B_l·(W̃_l h_{l−1}(x_c) + b̃_l), which is Gaussian given the layers
before, of deviation σ_l = √(Σ_k r_k² h_k² + r_b²). So Z_l = −N_l/σ_l is a standard normal that is independent
of all layers before, and where s_l ≤ σ_l ≤ s'_l,

    N_l ≥ −s'_l max(Z_l, 0) + s_l max(−Z_l, 0),

with Z_l that are independent of each other and of the first two layers. s'_l stands in the linear form. For
any h̄ ≥ 0, by the inequality of Cauchy and Schwarz,

    σ_l ≥ (Σ_k r_k² h̄_k h_k + r_b²) / √(Σ_k r_k² h̄_k² + r_b²):

a row of the activations h of layer l − 1 at the centre, without negative coefficients. s_l is a quantile of
its linear form.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.families.projected.centre import Known, LinearForm, linear_form
from fedcert.families.projected.chernoff import moments, quantile_rates
from fedcert.families.projected.relaxation import through_relu
from fedcert.laws.affine import IndependentAffine
from fedcert.laws.independent_noise import norm_up
from fedcert.numerics.rounding import down, up


def lowest_deviations(
    form: LinearForm, layers: Sequence[IndependentAffine], known: Known, failure: Float64[Tensor, "P"]
) -> tuple[list[Float64[Tensor, "P R"]], Float64[Tensor, "P R later"]]:
    """Lower bounds of the σ_l of a form, from layer L down to layer 3, each but for `failure`; and the λ.

    They hold on the events of `known`; where the layer's weights are known, without any failure. The bound of
    any other σ_l relies on one more event for the deviation of each layer from the third to l − 1 whose
    weights are random.

    Args:
        form: rows of the last layer.
        layers: all layers.
        known: what is known of the hidden layers.
        failure: how often a bound may fail.
    """
    lowest, rates = [], []
    for place in range(len(form.later)):
        depth = len(layers) - 1 - place
        if layers[depth].fixed_weights:  # σ_l = r_b
            low, rate = _from_below(form.noises[place].bias, layers[depth]), torch.zeros_like(form.constant)
        else:
            row = _row(form, layers[: depth + 1], known, place)
            low, rate = moments(row, quantile_rates(failure)).quantile(failure)
        lowest.append(torch.where(low > 0, low, 0.0))
        rates.append(rate)
    shape = (*form.constant.shape, 0)
    return lowest, torch.stack(rates, dim=-1) if rates else form.constant.new_zeros(shape)


def _row(form: LinearForm, layers: Sequence[IndependentAffine], known: Known, place: int) -> LinearForm:
    """A linear form that is at most σ_l, l the last of these layers.

    The exact law's r_k and h_k are at least 0, so each coefficient may be rounded down, and r_k may be less
    than its deviation.
    """
    noise, depth = form.noises[place], len(layers) - 1
    hidden = known.hidden[depth - 2]
    weight, bias = _from_below(noise.weight, layers[-1]), _from_below(noise.bias, layers[-1])
    towards = torch.cat([weight * hidden.mean.clamp(min=0.0).unsqueeze(-2), bias.unsqueeze(-1)], dim=-1)
    unit = down(towards / norm_up(towards).unsqueeze(-1)).clamp(min=0.0)
    coefficient, constant = down(unit[..., :-1] * weight), down(unit[..., -1] * bias)
    exact = torch.zeros_like(coefficient)
    rows, drop, charge = through_relu(coefficient.clamp(min=0.0), exact, hidden.lines, hidden.ceiling)
    own = linear_form(rows, layers[:-1], known.at_centre(depth))
    return own.shifted(down(constant + drop - up(charge)))


def _from_below(deviation: Float64[Tensor, "*shape"], layer: IndependentAffine) -> Float64[Tensor, "*shape"]:
    """A lower bound of the exact law's deviations, from upper ones."""
    return down(deviation - layer.looseness(deviation)).clamp(min=0.0)
