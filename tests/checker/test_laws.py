"""The laws that the checker knows."""

import numpy as np
import pytest

from fedcert_check.blocks import BlockGaussian
from fedcert_check.confidence.laws import Mixture
from fedcert_check.errors import InvalidCertificate
from fedcert_check.laws import (
    LAWS,
    MAX_COLUMNS,
    MAX_COMPONENTS,
    DiagonalGaussian,
    GaussianMixture,
    diagonal,
    is_exact,
)
from fedcert_check.masses import gaussian

FITTING = {"law.loc": np.zeros(3), "law.scale": np.ones(3)}


def test_a_diagonal_gaussian_is_what_a_message_states() -> None:
    law = LAWS["diagonal-gaussian"](FITTING, 3)
    assert isinstance(law, DiagonalGaussian)
    assert law.loc is FITTING["law.loc"]
    assert law.scale is FITTING["law.scale"]


@pytest.mark.parametrize("name", ["kronecker-gaussian", "", None])
def test_another_law_is_refused_by_name(name: object) -> None:
    with pytest.raises(InvalidCertificate) as refused:
        LAWS[name]
    laws = ("diagonal-gaussian", "gaussian-mixture", "enclosed-gaussian", "dense-gaussian", "block-gaussian")
    known = " and ".join(laws)
    assert str(refused.value) == f"law {name!r}: this checker knows {known}"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"law.loc": np.zeros(2)}, "law.loc"),
        ({"law.loc": np.array([0.0, np.nan, 0.0])}, "law.loc is not finite"),
        ({"law.scale": np.ones(3, dtype=np.float32)}, "law.scale"),
        ({"law.scale": np.array([1.0, -1e-300, 1.0])}, "a scale is negative"),
    ],
)
def test_what_is_no_law_is_refused(change: dict[str, np.ndarray], complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        LAWS["diagonal-gaussian"](FITTING | change, 3)


MIXED = {"law.weights": np.array([1.0, 3.0]), "law.loc": np.zeros((2, 3)), "law.scale": np.ones((2, 3))}


def test_a_mixture_is_what_a_message_states() -> None:
    law = LAWS["gaussian-mixture"](MIXED, 3)
    assert isinstance(law, GaussianMixture)
    assert law.weights is MIXED["law.weights"]
    assert [own.loc.shape for own in law.components] == [(3,)] * 2


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"law.weights": np.array([1.0, 0.0])}, "weight of a component"),
        ({"law.weights": np.array([1.0, -1.0])}, "weight of a component"),
        ({"law.weights": np.array([1.0, np.nan])}, "law.weights is not finite"),
        ({"law.weights": np.ones(3)}, "law.loc"),
        ({"law.weights": np.ones(0)}, "0 components"),
        ({"law.weights": np.ones(MAX_COMPONENTS + 1)}, "10001 components"),
        ({"law.weights": np.ones((2, 1))}, "law.weights"),
        ({"law.loc": np.zeros((2, 2))}, "law.loc"),
        ({"law.loc": np.zeros(3)}, "law.loc"),
        ({"law.scale": np.array([[1.0] * 3, [1.0, -1.0, 1.0]])}, "a scale is negative"),
        ({"law.scale": np.ones((1, 3))}, "law.scale"),
    ],
)
def test_what_is_no_mixture_is_refused(change: dict[str, np.ndarray], complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        LAWS["gaussian-mixture"](MIXED | change, 3)


DENSE = {"law.loc": np.zeros(3), "law.factor": np.ones((3, 2))}


def test_a_dense_gaussian_is_what_a_message_states() -> None:
    law = LAWS["dense-gaussian"](DENSE, 3)
    assert isinstance(law, BlockGaussian)
    assert np.array_equal(law.blocks[0].matrix, DENSE["law.factor"])
    assert law.components == (law,)
    with pytest.raises(InvalidCertificate, match="depend on each other"):
        diagonal(law)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"law.loc": np.zeros(2)}, "law.loc"),
        ({"law.factor": np.ones((2, 3))}, "law.factor"),
        ({"law.factor": np.ones(3)}, "law.factor"),
        ({"law.factor": np.ones((3, 2), dtype=np.float32)}, "law.factor"),
        ({"law.factor": np.full((3, 2), np.nan)}, "law.factor is not finite"),
        ({"law.factor": np.broadcast_to(1.0, (3, MAX_COLUMNS + 1))}, "10001 columns"),
    ],
)
def test_what_is_no_dense_gaussian_is_refused(change: dict[str, np.ndarray], complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        LAWS["dense-gaussian"](DENSE | change, 3)


ENCLOSED = FITTING | {"law.loc_error": np.full(3, 0.25), "law.scale_error": np.array([0.125])}


def test_the_balls_of_an_enclosed_law_hold_every_law_within_its_errors() -> None:
    law = LAWS["enclosed-gaussian"](ENCLOSED, 3)
    assert not is_exact(law)
    assert is_exact(LAWS["diagonal-gaussian"](FITTING, 3))
    own = gaussian(law)
    assert all(ball.contains(end) for ball in own.loc for end in (-0.25, 0, 0.25))
    assert all(ball.contains(end) for ball in own.scale for end in (0.875, 1, 1.125))
    assert not any(ball.contains(end) for ball in own.loc for end in (-0.2501, 0.2501))
    assert not any(ball.contains(end) for ball in own.scale for end in (0.8749, 1.1251))


def test_no_networks_are_drawn_from_an_enclosed_law() -> None:
    with pytest.raises(InvalidCertificate, match="exact laws"):
        Mixture.of(LAWS["enclosed-gaussian"](ENCLOSED, 3))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"law.loc_error": np.zeros(2)}, "law.loc_error"),
        ({"law.loc_error": np.array([0.0, -1e-9, 0.0])}, "the error of a mean"),
        ({"law.loc_error": np.array([0.0, np.inf, 0.0])}, "law.loc_error is not finite"),
        ({"law.scale": np.array([1.0, 0.0, 1.0])}, "no fixed parameters"),
        ({"law.scale_error": np.array([0.6])}, "outside"),
        ({"law.scale_error": np.array([np.nan])}, "law.scale_error is not finite"),
        ({"law.scale_error": np.array([-0.1])}, "outside"),
        ({"law.scale_error": np.zeros(2)}, "law.scale_error"),
    ],
)
def test_errors_that_make_no_sense_are_refused(change: dict[str, np.ndarray], complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        LAWS["enclosed-gaussian"](ENCLOSED | change, 3)
