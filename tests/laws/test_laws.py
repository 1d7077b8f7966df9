import math

import pytest
import torch
from flint import arb, ctx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import log_mass
from problems import normal, uniform, vector

from fedcert.errors import InvalidLaw, ShapeMismatch
from fedcert.laws import DiagonalGaussian, GaussianMixture
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
        ((0.0,), (0.0,)),
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


def make_mixture(generator: torch.Generator, dimension: int, components: int) -> GaussianMixture:
    return GaussianMixture(
        tuple(
            DiagonalGaussian(3 * normal(generator, dimension), 0.1 + uniform(generator, dimension))
            for _ in range(components)
        ),
        0.1 + uniform(generator, components),
    )


@pytest.fixture
def many_digits():
    saved, ctx.prec = ctx.prec, 2000
    yield
    ctx.prec = saved


@pytest.mark.slow
@pytest.mark.usefixtures("many_digits")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 4), st.sampled_from([0.1, 1.0, 8.0]))
def test_the_mass_of_a_mixture_lies_between_its_bounds(seed, dimension, components, radius) -> None:
    generator = stream(seed, "mixture")
    law = make_mixture(generator, dimension, components)
    box = Box.around(law.loc + normal(generator, dimension), radius * (0.1 + uniform(generator, dimension)))
    shares = [arb(w) for w in law.weights.tolist()]
    parts = [log_mass(component, box).exp() for component in law.components]
    truth = sum((s * p for s, p in zip(shares, parts, strict=True)), arb(0)) / sum(shares, arb(0))
    low, high = law.log_mass(box).item(), law.log_mass_upper(box).item()
    assert low == -math.inf or arb(low) <= truth.log()
    assert truth.log() <= arb(high)
    assert float(truth) < 1e-200 or low == pytest.approx(float(truth.log()), rel=1e-7, abs=1e-12)


def test_a_mixture_of_one_is_its_component() -> None:
    law = DiagonalGaussian(vector(3.0, -1.0), vector(0.5, 2.0))
    box = Box.around(law.loc, 1.0)
    alone = GaussianMixture((law,), vector(0.3))
    assert alone.log_mass(box).item() == pytest.approx(law.log_mass(box).item(), rel=1e-12)
    assert torch.equal(alone.loc, law.loc)
    assert law.components == (law,)


def test_samples_of_a_mixture_follow_it() -> None:
    generator = stream(3, "mixture")
    law = make_mixture(generator, 2, 3)
    samples = law.sample(40_000, generator)
    assert (samples.mean(0) - law.loc).abs().max() < 0.1
    box = Box.around(law.components[0].loc, 2 * law.components[0].scale)
    share = ((samples >= box.lower) & (samples <= box.upper)).all(-1).double().mean()
    assert share.item() == pytest.approx(law.log_mass(box).exp().item(), abs=0.02)


@pytest.mark.parametrize("weights", [(1.0,), (1.0, -1.0), (1.0, 0.0), (1.0, math.nan), (1.0, math.inf)])
def test_impossible_mixtures_raise(weights) -> None:
    law = DiagonalGaussian(vector(0.0), vector(1.0))
    with pytest.raises(InvalidLaw):
        GaussianMixture((law, law), vector(*weights))
    with pytest.raises(InvalidLaw, match="dimension"):
        GaussianMixture((law, DiagonalGaussian(vector(0.0, 0.0), vector(1.0, 1.0))), vector(1.0, 1.0))
