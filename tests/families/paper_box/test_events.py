import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal
from scipy.integrate import quad
from scipy.stats import norm

from fedcert.errors import InvalidConfig
from fedcert.families.paper_box.events import PaperBox, SampledBoxes
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box, overlap
from fedcert.randomness import stream
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier


def standard(dimension: int, scale: float = 1.0) -> DiagonalGaussian:
    loc = torch.zeros(dimension, dtype=torch.float64)
    return DiagonalGaussian(loc, torch.full_like(loc, scale))


def factor_loss(gamma: float, power: int) -> float:
    """1 − E[m^power] with m = Φ(Z + γ) − Φ(Z − γ), the factor of one coordinate, by quadrature."""

    def loss(z: float) -> float:
        outside = norm.sf(z + gamma) + norm.sf(gamma - z)
        return norm.pdf(z) * (outside if power == 1 else outside * (2 - outside))

    return quad(loss, -12, 12, epsabs=1e-16, limit=200)[0]


def expected_mass(gamma: float, dimension: int) -> tuple[float, float]:
    """Mean and deviation of the mass of a box around a posterior sample (docs/soundness.md)."""
    mean = math.exp(dimension * math.log1p(-2 * norm.sf(gamma / math.sqrt(2))))
    second = math.exp(dimension * math.log1p(-factor_loss(gamma, 2)))
    return mean, math.sqrt(second - mean**2)


@pytest.mark.parametrize(
    ("dimension", "mean", "deviation"), [(50_890, 0.963, 0.010), (101_770, 0.927, 0.012)]
)
def test_the_closed_form_gives_the_theory_figures_at_gamma_7(dimension, mean, deviation) -> None:
    expected, spread = expected_mass(7.0, dimension)
    assert expected == pytest.approx(mean, abs=5e-4)
    assert spread == pytest.approx(deviation, abs=3e-3)
    assert expected == pytest.approx(math.exp(dimension * math.log1p(-factor_loss(7.0, 1))), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("gamma", "dimension"), [(7.0, 50_890), (4.0, 100), (1.0, 3)])
def test_masses_of_sampled_boxes_have_the_expectation_of_the_closed_form(gamma, dimension) -> None:
    law, samples = standard(dimension, 1e-5), 60
    boxes = SampledBoxes.drawn(law, samples, (gamma,), stream(0, "masses"))
    masses = law.log_mass(boxes[torch.arange(samples)]).exp()
    mean, deviation = expected_mass(gamma, dimension)
    assert abs(masses.mean().item() - mean) < 4 * deviation / math.sqrt(samples)
    assert 0.5 * deviation < masses.std().item() < 2 * deviation


def test_at_gamma_5_the_mass_of_a_sampled_box_is_negligible() -> None:
    mean, _ = expected_mass(5.0, 50_890)
    assert mean < 1e-8


def test_the_estimated_order_is_the_order_of_the_masses() -> None:
    law = standard(200, 1e-5)
    boxes = SampledBoxes.drawn(law, 20, (3.0, 5.0, 7.0), stream(0, "order"))
    masses = law.log_mass(boxes[torch.arange(60)])
    torch.testing.assert_close(boxes.estimated_log_mass().double(), masses, rtol=1e-4, atol=1e-4)


def test_boxes_are_made_around_the_centres() -> None:
    law = DiagonalGaussian(torch.zeros(2, dtype=torch.float64), torch.tensor([1.0, 2.0], dtype=torch.float64))
    deviations = torch.tensor([[1.0, 0.5], [5.0, 2.5]])  # of the centres (1, 1) and (5, 5)
    boxes = SampledBoxes(law, deviations, (1.0, 3.0))
    assert len(boxes) == 4
    assert boxes[torch.tensor([1, 2])].upper.tolist() == [[4.0, 7.0], [6.0, 7.0]]


def test_the_centres_are_samples_of_the_law() -> None:
    law = standard(7, 1e-3)
    boxes = SampledBoxes.drawn(law, 5, (1.0,), stream(0, "centres"))[torch.arange(5)]
    middle = (boxes.lower + boxes.upper) / 2
    torch.testing.assert_close(middle, law.sample(5, stream(0, "centres")), rtol=1e-12, atol=1e-15)


def test_in_high_dimension_one_cell_remains() -> None:
    cells = PaperBox(centers=30).cells(standard(5_000), None, stream(0, "cells"))
    assert len(cells) == 1
    assert cells.log_mass.exp().item() == pytest.approx(expected_mass(7.0, 5_000)[0], abs=0.02)


def test_in_low_dimension_several_disjoint_cells_remain_and_the_limit_holds() -> None:
    events = PaperBox(gammas=(0.1, 0.2), centers=100, limit=5)
    cells = events.cells(standard(1), None, stream(0, "cells"))
    assert len(cells) == 5
    assert (cells.log_mass.diff() <= 1e-5).all()  # heaviest first
    again = events.cells(standard(1), None, stream(0, "cells"))
    assert torch.equal(cells.boxes.lower, again.boxes.lower)


@pytest.mark.parametrize(
    "bad",
    [
        {"gammas": ()},
        {"gammas": (0.0,)},
        {"gammas": (3.0, -1.0)},
        {"gammas": (math.nan,)},
        {"centers": 0},
        {"limit": 0},
    ],
)
def test_impossible_settings_raise(bad: dict) -> None:
    with pytest.raises(InvalidConfig):
        PaperBox(**bad)


@pytest.mark.parametrize("gammas", [(0.2, 0.5), (3.0, 5.0)])
def test_boxes_that_meet_do_and_nearly_all_others_are_disjoint(gammas: tuple[float, ...]) -> None:
    law = standard(20, 1e-3)
    boxes = SampledBoxes.drawn(law, 30, gammas, stream(0, "meeting"))
    everything = boxes[torch.arange(60)]
    for k in range(60):
        exact, found = overlap(everything[k], everything), boxes.meeting(k)
        assert not (found & ~exact).any()
        assert (found != exact).sum() <= 1
        assert found[k]


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), scale=st.sampled_from([1e-3, 0.1, 0.3]))
def test_what_is_not_worth_proving_is_not_proven(seed: int, scale: float) -> None:
    generator = stream(seed, "worth")
    network = mlp(2, 4, 2)
    law = DiagonalGaussian(
        normal(generator, network.parameters), torch.full((22,), scale, dtype=torch.float64)
    )
    x, C = normal(generator, 5, 2), normal(generator, 5, 2, 2)
    properties = Properties(Box.around(x, 0.05), C, 3 - (C @ network(law.loc, x).unsqueeze(-1)).squeeze(-1))
    safe = Safe(network, properties, IntervalVerifier())
    boxes = SampledBoxes.drawn(law, 20, (1.0, 3.0, 6.0), generator)
    assert not (safe(boxes[torch.arange(60)]).mT & ~boxes.worth_proving(safe)).any()
