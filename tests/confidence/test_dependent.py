"""Draws from laws whose parameters depend on each other: boxes that hold the draw of the exact law."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from confidence_cases import dependent_problem, half_space_problem, seeded
from dependent_problems import STRUCTURES, Structure
from exact_draws import BITS, exact_deployed, exact_draw, exact_normals, exact_theta
from flint import arb
from fuzz.balls import EXACT, precision
from problems import normal, vector

from fedcert.confidence import bound, dependent
from fedcert.confidence.clients import client_of, draw_all
from fedcert.confidence.dependent import DependentClient
from fedcert.confidence.deployed import deploy, tensor_sizes
from fedcert.confidence.draws import Draws, box_muller
from fedcert.errors import InvalidLaw
from fedcert.laws import BlockGaussian, DenseBlock, DenseGaussian, DiagonalBlock, DiagonalGaussian
from fedcert.randomness import stream

KEY = (0x0123456789ABCDEF, 2**63 + 5)
TOP = 2**64 - 1


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("rule", ["fedavg", "linear", "median"])
def test_the_deployed_box_holds_the_exact_draw(structure: Structure, rule: str) -> None:
    problem, generator = dependent_problem(1, structure, rule), stream(0, "digits")
    clients = [client_of(law) for law in problem.laws]
    with ThreadPoolExecutor(1) as workers:
        thetas, known = draw_all(clients, KEY, range(2), workers)
    assert known.all()
    drawn = deploy(problem.rule, problem.network, clients, thetas)
    radius = drawn.radius.repeat_interleave(torch.tensor(tensor_sizes(problem.network))).tolist()
    with precision(BITS):
        for number in range(2):
            own = [exact_draw(law, KEY, number, i, generator) for i, law in enumerate(problem.laws)]
            for i, (client, theta) in enumerate(zip(clients, thetas, strict=True)):
                assert held(own[i], theta[number], client.radius.tolist())
            assert held(exact_deployed(problem.rule, own), drawn.centre[number], radius)
    assert max(radius) < 1e-6


def held(exact: list[arb], centre: torch.Tensor, radius: list[float]) -> bool:
    sides = zip(exact, centre.tolist(), radius, strict=True)
    return all(bool(abs(theta - arb(c)) <= arb(r)) for theta, c, r in sides)


def test_the_normals_of_a_draw_are_those_of_the_blocks_in_their_order() -> None:
    blocks = (DiagonalBlock(1, vector(1.0, 1.0)), DenseBlock(0, vector(1.0, 2.0).view(1, 2)))
    client = DependentClient.of(BlockGaussian(vector(10.0, 20.0, 30.0), blocks))
    assert client.normals == 4
    theta, known = client.thetas(Draws(np.array([[0.5, 0.25, 1.0, 3.0]]), [0], np.array([True])))
    assert theta.tolist() == [[17.0, 20.5, 30.25]]
    assert known.all()


def test_a_diagonal_block_draws_what_the_diagonal_law_draws() -> None:
    generator = seeded("diagonal")
    loc, scale = normal(generator, 7), normal(generator, 7).abs()
    laws = DiagonalGaussian(loc, scale), BlockGaussian(loc, (DiagonalBlock(0, scale),))
    with ThreadPoolExecutor(1) as workers:
        (one,), (other,) = (draw_all([client_of(law)], KEY, range(3), workers)[0] for law in laws)
    assert (one - other).abs().max() < 1e-15


def worst_draw(columns: int) -> tuple[DenseGaussian, np.ndarray]:
    """A sum of normals whose words are those of the largest error, and all of one sign."""
    radial, angular = [TOP - 1023] * columns, [0] * columns
    return DenseGaussian(vector(0.0), torch.ones(1, 2 * columns).double()), np.array(
        [*radial, *angular], dtype=np.uint64
    )


def test_the_charge_of_the_normals_grows_with_the_sum_of_the_factor() -> None:
    """Every cosine of such words is off by more than a quarter of the charge, and these errors add up."""
    law, words = worst_draw(8)
    client = client_of(law)
    theta, _ = client.thetas(Draws(box_muller(words[:8], words[8:])[None], [0], np.array([True])))
    with precision(BITS):
        (exact,) = exact_theta(law, exact_normals(words, stream(0, "worst")))
        off = float(abs(exact - arb(theta.item())))
    assert dependent.CHARGE < off <= client.radius.item()


@pytest.mark.parametrize("seed", range(20))
def test_the_roundings_of_the_sums_are_charged(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With normals that are taken as exact, what is left of the radius holds the sum of any magnitudes."""
    generator = seeded("roundings", seed)
    size = 10 ** (6 * normal(generator, 3, 1))
    loc, factor = size[:, 0] * normal(generator, 3), size * normal(generator, 3, 40)
    law = BlockGaussian(loc, (DenseBlock(0, factor[:, :20]), DenseBlock(0, factor[:, 20:])))
    z = normal(generator, 1, 40)
    monkeypatch.setattr(dependent, "CHARGE", 0.0)
    monkeypatch.setattr(dependent, "SPARE", 1)
    client = client_of(law)
    theta, _ = client.thetas(Draws(z.numpy(), [0], np.array([True])))
    with precision(EXACT):
        exact = exact_theta(law, [arb(own) for own in z[0].tolist()])
        assert held(exact, theta[0], client.radius.tolist())
        assert not held(exact, theta[0], [0.0] * 3)


def test_the_roundings_of_a_large_mean_are_more_than_the_charge_of_the_normals() -> None:
    law = DenseGaussian(vector(1.0), vector(2.0**-60).view(1, 1))
    client = client_of(law)
    theta, _ = client.thetas(Draws(np.array([[1.0]]), [0], np.array([True])))
    assert theta.item() == 1.0  # all of the noise is lost
    assert dependent.CHARGE * 2.0**-60 < 2.0**-60 <= client.radius.item()


def test_a_law_without_noise_is_its_mean() -> None:
    law = BlockGaussian(vector(1.0, -2.0), ())
    with ThreadPoolExecutor(1) as workers:
        (theta,), known = draw_all([client_of(law)], KEY, range(3), workers)
    assert theta.tolist() == [[1.0, -2.0]] * 3
    assert known.all()


def test_a_law_that_is_not_exact_is_not_drawn_from() -> None:
    with pytest.raises(InvalidLaw, match="rounding error"):
        client_of(DenseGaussian(vector(0.0), vector(1.0).view(1, 1), factor_error=1e-12))


@pytest.mark.parametrize("kind", ["dense", "kronecker"])
def test_many_draws_close_in_on_the_exact_probability(kind: str) -> None:
    problem, truths = half_space_problem(kind, seeded("close", kind))
    found = bound(problem, 400, 1e-6)
    for low, truth, high in zip(found.lower.tolist(), truths, found.upper.tolist(), strict=True):
        assert low <= truth <= high
        assert high - low < 0.35
    assert found.undecided == 0
