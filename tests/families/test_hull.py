"""Hull search against exhaustive enumeration."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import normal, uniform

from fedcert.errors import ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.families.hull import certify_hulls
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.paper_box.transported import certify_transported
from fedcert.federation.estimates import aggregated_sampling
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule, TrimmedMean
from fedcert.search import exhaustive, heaviest_first
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier

NETWORK = mlp(2, 2)


class Counting:
    """An interval verifier that counts the boxes it is asked about."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, network, boxes, properties):
        self.calls += len(boxes)
        return IntervalVerifier()(network, boxes, properties)


def make_problem(seed: int, clients: int, components: int) -> tuple[list[GaussianMixture], Safe, Counting]:
    """Clients whose posteriors have several modes, some of which make unsafe aggregates."""
    generator = stream(seed, "hull")
    laws = [
        GaussianMixture(
            tuple(
                DiagonalGaussian(
                    2 * normal(generator, NETWORK.parameters),
                    0.05 * (0.5 + uniform(generator, NETWORK.parameters)),
                )
                for _ in range(components)
            ),
            0.1 + uniform(generator, components),
        )
        for _ in range(clients)
    ]
    x = Box.around(uniform(generator, 2, 2), 0.01)
    C, d = normal(generator, 2, 1, 2), 0.5 * normal(generator, 2, 1)
    verifier = Counting()
    return laws, Safe(NETWORK, Properties(x, C, d), verifier), verifier


def cells_of(laws: list[GaussianMixture]) -> list[Cells]:
    return [MeanBox().cells(law, 4.0) for law in laws]


RULES = {
    "fedavg": lambda n: LinearRule.fedavg([1] * n),
    "signed": lambda n: LinearRule(torch.tensor([[(-1.0) ** i] for i in range(n)], dtype=torch.float64)),
    "median": TrimmedMean.median,
    "trimmed": lambda n: TrimmedMean(n, (n - 1) // 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), clients=st.integers(1, 3), components=st.integers(1, 4))
@pytest.mark.usefixtures("without_annotations")
def test_run_to_the_end_it_equals_exhaustive_enumeration(rule, seed, clients, components) -> None:
    laws, safe, _ = make_problem(seed, clients, components)
    cells = cells_of(laws)
    full = certify_transported(cells, rule(clients), safe, exhaustive, 10**6, "box").lower
    found = certify_hulls(cells, rule(clients), safe, 10**6, "box").lower
    torch.testing.assert_close(found, full, rtol=1e-9, atol=1e-300)


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), budget=st.integers(1, 40))
@pytest.mark.usefixtures("without_annotations")
def test_for_a_budget_it_is_never_below_heaviest_first(seed: int, budget: int) -> None:
    laws, safe, _ = make_problem(seed, 3, 3)
    cells, rule = cells_of(laws), LinearRule.fedavg([1] * 3)
    heaviest = certify_transported(cells, rule, safe, heaviest_first, budget, "box").lower
    found = certify_hulls(cells, rule, safe, budget, "box").lower
    assert (found >= heaviest * (1 - 1e-12)).all()


@pytest.mark.slow
def test_a_larger_budget_never_lowers_the_bound_and_any_stop_is_sound() -> None:
    laws, safe, _ = make_problem(4, 3, 4)
    cells, rule = cells_of(laws), LinearRule.fedavg([1] * 3)
    full = certify_transported(cells, rule, safe, exhaustive, 10**6, "box").lower
    for budget in (1, 3, 10, 30, 100):
        found = certify_hulls(cells, rule, safe, budget, "box").lower
        assert (found <= full * (1 + 1e-12)).all()


def mixture_example() -> tuple[list[GaussianMixture], Safe, Counting]:
    """3 clients × 4 components; one component of the first points the other way: 48 of 64 tuples are safe."""
    good = torch.tensor([3.0, 0.0, 0.0, 3.0, 0.0, 0.0], dtype=torch.float64)
    laws = []
    for i in range(3):
        centers = [good + 0.2 * k + 0.05 * i for k in range(4)]
        if i == 0:
            centers[3] = -9 * good
        components = tuple(DiagonalGaussian(c, torch.full_like(c, 0.02)) for c in centers)
        laws.append(GaussianMixture(components, torch.tensor([0.3, 0.3, 0.2, 0.2], dtype=torch.float64)))
    x = Box.around(torch.tensor([[0.8, 0.2]], dtype=torch.float64), 0.01)
    C = torch.tensor([[[1.0, -1.0]]], dtype=torch.float64)
    verifier = Counting()
    return laws, Safe(NETWORK, Properties(x, C, torch.zeros(1, 1, dtype=torch.float64)), verifier), verifier


def test_a_mixture_with_safe_and_unsafe_tuples_needs_few_calls() -> None:
    laws, safe, verifier = mixture_example()
    rule = LinearRule.fedavg([1] * 3)
    cells = [MeanBox().cells(law, 4.0) for law in laws]
    full = certify_transported(cells, rule, safe, exhaustive, 10**6, "box").lower.item()
    assert verifier.calls == 64
    verifier.calls = 0
    found = certify_hulls(cells, rule, safe, 10**6, "box").lower.item()
    assert verifier.calls < 40
    assert found == pytest.approx(full, rel=1e-12)
    estimate = aggregated_sampling(laws, rule, safe.network, safe.properties, 4000, stream(0, "samples"))
    low, high = estimate.confidence_interval(0.9999)
    assert found <= high
    assert found > low - 0.02
    assert 0.3 < found < 0.9  # some tuples are safe, some are not


@pytest.mark.slow
def test_a_thousand_clients_need_one_call_where_the_hull_is_safe() -> None:
    laws, safe, verifier = mixture_example()
    good = GaussianMixture(laws[0].components[:3], laws[0].weights[:3])
    cells = [MeanBox().cells(good, 4.5)] * 1000
    safe = safe.only(torch.tensor([True]))
    found = certify_hulls(cells, LinearRule.fedavg([1] * 1000), safe, 10, "box").lower.item()
    assert verifier.calls == 1  # for 3^1000 tuples
    assert found > 0.9


def test_clients_without_cells_and_wrong_counts() -> None:
    laws, safe, _ = make_problem(0, 2, 2)
    cells = [*cells_of(laws[:1]), Cells.none(NETWORK.parameters)]
    rule = LinearRule.fedavg([1, 1])
    assert certify_hulls(cells, rule, safe, 10, "box").lower.tolist() == [0.0, 0.0]
    with pytest.raises(ShapeMismatch, match="cells of 1 clients"):
        certify_hulls(cells[:1], rule, safe, 10, "box")
