import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform, vector

from fedcert.certificate import clopper_pearson
from fedcert.errors import InvalidConfig, InvalidLaw
from fedcert.families.projected.components import Interval, enclosing, mixture_bounds
from fedcert.families.projected.direct import lower_bound
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.randomness import stream
from fedcert.rules import LinearRule


def point(at: float, scale: float = 1.0) -> DiagonalGaussian:
    return DiagonalGaussian(vector(at), vector(scale))


class Recorder:
    """A bound that knows the tuples it was asked for: L is 1 where all means are ≥ 0."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, ...]] = []

    def __call__(self, laws: Sequence[DiagonalGaussian]) -> Interval:
        self.asked.append(tuple(law.loc.item() for law in laws))
        safe = vector(1.0 if all(place >= 0 for place in self.asked[-1]) else 0.0)
        return safe, safe


@pytest.mark.parametrize("budget", [3, 12, 100])
def test_the_heaviest_tuples_come_first_and_weights_enclose_the_exact_products(budget: int) -> None:
    weights = [(0.3, 0.1, 7.0), (1 / 3, 1 / 7), (1e-50, 5.0)]
    laws = [GaussianMixture(tuple(map(point, range(len(own)))), vector(*own)) for own in weights]
    shares = [[Fraction(w) / sum(map(Fraction, own)) for w in own] for own in weights]
    exact = sorted((math.prod(chosen) for chosen in product(*shares)), reverse=True)
    bound = Recorder()
    found = mixture_bounds(laws, bound, budget, 0.0)
    assert found.calls == len(bound.asked) == len(set(bound.asked)) == min(budget, 12)
    heaviest = sum(exact[: found.calls])
    assert Fraction(found.lower.item()) <= heaviest
    assert found.lower.item() == pytest.approx(float(heaviest), rel=1e-13)
    assert found.upper.item() == 1.0


def test_a_tuple_beyond_the_budget_counts_nothing_below_and_fully_above() -> None:
    law = GaussianMixture((point(-1.0), point(1.0)), vector(1.0, 3.0))
    found = mixture_bounds([law, law], Recorder(), 2, 0.0)
    assert found.lower.item() == pytest.approx(9 / 16, rel=1e-13)
    assert found.upper.item() == pytest.approx(1 - 3 / 16, rel=1e-13)
    everything = mixture_bounds([law, law], Recorder(), 4, 0.0)
    assert everything.upper.item() == pytest.approx(9 / 16, rel=1e-13)


def test_one_bound_serves_components_that_are_close_to_each_other() -> None:
    near = GaussianMixture(tuple(point(1 + 1e-3 * k) for k in range(4)), vector(1.0, 2.0, 3.0, 4.0))
    far = GaussianMixture((point(0.0), point(5.0), point(5.01)), vector(1.0, 1.0, 1.0))
    bound = Recorder()
    alone = mixture_bounds([near] * 5, bound, 256, 0.0)
    assert alone.calls == 1
    assert bounds(alone) == (1.0, 1.0)
    both = mixture_bounds([near, far], bound, 256, 0.0)
    assert both.calls == 2
    assert both.lower.item() == pytest.approx(1.0, abs=1e-13)


def bounds(found) -> tuple[float, float]:
    return found.lower.item(), found.upper.item()


def test_a_node_that_is_not_good_enough_is_split_and_its_parts_keep_what_it_had() -> None:
    law = GaussianMixture((point(0.0), point(0.01)), vector(1.0, 1.0))
    asked = []

    def bound(laws: Sequence[DiagonalGaussian]) -> Interval:
        asked.append(laws[0].loc_error is not None)
        return (vector(0.6), vector(0.9)) if asked[-1] else (vector(0.5), vector(0.95))

    found = mixture_bounds([law], bound, 3, 1e-3)
    assert asked == [True, False, False]
    assert found.lower.item() == pytest.approx(0.6, abs=1e-12)
    assert found.upper.item() == pytest.approx(0.9, abs=1e-12)
    assert bounds(mixture_bounds([law], bound, 1, 1e-3)) == pytest.approx((0.6, 0.9), abs=1e-12)


@pytest.mark.slow
def test_a_mixture_of_many_clients_is_not_enumerated() -> None:
    law = GaussianMixture((point(0.0), point(9.0)), vector(1.0, 1.0))
    found = mixture_bounds([law] * 40, Recorder(), 16, 0.0)
    assert found.calls == 16
    assert found.lower.item() == pytest.approx(16 / 2**40, rel=1e-9)


def test_a_single_gaussian_keeps_its_bounds_to_the_last_bit() -> None:
    found = mixture_bounds([point(0.0), point(1.0)], lambda laws: (vector(0.1), vector(0.3)), 1, 0.0)
    assert bounds(found) == (0.1, 0.3)


def test_a_budget_of_nothing_is_refused() -> None:
    for law in (point(0.0), GaussianMixture((point(0.0), point(9.0)), vector(1.0, 1.0))):
        with pytest.raises(InvalidConfig, match="at least one"):
            mixture_bounds([law], Recorder(), 0, 0.0)


@given(seed=st.integers(0, 2**32), size=st.sampled_from([1e-300, 1e-9, 1.0, 1e90]), members=st.integers(1, 4))
def test_an_enclosing_law_stands_for_all_its_members(seed: int, size: float, members: int) -> None:
    generator = stream(seed, "enclosing")
    laws = [
        DiagonalGaussian(size * normal(generator, 3), 1.0 + 0.3 * uniform(generator, 3))
        for _ in range(members)
    ]
    hull = enclosing(laws)
    assert hull.loc_error is not None
    for law in laws:
        for d in range(3):
            away = abs(Fraction(law.loc[d].item()) - Fraction(hull.loc[d].item()))
            assert away <= Fraction(hull.loc_error[d].item())
            ratio = Fraction(law.scale[d].item()) / Fraction(hull.scale[d].item())
            assert abs(ratio - 1) <= Fraction(hull.scale_error)


def test_the_errors_of_laws_are_not_lost_in_a_hull() -> None:
    """Laws that stand for several are bounded one by one, with their errors."""
    inexact = DiagonalGaussian(vector(1.0), vector(1.0), vector(0.01), 0.0)
    wide = DiagonalGaussian(vector(1.0), vector(1.0), None, 0.1)
    for own in (inexact, wide):
        with pytest.raises(InvalidLaw, match="errors"):
            enclosing([point(1.0), own])
        asked: list[DiagonalGaussian] = []

        def bound(laws: Sequence[DiagonalGaussian], asked: list[DiagonalGaussian] = asked) -> Interval:
            asked.extend(laws)
            return vector(1.0), vector(1.0)

        assert (
            mixture_bounds([GaussianMixture((point(1.0), own), vector(1.0, 1.0))], bound, 9, 0.0).calls == 2
        )
        assert any(law is own for law in asked)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_a_hull_holds_for_every_tuple_of_it(seed: int) -> None:
    generator = stream(seed, "hulls")
    network = mlp(4, 8, 3)
    loc = 2 * network.initialise(generator).double()
    scale = 0.05 * (0.5 + uniform(generator, len(loc)))
    clients = [
        [
            DiagonalGaussian(
                loc + 5e-4 * normal(generator, len(loc)), scale * (1 + 1e-5 * uniform(generator, 1))
            )
            for _ in range(2)
        ]
        for _ in range(2)
    ]
    x = uniform(generator, 2, 4)
    label = network(loc, x).argmax(-1)
    properties = linf_robustness(x, label, 1e-3, classes=3)
    rule = LinearRule.fedavg([1, 3])
    bound, _ = lower_bound(network, rule.pushforward([enclosing(own) for own in clients]), properties)
    assert bound.max() > 0
    for chosen in product(*clients):
        theta = rule.pushforward(chosen).sample(3000, generator)
        margins = torch.einsum("prk,bpk->bpr", properties.C, network(theta, x.expand(3000, -1, -1)))
        for p in range(2):
            safe = int((margins[:, p] >= 0).all(-1).sum())
            assert bound[p].item() <= clopper_pearson(safe, 3000, 1 - 1e-9)[1]
