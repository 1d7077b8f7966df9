"""The search for radii against bounds that are known in closed form."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedcert.certificate import Certificate, Claim
from fedcert.federation.radius import (
    LARGEST_RADIUS,
    LAST_TRIES,
    SMALLEST_RADIUS,
    STEPS,
    CertifiedRadii,
    certified_radii,
)

ACCURACY = 2 ** (2.0**-STEPS)
"""The factor between the radius that is found and the largest one, after bisection of a factor of 2."""
DOUBLINGS = round(math.log2(LARGEST_RADIUS / SMALLEST_RADIUS)) + 1


class Prover:
    """Makes certificates from a known bound, and remembers the radii that it was asked for."""

    def __init__(self, bound: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.bound = bound
        self.asked: list[torch.Tensor] = []

    def __call__(self, radius: torch.Tensor) -> Certificate:
        self.asked.append(radius.clone())
        lower = self.bound(radius).double().clamp(0.0, 1.0)
        return Certificate(Claim("direct", "fedavg", "projected"), lower)


def falling_to(threshold: float, at: torch.Tensor) -> Prover:
    """L falls with the radius, and reaches the threshold exactly at the given radii."""
    return Prover(lambda radius: threshold * ((radius <= at) & (radius > 0)).double())


def require_proven(found: CertifiedRadii, threshold: float, prover: Prover) -> None:
    """The certificate is of the radii that it comes with, and holds there."""
    assert torch.equal(prover.asked[-1], found.radius)
    assert ((found.certificate.lower >= threshold) | (found.radius == 0)).all()


@pytest.mark.slow
@given(
    st.lists(st.floats(SMALLEST_RADIUS, 0.999 * LARGEST_RADIUS), min_size=1, max_size=6),
    st.sampled_from([0.05, 0.5, 0.95]),
)
def test_the_radius_of_a_falling_bound_is_found_up_to_the_last_bisection(
    largest: list[float], threshold: float
) -> None:
    at = torch.tensor(largest).double()
    prover = falling_to(threshold, at)
    found = certified_radii(prover, len(largest), threshold)
    assert (found.radius <= at).all()
    assert (found.radius * ACCURACY * (1 + 1e-12) >= at).all()
    require_proven(found, threshold, prover)


def test_the_search_ends_at_the_largest_radius_that_is_asked_for() -> None:
    prover = falling_to(0.5, torch.tensor([3.0, 100.0]).double())
    found = certified_radii(prover, 2, 0.5, largest=16.0)
    assert 3.0 / ACCURACY / (1 + 1e-12) <= found.radius[0] <= 3.0
    assert found.radius[1] == 16.0


def test_each_input_has_a_radius_of_its_own_in_every_proof() -> None:
    at = torch.tensor([0.0, SMALLEST_RADIUS, 0.01, 0.3, 2.0]).double()
    prover = falling_to(0.5, at)
    found = certified_radii(prover, 5, 0.5)
    assert found.radius[0] == 0
    assert found.radius[1] == SMALLEST_RADIUS
    assert found.radius[4] == LARGEST_RADIUS
    assert all(((radius >= 0) & (radius <= LARGEST_RADIUS)).all() for radius in prover.asked)
    assert len(prover.asked) == DOUBLINGS + STEPS + 1


def test_a_smooth_bound_is_held_at_its_threshold() -> None:
    """L = exp(−r/s) reaches τ at r = −s log τ."""
    scale = torch.tensor([0.001, 0.02, 0.5]).double()
    for threshold in (0.5, 0.9):
        prover = Prover(lambda radius: torch.exp(-radius / scale))
        found = certified_radii(prover, 3, threshold)
        exact = (-scale * math.log(threshold)).clamp(max=LARGEST_RADIUS)
        reached = exact >= SMALLEST_RADIUS
        assert reached.any()
        assert (found.radius[~reached] == 0).all()
        assert (found.radius[reached] <= exact[reached]).all()
        assert (found.radius[reached] * ACCURACY * (1 + 1e-12) >= exact[reached]).all()


def test_where_nothing_is_proven_all_radii_are_zero_and_the_certificate_is_of_the_points() -> None:
    prover = Prover(lambda radius: torch.full_like(radius, 0.25))
    found = certified_radii(prover, 3, 0.5)
    assert found.radius.tolist() == [0.0, 0.0, 0.0]
    assert found.certificate.lower.tolist() == [0.25, 0.25, 0.25]
    assert [radius.tolist() for radius in prover.asked] == [3 * [SMALLEST_RADIUS], 3 * [0.0]]


def test_where_everything_is_proven_the_largest_radius_is_given_without_bisection() -> None:
    prover = Prover(torch.ones_like)
    found = certified_radii(prover, 2, 0.99)
    assert found.radius.tolist() == [LARGEST_RADIUS, LARGEST_RADIUS]
    assert len(prover.asked) == DOUBLINGS + 1


@given(st.integers(0, 10**6), st.sampled_from([0.3, 0.7]))
def test_whatever_the_bounds_are_those_of_the_result_hold(seed: int, threshold: float) -> None:
    """L is a random function of the radius of its input: it need not fall, but it is the same every time."""

    def erratic(radius: torch.Tensor) -> torch.Tensor:
        return torch.tensor([hash((seed, i, r)) % 1000 / 999 for i, r in enumerate(radius.tolist())])

    prover = Prover(erratic)
    found = certified_radii(prover, 4, threshold)
    require_proven(found, threshold, prover)
    assert ((found.radius >= 0) & (found.radius <= LARGEST_RADIUS)).all()


def in_later_proofs(first: int, bound: Callable[[torch.Tensor], torch.Tensor]) -> Prover:
    """L holds up to 0.1 in the search; from the given proof on it is another."""

    def switching(radius: torch.Tensor) -> torch.Tensor:
        searching = len(prover.asked) < first
        return (radius <= 0.1).double() if searching else bound(radius)

    prover = Prover(switching)
    return prover


LAST = 10 + STEPS + 1  # proofs: at 2^-12 … 2^-4, which hold, and at 2^-3; then the bisection


def test_a_bound_that_fell_in_the_last_proof_costs_a_thousandth_of_the_radius() -> None:
    exact = certified_radii(falling_to(0.5, torch.tensor([0.1, 0.1]).double()), 2, 0.5).radius
    least = 0.9995 * exact[0]
    prover = in_later_proofs(LAST, lambda radius: (radius <= torch.stack([least, exact[1]])).double())
    found = certified_radii(prover, 2, 0.5)
    assert found.radius.tolist() == [0.999 * exact[0].item(), exact[1].item()]
    require_proven(found, 0.5, prover)


def test_a_bound_that_stays_too_small_gives_radius_zero_and_leaves_the_others() -> None:
    bound = torch.tensor([0.0, 1.0]).double()
    prover = in_later_proofs(LAST, lambda radius: torch.where(radius > 0, bound, 1.0))
    found = certified_radii(prover, 2, 0.5)
    assert found.radius[0] == 0
    assert found.radius[1] == pytest.approx(0.1, rel=1e-3)
    require_proven(found, 0.5, prover)
    assert len(prover.asked) == LAST + LAST_TRIES


def test_bounds_that_fall_in_turn_end_at_zero_rather_than_with_a_radius_that_does_not_hold() -> None:
    """Each proof fails for the other input, until no tries are left."""
    count = [0]

    def alternating(radius: torch.Tensor) -> torch.Tensor:
        count[0] += 1
        failing = torch.tensor([count[0] % 2 == 0, count[0] % 2 == 1])
        return torch.where(failing & (radius > 0), 0.0, 1.0)

    prover = in_later_proofs(LAST, alternating)
    found = certified_radii(prover, 2, 0.5)
    assert found.radius.tolist() == [0.0, 0.0]
    require_proven(found, 0.5, prover)
