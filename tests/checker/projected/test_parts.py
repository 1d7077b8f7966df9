"""Parts of a layer's noise, against rational arithmetic."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from balls import dyadic
from problems import normal, uniform

from fedcert.randomness import stream
from fedcert_check.balls import exact, matrix
from fedcert_check.projected.kronecker_part import KroneckerPart
from fedcert_check.projected.parts import BiasPart, DensePart, DiagonalPart, Part

M, K = 2, 3
FRACTIONS = np.vectorize(Fraction, otypes=[object])


def dyadics(values: torch.Tensor) -> np.ndarray:
    return ((values * 16).round() / 16).numpy()


def kronecker() -> tuple[Part, np.ndarray]:
    generator = stream(0, "parts")
    left, right, scale = (
        dyadics(normal(generator, M, M)),
        dyadics(normal(generator, K, K)),
        dyadics(uniform(generator, M, K)),
    )
    factor = np.zeros((M * K + M, M * K), dtype=object) + Fraction(0)
    factor[: M * K] = np.kron(FRACTIONS(left), FRACTIONS(right)) * FRACTIONS(scale).reshape(-1)
    part = KroneckerPart(matrix(exact(left)), matrix(exact(right)), matrix(exact(scale) ** 2))
    return part, factor @ factor.T


def dense() -> tuple[Part, np.ndarray]:
    factor = dyadics(normal(stream(1, "parts"), M * K + M, 4))
    covariance = FRACTIONS(factor) @ FRACTIONS(factor).T
    return DensePart(M, exact(covariance.astype(float))), covariance


def bias() -> tuple[Part, np.ndarray]:
    factor = dyadics(normal(stream(2, "parts"), M, 2))
    own = FRACTIONS(factor) @ FRACTIONS(factor).T
    covariance = np.zeros((M * K + M, M * K + M), dtype=object) + Fraction(0)
    covariance[M * K :, M * K :] = own
    return BiasPart(K, exact(own.astype(float))), covariance


def independent() -> tuple[Part, np.ndarray]:
    scale = dyadics(uniform(stream(3, "parts"), M * K + M))
    variance = exact(scale) ** 2
    return DiagonalPart(variance[: M * K].reshape(M, K), variance[M * K :]), np.diag(FRACTIONS(scale) ** 2)


PARTS = {"kronecker": kronecker, "dense": dense, "bias": bias, "independent": independent}


@pytest.mark.parametrize("name", PARTS)
def test_variances_enclose_the_exact_ones(name: str) -> None:
    part, covariance = PARTS[name]()
    rows, h = dyadics(normal(stream(4, "rows"), 3, M)), dyadics(normal(stream(5, "h"), K))
    at, single = part.at(exact(rows), exact(h)), part.inputs(exact(rows))
    steepest = part.steepest(exact(rows), exact(abs(h)))
    for r in range(3):
        B = FRACTIONS(rows[r])

        def variance(v: list[Fraction], biased: bool, B: np.ndarray = B) -> Fraction:
            c = np.array([b * x for b, x in product(B, v)] + [b * int(biased) for b in B], dtype=object)
            return c @ covariance @ c

        assert at[r].contains(dyadic(variance(list(FRACTIONS(h)), True)))
        for k in range(K):
            unit = [Fraction(int(j == k)) for j in range(K)]
            assert single[r, k].contains(dyadic(variance(unit, False)))
        for signs in product((-1, 1), repeat=K):
            v = [s * abs(Fraction(x)) for s, x in zip(signs, h.tolist(), strict=True)]
            assert steepest[r].upper() >= dyadic(variance(v, False))
    diagonal = np.diagonal(covariance)
    found = [*part.weight_variances.ravel(), *part.bias_variances]
    assert all(ball.contains(dyadic(number)) for ball, number in zip(found, diagonal, strict=True))


@pytest.mark.parametrize("name", PARTS)
def test_directions_and_covariances_enclose_the_exact_ones(name: str) -> None:
    part, covariance = PARTS[name]()
    rows, h = dyadics(normal(stream(4, "rows"), 3, M)), dyadics(normal(stream(5, "h"), K))
    directions = dyadics(normal(stream(6, "directions"), K, 4))
    along = part.along(exact(rows), exact(directions))
    found = part.covariances(exact(rows), exact(h))
    for r in range(3):
        B = FRACTIONS(rows[r])

        def seen(v: np.ndarray, biased: bool, B: np.ndarray = B) -> np.ndarray:
            return np.array([b * x for b, x in product(B, v)] + [b * int(biased) for b in B], dtype=object)

        for j, column in enumerate(FRACTIONS(directions).T):
            c = seen(column, False)
            assert along[r, j].contains(dyadic(c @ covariance @ c))
        whole = seen(FRACTIONS(h), True)
        for k in range(K):
            unit = seen(np.array([Fraction(int(j == k)) for j in range(K)], dtype=object), False)
            assert found[r, k].contains(dyadic(unit @ covariance @ whole))
