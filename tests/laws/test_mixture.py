"""Mixtures against ball arithmetic, samples, and what holds for every measure."""

import math
from fractions import Fraction

import pytest
import torch
from balls import precision
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact, log_mass
from problems import normal, uniform, vector

from fedcert.certificate import clopper_pearson
from fedcert.errors import InvalidLaw, ShapeMismatch
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.numerics.box import Box
from fedcert.randomness import stream

ONE = DiagonalGaussian(vector(0.0), vector(1.0))


def make_mixture(generator: torch.Generator, dimension: int, components: int) -> GaussianMixture:
    return GaussianMixture(
        tuple(
            DiagonalGaussian(3 * normal(generator, dimension), 0.1 + uniform(generator, dimension))
            for _ in range(components)
        ),
        0.1 + uniform(generator, components),
    )


def exact_mass(law: GaussianMixture, box: Box) -> arb:
    """Σ_k π_k q_k(H)."""
    shares = [arb(w) for w in law.weights.tolist()]
    parts = [log_mass(component, box).exp() for component in law.components]
    return sum((s * p for s, p in zip(shares, parts, strict=True)), arb(0)) / sum(shares, arb(0))


@pytest.mark.slow
@given(
    st.integers(0, 2**32),
    st.integers(1, 3),
    st.integers(1, 4),
    st.sampled_from([0.1, 1.0, 8.0]),
    st.sampled_from([0.0, 30.0, 90.0]),
)
def test_the_mass_lies_between_its_bounds(seed, dimension, components, radius, decades) -> None:
    """Also where weights differ by more decades than a float has digits."""
    generator = stream(seed, "mixture")
    law = make_mixture(generator, dimension, components)
    law = GaussianMixture(law.components, 10 ** (decades * (2 * uniform(generator, components) - 1)))
    box = Box.around(law.loc + normal(generator, dimension), radius * (0.1 + uniform(generator, dimension)))
    low, high = law.log_mass(box).item(), law.log_mass_upper(box).item()
    with precision(2000):
        truth = exact_mass(law, box)
        assert low == -math.inf or arb(low) <= truth.log()
        assert truth.log() <= arb(high)
        assert float(truth) < 1e-200 or low == pytest.approx(float(truth.log()), rel=1e-7, abs=1e-12)


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(-300, 300))
def test_weights_count_only_in_proportion(seed: int, exponent: int) -> None:
    generator = stream(seed, "proportion")
    law = make_mixture(generator, 2, 3)
    other = GaussianMixture(law.components, law.weights * 2.0**exponent)
    boxes = Box.around(normal(generator, 5, 2), uniform(generator, 5, 2))
    assert torch.equal(law.log_mass(boxes), other.log_mass(boxes))
    assert torch.equal(law.log_mass_upper(boxes), other.log_mass_upper(boxes))
    assert torch.equal(law.loc, other.loc)


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_the_parts_of_a_box_weigh_what_it_weighs(seed: int, components: int) -> None:
    generator = stream(seed, "parts")
    law = make_mixture(generator, 2, components)
    whole = Box.around(law.loc, 0.1 + 5 * uniform(generator, 2))
    cut = whole.lower[0] + uniform(generator, 1)[0] * (whole.upper[0] - whole.lower[0])
    left = Box(whole.lower, torch.stack([cut, whole.upper[1]]))
    right = Box(torch.stack([cut, whole.lower[1]]), whole.upper)
    low = law.log_mass(left).exp() + law.log_mass(right).exp()
    high = law.log_mass_upper(left).exp() + law.log_mass_upper(right).exp()
    assert low.item() <= law.log_mass_upper(whole).exp().item() * (1 + 1e-15)
    assert high.item() >= law.log_mass(whole).exp().item() * (1 - 1e-15)
    assert low.item() == pytest.approx(high.item(), rel=1e-9)


def test_the_mean_is_the_weighted_mean_of_the_components() -> None:
    law = make_mixture(stream(5, "mean"), 3, 4)
    weights = [exact(w) for w in law.weights]
    for d in range(3):
        parts = (w * exact(own.loc[d]) for w, own in zip(weights, law.components, strict=True))
        assert law.loc[d].item() == pytest.approx(float(sum(parts, Fraction(0)) / sum(weights)), rel=1e-14)


def test_boxes_are_batched() -> None:
    law = make_mixture(stream(1, "batch"), 2, 3)
    boxes = Box.around(law.loc.expand(5, 2), torch.arange(1.0, 6.0).double()[:, None])
    for masses in (law.log_mass, law.log_mass_upper):
        assert masses(boxes).shape == (5,)
        assert (masses(boxes).diff() > 0).all()
        assert masses(boxes[3]) == masses(boxes)[3]
    with pytest.raises(ShapeMismatch):
        law.log_mass(Box.point(vector(0.0)))


def test_a_point_weighs_nothing_and_nothing_weighs_more_than_one() -> None:
    law = make_mixture(stream(2, "ends"), 2, 3)
    assert law.log_mass(Box.point(law.loc)) == -math.inf
    far = Box.around(vector(1e9, 1e9), 1.0)
    assert law.log_mass(far) <= law.log_mass_upper(far) < -1000
    everything = Box.around(law.loc, 1e6)
    assert -1e-12 < law.log_mass(everything) <= law.log_mass_upper(everything) <= 0


def test_a_mixture_of_one_is_its_component() -> None:
    law = DiagonalGaussian(vector(3.0, -1.0), vector(0.5, 2.0))
    box = Box.around(law.loc, 1.0)
    alone = GaussianMixture((law,), vector(0.3))
    assert alone.log_mass(box).item() == pytest.approx(law.log_mass(box).item(), rel=1e-12)
    assert torch.equal(alone.loc, law.loc)
    assert alone.components == law.components == (law,)
    assert alone.dimension == 2


@pytest.mark.parametrize("count", [0, 1])
def test_few_samples_or_none_can_be_drawn(count: int) -> None:
    one = DiagonalGaussian(torch.zeros(3).double(), torch.ones(3).double())
    for law in (one, GaussianMixture((one, one), torch.ones(2).double())):
        samples = law.sample(count, stream(0, "few"))
        assert (samples.shape, samples.dtype) == ((count, 3), torch.float64)


def test_samples_follow_the_mixture() -> None:
    generator = stream(3, "mixture")
    law = make_mixture(generator, 2, 3)
    samples = law.sample(40_000, generator)
    assert (samples.mean(0) - law.loc).abs().max() < 0.1
    box = Box.around(law.components[0].loc, 2 * law.components[0].scale)
    share = ((samples >= box.lower) & (samples <= box.upper)).all(-1).double().mean()
    assert share.item() == pytest.approx(law.log_mass(box).exp().item(), abs=0.02)


def test_each_component_is_drawn_as_often_as_it_weighs() -> None:
    places, weights = (-100.0, 0.0, 100.0), vector(1.0, 2.0, 5.0)
    law = GaussianMixture(tuple(DiagonalGaussian(vector(p), vector(1.0)) for p in places), weights)
    samples = law.sample(8000, stream(4, "shares"))
    for place, weight in zip(places, weights.tolist(), strict=True):
        least, most = clopper_pearson(int(((samples - place).abs() < 50).sum()), 8000, 1 - 1e-9)
        assert least <= weight / 8 <= most
    assert torch.equal(samples, law.sample(8000, stream(4, "shares")))


def test_another_device_has_the_same_law() -> None:
    law = make_mixture(stream(6, "device"), 2, 2)
    moved = law.to(torch.device("cpu"))
    assert torch.equal(moved.weights, law.weights)
    for one, other in zip(moved.components, law.components, strict=True):
        assert torch.equal(one.loc, other.loc)
        assert torch.equal(one.scale, other.scale)


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("weights", [[1, 3], torch.tensor([1.0, 3.0]), torch.tensor([1.0, 3.0]).half()])
def test_weights_of_any_type_become_double_precision(weights: object) -> None:
    law = GaussianMixture((ONE, ONE), weights)
    assert law.weights.dtype == torch.float64
    assert law.weights.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("components", "weights", "words"),
    [
        ((), (), "0 components but 0 weights"),
        ((ONE, ONE), (1.0,), "2 components but 1 weights"),
        ((ONE,), (1.0, 1.0), "1 components but 2 weights"),
        ((ONE, DiagonalGaussian(vector(0.0, 0.0), vector(1.0, 1.0))), (1.0, 1.0), "differ in dimension"),
        *(
            ((ONE, ONE), (1.0, weight), "positive, finite")
            for weight in (-1.0, 0.0, math.nan, math.inf, -math.inf, 1e-100, 1e100)
        ),
    ],
)
def test_impossible_mixtures_raise(components, weights, words: str) -> None:
    with pytest.raises(InvalidLaw, match=words):
        GaussianMixture(components, vector(*weights))
