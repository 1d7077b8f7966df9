"""Each charge of the rounding analysis is needed: without it, an ill-conditioned case is bounded wrongly.

A row of `CHARGES` names what docs/soundness.md charges, how it is taken away, and a case whose bound is
compared with exact arithmetic: right with the charge, wrong without it. Not in the table is what cannot be
made to fail, since another charge covers it:

- `down`, `up` and `above` after a charge by Lemma 2, whose factor of two covers one more rounding, and in
  sums of a few masses or prices, each of which is further from its exact value than the sum's rounding;
- the five roundings of `_standardised` as far as masses go, and the last charge of `log_mass_lower` and
  `log_mass_upper`: the tails' 40 u (z² + z + 1) covers them, so the row below is about the end points;
- γ in `_log_probability` and in `_count`: every mass that they add up is rounded down by more;
- the charge of `linear_form` and `form` for adding up their constants: each constant is charged for more, so
  the rows below take away all that their terms were charged for;
- the roundings of `folded_mean`: its bound is above the mean by more, except at 0, where a constant that is
  rounded up covers them;
- rows whose difference is rounded, which `overlap.Margins` leaves out: what their products are charged for
  covers one more rounding of their coefficients;
- what a library may err, where the one at hand errs less than it is charged for: `exp_up` and `log_up` are
  right by `up` alone, and for the Faddeeva function the row below is about φ with no charge at all.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import charge_cases as cases
import pytest
import torch
from sabotage import everywhere, ignoring_signs, uncharged, unmoved
from torch import Tensor

from fedcert.families.projected import carried, centre, excess, inversion, relaxation, spread, tails, view
from fedcert.laws import conv_affine, covariance, independent_noise, kernel_parts, kronecker
from fedcert.laws import diagonal_affine as affine
from fedcert.model.layers import activation, s_shaped
from fedcert.numerics import backward, enclosure, envelope, interval
from fedcert.numerics import rounding as numerics
from fedcert.rules import linear as linear_rule
from fedcert.verify import linear as verifier

Patch = Callable[[pytest.MonkeyPatch], None]


def no_underflow(monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere(monkeypatch, "rounding_error", lambda k, magnitude: numerics.gamma(2 * k) * magnitude)


def without(function: str) -> Patch:
    """`rounding_error` charges nothing in one function."""
    return lambda monkeypatch: uncharged(monkeypatch, function)


def both(function: str) -> Patch:
    """Neither `rounding_error` in one function nor the step to the next float."""

    def remove(monkeypatch: pytest.MonkeyPatch) -> None:
        uncharged(monkeypatch, function)
        everywhere(monkeypatch, "up", unmoved)

    return remove


def nothing_above(x: Tensor, roundings: int) -> Tensor:
    """An `above` that forgets all that was charged."""
    return torch.zeros_like(x)


def changed(module: object, name: str, value: object) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr(module, name, value)


def uncharged_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the kernel's rounding nor that of the product."""
    monkeypatch.setattr(conv_affine, "gamma", nothing_lost)


def inward(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("down", "up"):
        everywhere(monkeypatch, name, unmoved)


def touching_inward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are not moved to the outside of what they touch."""
    for name in ("down", "up"):
        monkeypatch.setattr(activation, name, unmoved)


def nothing_lost(roundings: int) -> float:
    """A `gamma` that charges nothing."""
    return 0.0


def steep_tangents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines above tanh are not moved by what their slope differs from the tangent's."""
    uncharged(monkeypatch, "tanh_down")
    for name in ("down", "up"):
        monkeypatch.setattr(s_shaped, name, unmoved)


def inward_logistic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither tanh nor the sum with ½ is rounded outward."""
    uncharged(monkeypatch, "tanh_down")
    for name in ("down", "up"):
        monkeypatch.setattr(s_shaped, name, unmoved)


def inward_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of intervals and of coefficients are not rounded outward."""
    for name in ("down", "up"):
        monkeypatch.setattr(interval, name, unmoved)


def nothing_outward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither products nor sums of enclosures are rounded outward."""
    uncharged(monkeypatch, "sum_down")
    for name in ("down", "up"):
        monkeypatch.setattr(enclosure, name, unmoved)


def unsteep(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a share of the noise may exceed the root of its mean square by costs nothing."""
    monkeypatch.setattr(affine.math, "pi", math.inf)


def exact_scales(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scales are taken to be as large as stated."""
    monkeypatch.setattr(affine.DiagonalAffine, "looseness", lambda _self, deviation: 0 * deviation)


def as_it_is(x: Tensor, roundings: int) -> Tensor:
    """An `above` that stays where it is."""
    return x


@dataclass(frozen=True)
class Charge:
    """What is charged, how it is taken away, and a case that is bounded rightly with it alone."""

    name: str
    remove: Patch
    case: Callable[[], bool]


CHARGES = [
    Charge("numerics.sum_down: γ Σ|t|", without("sum_down"), cases.sums),
    Charge("numerics.exp_down: 16 u", without("exp_down"), cases.exponentials),
    Charge("numerics.log_down: 16 u", without("log_down"), cases.logarithms),
    Charge("numerics.exp_up: 16 u and up", both("exp_up"), cases.exponentials_from_above),
    Charge("numerics.log_up: 16 u and up", both("log_up"), cases.logarithms_from_above),
    Charge("numerics.rounding_error: underflow", no_underflow, cases.underflow),
    Charge("gaussian._tail: 40 u (z² + z + 1)", without("_tail"), cases.normal_tails),
    Charge("laws._standardised: five roundings", without("_standardised"), cases.end_points),
    Charge("rules.LinearRule._combine: image", without("_combine"), cases.image),
    Charge("rules.LinearRule._combine: mean of the deployed law", without("_combine"), cases.deployed_mass),
    Charge(
        "rules.LinearRule.pushforward: scale",
        changed(linear_rule, "gamma", nothing_lost),
        cases.deployed_scale,
    ),
    Charge("rules.TrimmedMean._mean", without("_mean"), cases.trimmed_mean),
    Charge("numerics.interval.affine", without("affine"), cases.interval),
    Charge("layers.linear._least_product: coefficients", without("_least_product"), cases.coefficients),
    Charge("layers.Conv2d.interval", without("affine"), cases.kernel_that_cancels),
    Charge(
        "layers.Conv2d._least_product: coefficients", without("_least_product"), cases.filters_that_cancel
    ),
    Charge("laws.ConvNoise._forms", without("_forms"), cases.forms_that_cancel),
    Charge("laws.ConvNoise.bias", without("bias"), cases.biases_that_cancel),
    Charge("laws.DependentConvNoise.form: T", without("form"), cases.dependent_forms_that_cancel),
    Charge("laws.DependentConvNoise.form: β", without("form"), cases.dependent_biases_that_cancel),
    Charge("projected.joined.joint_deviation: T", without("form"), cases.joined_forms_that_cancel),
    Charge(
        "laws.KroneckerKernel.of_form",
        changed(kernel_parts, "gamma", nothing_lost),
        cases.kronecker_forms_that_cancel,
    ),
    Charge(
        "laws.KroneckerKernel.of_pixels",
        changed(kernel_parts, "gamma", nothing_lost),
        cases.kronecker_pixels_that_cancel,
    ),
    Charge("laws.ConvAffine.product", changed(conv_affine, "gamma", nothing_lost), cases.convolved_product),
    Charge("laws.ConvAffine.at: mean", without("at"), cases.convolved_outputs),
    Charge("laws.ConvAffine.mean_pool: 1/K", uncharged_pools, cases.pooled_product),
    Charge("layers.AvgPool2d.interval", without("sum_down"), cases.mean_of_an_interval),
    Charge("layers.AvgPool2d.backward: coefficients", without("backward"), cases.overlapping_means),
    Charge("layers.MaxPool2d._onto_pixels", without("_onto_pixels"), cases.overlapping_maxima),
    Charge("numerics.total: one float outward", inward_sums, cases.sum_of_chains),
    Charge("numerics.tanh_down: 16 u", without("tanh_down"), cases.tangents),
    Charge("layers.s_shaped.line_above", steep_tangents, cases.lines_around_tanh),
    Charge("layers.Sigmoid.interval", inward_logistic, cases.logistic_values),
    Charge("numerics.backward.least: constants", without("least"), cases.constants),
    Charge("numerics.backward.least_over_box: products", without("least_over_box"), cases.products_of_both),
    Charge("numerics.backward.least_over_box: constants", without("least_over_box"), cases.constants_of_both),
    Charge("numerics.backward.settled: above", changed(backward, "above", as_it_is), cases.lost_by_settling),
    Charge("numerics.backward.settled: down", changed(backward, "down", unmoved), cases.settled_constant),
    Charge(
        "layers.activation.through_lines: underflow",
        changed(activation, "SMALLEST_NORMAL", 0.0),
        cases.underflowing_slope,
    ),
    Charge("layers.activation.touching: down, up", touching_inward, cases.touching_lines),
    Charge("verify.linear.margins: down", changed(verifier, "down", unmoved), cases.offset_of_a_margin),
    Charge("properties.linf_robustness: down, up", inward, cases.region),
    Charge("laws.DiagonalAffine.product", without("product"), cases.layer_product),
    Charge("laws.DiagonalAffine.offset", without("offset"), cases.layer_offset),
    Charge("laws.DiagonalAffine.noise: above", changed(affine, "above", as_it_is), cases.deviations),
    Charge(
        "laws.DiagonalAffine.noise: underflow",
        changed(affine, "up", unmoved),
        cases.underflowing_rows,
    ),
    Charge("laws.DiagonalAffine.looseness", changed(affine, "gamma", nothing_lost), cases.looseness),
    Charge(
        "laws.DiagonalAffine.at: underflow",
        changed(affine, "up", unmoved),
        cases.underflowing_inputs,
    ),
    Charge("laws.DiagonalAffine.at", without("at"), cases.first_layer),
    Charge(
        "laws.DiagonalAffine.at: underflow beside a fixed bias",
        changed(affine, "UNDERFLOW", 0.0),
        cases.underflowing_fixed_bias,
    ),
    Charge("projected.centre._folded: γ Σ|A h|", without("_folded"), cases.sums_of_numbers),
    Charge(
        "projected.centre._folded: looseness", changed(centre, "gamma", nothing_lost), cases.noise_of_numbers
    ),
    Charge(
        "projected.centre._folded: underflow", changed(centre, "UNDERFLOW", 0.0), cases.no_noise_of_numbers
    ),
    Charge("numerics.rectified.second_moment", without("second_moment"), cases.second_moments),
    Charge("numerics.rectified.log_moment", without("log_moment"), cases.log_moments),
    Charge("projected.relaxation.through_relu", without("through_relu"), cases.lines),
    Charge(
        "projected.relaxation: underflow",
        changed(relaxation, "SMALLEST_NORMAL", 0.0),
        cases.underflowing_lines,
    ),
    Charge("enclosure.square: down", changed(enclosure, "down", unmoved), cases.squares),
    Charge("laws.DiagonalAffine.movement: τ/π", unsteep, cases.shaken_movement),
    Charge("laws.IndependentNoise.over: above", changed(independent_noise, "above", as_it_is), cases.noise),
    Charge("projected.spread.rounded_centre: up", changed(spread, "up", unmoved), cases.covered_region),
    Charge("projected.centre.linear_form", changed(centre, "above", nothing_above), cases.linear_forms),
    Charge("projected.view.form", changed(view, "above", nothing_above), cases.chained_forms),
    Charge("projected.centre.shifted: down", changed(centre, "down", unmoved), cases.shifted_form),
    Charge("projected.chernoff._exponents", without("_exponents"), cases.exponent),
    Charge("projected.later: looseness", exact_scales, cases.lowest_deviation),
    Charge("projected.excess: E T", changed(excess, "_PEAK", 0.0), cases.exceeded_lines),
    Charge("envelope: π (c − ρ)²/4", changed(envelope, "EXCESS", 0.0), cases.rough_envelopes),
    Charge("projected.inversion.ERROR", changed(inversion, "ERROR", 0.0), cases.characteristic_function),
    Charge("projected.tails.total: above", changed(tails, "above", as_it_is), cases.total_deviation),
    Charge("projected.tails._convolve_down", changed(tails, "gamma", nothing_lost), cases.convolution),
    Charge(
        "laws.Covariance.root: ε (|c|·d)²", changed(covariance, "gamma", nothing_lost), cases.cancelling_noise
    ),
    Charge(
        "laws.Covariance.of_factor: the factor's error",
        changed(linear_rule, "DenseGaussian", cases.forgetful),
        cases.deployed_factor,
    ),
    Charge(
        "laws.covariance.weighed_sizes: ε e e",
        changed(covariance, "gamma", nothing_lost),
        cases.cancelling_gram,
    ),
    Charge(
        "laws.Covariance.least_projection: ε (|c|·d)²",
        changed(covariance, "gamma", nothing_lost),
        cases.cancelling_noise_from_below,
    ),
    Charge(
        "laws.kronecker.least_products",
        changed(kronecker, "gamma", nothing_lost),
        cases.cancelling_factors_from_below,
    ),
    Charge(
        "laws.DenseNoise.along: ε (|c|·d)²",
        changed(covariance, "gamma", nothing_lost),
        cases.directions_that_cancel,
    ),
    Charge(
        "laws.DenseNoise.covariances: ε e (|c|·d)",
        changed(covariance, "gamma", nothing_lost),
        cases.covariances_that_cancel,
    ),
    Charge("projected.carried.to_inputs: rows", changed(carried, "above", nothing_above), cases.carried_rows),
    Charge(
        "projected.carried.to_inputs: features",
        changed(carried, "above", nothing_above),
        cases.carried_features,
    ),
    Charge("enclosure.mul and sum, in a half-space", nothing_outward, cases.half_space),
    Charge("enclosure.sub: down, in 1 − V", changed(enclosure, "down", unmoved), cases.complement),
    Charge("enclosure.add: up, in a sum of prices", changed(enclosure, "up", unmoved), cases.violation_sum),
    Charge("enclosure.truediv: signs, near zero", ignoring_signs, cases.half_space_of_tiny_coefficients),
]


@pytest.mark.parametrize("charge", CHARGES, ids=[charge.name for charge in CHARGES])
def test_a_bound_is_right_with_a_charge_and_wrong_without_it(
    charge: Charge, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert charge.case()
    charge.remove(monkeypatch)
    assert not charge.case()
