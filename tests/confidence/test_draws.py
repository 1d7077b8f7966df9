"""Draws: the published generator, and boxes that hold the exact Box–Muller map of all further digits."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
import torch
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st
from problems import vector

from fedcert.confidence import draws
from fedcert.confidence.clients import draw_all
from fedcert.confidence.draws import CHARGE, LEAST_WORD, Draws, box_muller, words_of_components
from fedcert.confidence.independent import IndependentClient
from fedcert.errors import InvalidLaw
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert_check.confidence.draws import Sampler
from fedcert_check.confidence.laws import Mixture
from fedcert_check.confidence.normals import normals
from fedcert_check.rules import TrimmedMean

TOP = 2**64 - 1
WORDS = st.one_of(
    st.integers(LEAST_WORD, TOP),
    st.integers(0, 2**14).map(lambda offset: TOP - offset),
    st.integers(0, 40).map(lambda bits: TOP - (1 << bits)),
    st.integers(28, 63).map(lambda bits: 1 << bits),
)
ANGLES = st.one_of(st.integers(0, TOP), st.integers(0, 7).map(lambda eighth: eighth << 61), st.just(TOP))


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox 4x64-10 as Salmon, Moraes, Dror and Shaw (2011) define it."""
    c, k = list(counter), list(key)
    for _ in range(10):
        first, third = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
        c = [(third >> 64) ^ c[1] ^ k[0], third & TOP, (first >> 64) ^ c[3] ^ k[1], first & TOP]
        k = [(k[0] + 0x9E3779B97F4A7C15) & TOP, (k[1] + 0xBB67AE8584CAA73B) & TOP]
    return c


@pytest.mark.parametrize("key", [(0x0123456789ABCDEF, 0xFEDCBA9876543210), (5, TOP), (2**63, 1)])
def test_the_words_are_those_of_the_published_generator(key: tuple[int, int]) -> None:
    draw, client = 7, 3
    words = [word for block in (1, 2, 3) for word in philox([block, draw, client, 0], list(key))]
    with ThreadPoolExecutor(1) as workers:
        found = draws.draw_words(key, [draw], client, 10, workers)
    assert found.choices == words[:1]
    radial, angular = (np.array(own, dtype=np.uint64) for own in (words[1:6], words[6:11]))
    assert found.normals[0].tolist() == box_muller(radial, angular).tolist()
    one = np.ones((1, 10))
    theirs = Sampler(
        [Mixture(0 * one, one, np.ones(1))] * 4, [[(0, TOP)]] * 4, TrimmedMean("median", 4, 1), key
    )
    assert theirs._client(draw, client)[0].tolist() == normals(radial, angular).tolist()


def exact_normals(radial: fmpq, angular: fmpq) -> tuple[arb, arb]:
    distance = (-2 * arb(radial).log()).sqrt()
    return distance * (2 * arb(angular)).cos_pi(), distance * (2 * arb(angular)).sin_pi()


def farthest(map_, radial: int, angular: int) -> float:
    """The largest difference between what is computed of two words and what further digits lead to."""
    with ctx.workprec(256):
        found = map_(np.array([radial], dtype=np.uint64), np.array([angular], dtype=np.uint64)).tolist()
        off = []
        for v in (fmpq(0), fmpq(1, 3), fmpq(2**40 - 1, 2**40)):
            for w in (fmpq(0), fmpq(2**40 - 1, 2**40)):
                exact = exact_normals((radial + v) / 2**64, (angular + w) / 2**64)
                off += [float(abs(arb(x) - z).upper()) for x, z in zip(found, exact, strict=True)]
        return max(off)


@pytest.mark.parametrize("map_", [box_muller, normals], ids=["fedcert", "checker"])
@given(WORDS, ANGLES)
def test_every_normal_of_a_cell_is_within_the_charge(map_, radial: int, angular: int) -> None:
    assert farthest(map_, radial, angular) <= CHARGE


@pytest.mark.parametrize("map_", [box_muller, normals], ids=["fedcert", "checker"])
def test_the_charge_is_needed_where_the_radius_vanishes_and_where_words_are_too_small(map_) -> None:
    assert farthest(map_, TOP - 1023, 0) > CHARGE / 4
    assert farthest(map_, 1, 0) > CHARGE


@pytest.mark.parametrize("map_", [box_muller, normals], ids=["fedcert", "checker"])
def test_the_libraries_keep_far_within_what_is_assumed_of_them(map_) -> None:
    """Where a cell is small, what is left is the error of log, cos and sin: 2^-40 is charged."""
    words = np.random.Philox(key=[1, 2]).random_raw(400) | np.uint64(1 << 40)
    half = words[:200] >> np.uint64(1)
    assert max(farthest(map_, int(a), int(b)) for a, b in zip(half, words[200:], strict=True)) < 2.0**-40


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=4))
def test_words_choose_components_by_their_exact_shares(weights: list[float]) -> None:
    first, last = words_of_components(weights)
    total, below = sum(map(Fraction, weights)), Fraction(0)
    for weight, low, high in zip(weights, first, last, strict=True):
        above = below + Fraction(weight) / total
        assert below <= Fraction(low, 2**64) < below + Fraction(1, 2**64)
        assert above - Fraction(1, 2**64) < Fraction(high + 1, 2**64) <= above
        below = above


def test_a_word_between_two_components_loses_the_draw() -> None:
    law = GaussianMixture(
        (DiagonalGaussian(vector(0.0), vector(1.0)), DiagonalGaussian(vector(5.0), vector(1.0))),
        vector(1.0, 2.0),
    )
    client = IndependentClient.of(law)
    third = 2**64 // 3
    words = Draws(np.zeros((3, 1)), [third - 1, third, third + 1], np.array([True] * 3))
    theta, known = client.thetas(words)
    assert known.tolist() == [True, False, True]
    assert theta[[0, 2], 0].tolist() == [0.0, 5.0]


def test_a_draw_with_a_normal_too_far_out_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    client = IndependentClient.of(DiagonalGaussian(torch.zeros(64).double(), torch.ones(64).double()))
    monkeypatch.setattr(draws, "LEAST_WORD", 2**59)
    with ThreadPoolExecutor(2) as workers:
        _, known = draw_all([client], (3, 4), range(40), workers)
    radial = [words_of_draw(n)[1:33] for n in range(40)]
    assert known.tolist() == [bool((own >= 2**59).all()) for own in radial]
    assert 0 < sum(known.tolist()) < 40


def words_of_draw(number: int) -> np.ndarray:
    counter = np.array([0, number, 0, 0], dtype=np.uint64)
    return np.random.Philox(key=np.array([3, 4], dtype=np.uint64), counter=counter).random_raw(65)


def test_a_law_that_is_not_exact_is_not_drawn_from() -> None:
    with pytest.raises(InvalidLaw, match="rounding error"):
        IndependentClient.of(DiagonalGaussian(vector(0.0), vector(1.0), scale_error=1e-12))
