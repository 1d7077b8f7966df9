import math

import pytest
import torch
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import log_mass
from problems import normal, uniform, vector

from fedcert.errors import InvalidLaw, ShapeMismatch
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.numerics.box import Box
from fedcert.randomness import stream


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.sampled_from([1e-90, 1e-5, 1.0, 1e90]),
    st.sampled_from([0.0, 1.0, 1e6]),
    st.sampled_from([0.01, 1.0, 7.0]),
)
def test_the_log_mass_lies_between_its_bounds(seed, dimension, scale, offset, radius) -> None:
    generator = stream(seed, "laws")
    law = DiagonalGaussian(
        offset * scale * normal(generator, dimension), scale * (0.1 + uniform(generator, dimension))
    )
    box = Box.around(
        law.loc + law.scale * normal(generator, dimension), radius * law.scale * uniform(generator, dimension)
    )
    low, high = law.log_mass(box).item(), law.log_mass_upper(box).item()
    assert low <= high
    if (box.lower < box.upper).all():
        truth = log_mass(law, box)
        assert low == -math.inf or arb(low) <= truth
        assert truth <= arb(high)
        if offset <= 1:
            assert low == pytest.approx(float(truth), rel=1e-7)


def test_masses_do_not_underflow_where_a_product_would() -> None:
    law = DiagonalGaussian(torch.zeros(50_890, dtype=torch.float64), torch.ones(50_890, dtype=torch.float64))
    box = Box.around(law.loc, 1.0)
    expected = 50_890 * math.log(math.erf(1 / math.sqrt(2)))
    assert law.log_mass(box).item() == pytest.approx(expected, rel=1e-9)
    assert law.log_mass(box).item() < -1000


@pytest.mark.slow
@given(st.integers(0, 2**32))
def test_masses_hold_for_every_law_within_the_stated_error(seed: int) -> None:
    """Move mean and scale anywhere within their errors: the mass stays above the bound."""
    generator = stream(seed, "error")
    loc, scale = normal(generator, 3), 0.5 + uniform(generator, 3)
    loc_error, scale_error = 0.05 * uniform(generator, 3), 0.03
    law = DiagonalGaussian(loc, scale, loc_error, scale_error)
    box = Box.around(loc + 0.5 * normal(generator, 3), 0.1 + uniform(generator, 3))
    low, high = law.log_mass(box), law.log_mass_upper(box)
    for _ in range(20):
        moved = DiagonalGaussian(
            loc + loc_error * (2 * uniform(generator, 3) - 1).sign(),
            scale * (1 + scale_error * (2 * uniform(generator, 3) - 1)),
        )
        assert low <= moved.log_mass_upper(box)
        assert moved.log_mass(box) <= high


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1e-9, 1.0]), st.sampled_from([0.01, 1.0, 7.0]), st.booleans())
def test_the_box_around_the_mean_contains_the_real_one_and_weighs_less(seed, scale, radius, exact) -> None:
    """For a law that is only enclosed, the exact one may be anywhere within the errors."""
    generator = stream(seed, "central")
    law = DiagonalGaussian(
        normal(generator, 3),
        scale * (0.1 + uniform(generator, 3)),
        None if exact else 1e-15 * uniform(generator, 3),
        0.0 if exact else 1e-15,
    )
    radii = radius * (1 + uniform(generator, 2, 3))
    boxes = law.central_box(radii)
    with ctx.workprec(300):
        for u in range(2):
            mass = arb(1)
            for d in range(3):
                r, sigma = arb(radii[u, d].item()), arb(law.scale[d].item()) * (1 + arb(law.scale_error))
                error = arb(0 if law.loc_error is None else law.loc_error[d].item())
                mean = arb(law.loc[d].item())
                assert arb(boxes.lower[u, d].item()) <= mean - error - r * sigma
                assert arb(boxes.upper[u, d].item()) >= mean + error + r * sigma
                mass *= (r / arb(2).sqrt()).erf()
            found = law.central_log_mass(radii)[u].item()
            assert arb(found) <= mass.log()
            assert found == pytest.approx(float(mass.log()), rel=1e-9, abs=1e-12)
    one = law.central_log_mass(torch.full((1, 1), radius).double())
    assert torch.equal(one, law.central_log_mass(torch.full((1, 3), radius).double()))


def test_boxes_are_batched() -> None:
    law = DiagonalGaussian(vector(0.0, 1.0), vector(1.0, 2.0))
    boxes = Box.around(
        torch.zeros(5, 2, dtype=torch.float64), torch.arange(1.0, 6.0, dtype=torch.float64)[:, None]
    )
    masses = law.log_mass(boxes)
    assert masses.shape == (5,)
    assert (masses.diff() > 0).all()
    assert masses[3] == law.log_mass(boxes[3])


@pytest.mark.parametrize(
    ("loc", "scale"),
    [
        ((0.0,), (-1.0,)),
        ((0.0,), (math.nan,)),
        ((0.0,), (math.inf,)),
        ((0.0,), (1e-300,)),
        ((math.nan,), (1.0,)),
        ((math.inf,), (1.0,)),
    ],
)
def test_impossible_laws_raise(loc, scale) -> None:
    with pytest.raises(InvalidLaw):
        DiagonalGaussian(vector(*loc), vector(*scale))


def test_a_box_of_another_dimension_raises() -> None:
    law = DiagonalGaussian(vector(0.0, 1.0), vector(1.0, 2.0))
    with pytest.raises(ShapeMismatch):
        law.log_mass(Box.point(vector(0.0, 0.0, 0.0)))


def test_samples_follow_the_law() -> None:
    law = DiagonalGaussian(vector(3.0, -1.0), vector(0.5, 2.0))
    samples = law.sample(40_000, stream(0, "samples"))
    standard = (samples - law.loc) / law.scale
    assert (standard.mean(0).abs() < 0.03).all()
    assert ((standard.std(0) - 1).abs() < 0.03).all()
    inside = Box.around(law.loc, law.scale)
    share = ((samples >= inside.lower) & (samples <= inside.upper)).all(-1).double().mean().log()
    assert share.item() == pytest.approx(law.log_mass(inside).item(), abs=0.03)


def test_a_fixed_scale_replaces_the_learned_one() -> None:
    law = DiagonalGaussian(vector(3.0, -1.0), vector(0.5, 2.0)).with_scale(1e-5)
    assert law.scale.tolist() == [1e-5, 1e-5]


NEXT = math.nextafter(0.5, 1.0)
BEFORE = math.nextafter(0.5, 0.0)


def test_a_fixed_parameter_counts_only_strictly_inside_a_box() -> None:
    """Boxes that touch at the mean would count it twice, and so would two equal boxes without width."""
    law = DiagonalGaussian(vector(0.5), vector(0.0))
    ends = [(BEFORE, NEXT), (0.5, NEXT), (BEFORE, 0.5), (0.5, 0.5), (0.0, BEFORE), (NEXT, 1.0)]
    boxes = Box(*(vector(*side).unsqueeze(-1) for side in zip(*ends, strict=True)))
    assert law.log_mass(boxes).exp().tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert law.log_mass_upper(boxes).exp().tolist() == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]


def test_a_fixed_parameter_of_inexact_mean_counts_below_only_where_all_its_means_are_inside() -> None:
    law = DiagonalGaussian(vector(0.5), vector(0.0), vector(0.25), 0.1)
    ends = [(0.2, 0.8), (0.25, 0.8), (0.3, 0.8), (0.8, 0.9), (0.7, 0.9)]
    boxes = Box(*(vector(*side).unsqueeze(-1) for side in zip(*ends, strict=True)))
    assert law.log_mass(boxes).exp().tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert law.log_mass_upper(boxes).exp().tolist() == [1.0, 1.0, 1.0, 0.0, 1.0]


@given(st.integers(0, 2**32), st.lists(st.booleans(), min_size=1, max_size=6))
def test_fixed_parameters_are_factors_of_one_in_a_mass(seed: int, pattern: list[bool]) -> None:
    generator, random = stream(seed, "fixed"), torch.tensor(pattern)
    loc, scale = normal(generator, len(random)), 0.1 + uniform(generator, len(random))
    law = DiagonalGaussian(loc, scale * random)
    box = Box.around(loc, 0.1 + uniform(generator, len(random)))
    rest = DiagonalGaussian(loc[random], scale[random])
    inner = Box(box.lower[random], box.upper[random])
    for name in ("log_mass", "log_mass_upper"):
        assert getattr(law, name)(box).item() == pytest.approx(getattr(rest, name)(inner).item(), abs=1e-12)
    radius = 3 * uniform(generator, len(random))
    expected = rest.central_log_mass(radius[random]).item()
    assert law.central_log_mass(radius).item() == pytest.approx(expected, abs=1e-12)
    central = law.central_box(radius)
    assert ((central.lower < loc) & (loc < central.upper)).all()
    samples = law.sample(5, generator)
    assert (samples == loc)[:, ~random].all()
    assert not (samples == loc)[:, random].any()


def test_layers_of_a_law_keep_the_scale_zero() -> None:
    law = DiagonalGaussian(vector(1.0, 2.0), vector(0.0, 0.0), vector(0.1, 0.1), 0.25)
    (layer,) = law.layers(mlp(1, 1))
    assert not layer.weight_scale.any()
    assert not layer.bias_scale.any()
    assert layer.fixed_weights
    assert layer.fixed
    (biased,) = DiagonalGaussian(vector(1.0, 2.0), vector(0.0, 1.0)).layers(mlp(1, 1))
    assert biased.fixed_weights
    assert not biased.fixed
