import numpy as np
import pytest
from scipy.special import ndtr

from reproduction.sampled_cell import deviation_of_mass, expected_mass, second_moment_of_tail, weights_of


def sampled_masses(gamma: float, n_w: int, draws: int) -> np.ndarray:
    """Masses of boxes around draws, one after another."""
    random = np.random.default_rng(0)
    samples = (random.standard_normal(n_w) for _ in range(draws))
    return np.array([np.exp(np.log1p(-ndtr(s - gamma) - ndtr(-gamma - s)).sum()) for s in samples])


@pytest.mark.slow
@pytest.mark.parametrize(("gamma", "n_w"), [(1.0, 3), (3.0, 100), (7.0, 50_890)])
def test_moments_are_those_of_sampled_cells(gamma: float, n_w: int) -> None:
    masses = sampled_masses(gamma, n_w, 2_000 if n_w < 1000 else 300)
    error = deviation_of_mass(gamma, n_w) / np.sqrt(len(masses))
    assert masses.mean() == pytest.approx(expected_mass(gamma, n_w), abs=4 * error)
    assert masses.std(ddof=1) == pytest.approx(deviation_of_mass(gamma, n_w), rel=0.15)


def test_a_network_of_any_size_has_moments() -> None:
    for n_w in (10**6, 10**12, 10**30, 2**159):
        assert 0 <= expected_mass(6.0, n_w) <= 1
        assert 0 <= deviation_of_mass(6.0, n_w) <= 1


def test_the_second_moment_is_exact_where_it_is_known() -> None:
    assert second_moment_of_tail(0.0) == pytest.approx(1.0)  # an empty box: the tail is everything


@pytest.mark.parametrize(("sizes", "ceiling"), [((784, 64, 10), 0.9573), ((784, 128, 10), 0.9274)])
def test_the_papers_ceilings_are_usual_draws(sizes: tuple[int, ...], ceiling: float) -> None:
    n_w = weights_of(sizes)
    assert abs(ceiling - expected_mass(7.0, n_w)) < deviation_of_mass(7.0, n_w)
    assert expected_mass(5.0, n_w) < 1e-8
