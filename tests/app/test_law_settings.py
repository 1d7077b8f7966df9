"""Laws that cannot be trained or certified as asked are refused before anything happens."""

from typing import Any

import pytest

from fedcert.app.config import RunConfig, make_config
from fedcert.errors import InvalidConfig
from fedcert.training.laplace import Laplace
from fedcert.training.structured_laplace import StructuredLaplace

LAST = {"posterior": "laplace", "structure": "last-layer-full"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"structure": "kron"}, "structure: kron is a structure of laplace; bbb has independent weights"),
        ({"posterior": "ensemble", "structure": "kron"}, "ensemble has independent weights"),
        ({"prior_precision": 30}, "prior-precision: laplace and ensemble have it"),
        ({**LAST, "scale": 1e-5}, "scale: a number replaces the deviations of independent weights"),
        ({**LAST, "prior_precision": 3, "laplace": {"prior_precision": 2}}, "laplace.prior-precision is 2"),
        ({**LAST, "prior_precision": 3, "laplace": {"prior_scale": 2}}, "not both"),
        (
            {"posterior": "laplace", "structure": "full"},
            "'diag', 'kron', 'last-layer-kron' or 'last-layer-full'",
        ),
    ],
)
def test_what_does_not_fit_is_said(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        make_config(settings)
    assert words in str(refused.value)


def test_the_trainer_has_the_structure_and_the_precision() -> None:
    trainer = RunConfig(**LAST, prior_precision=30, laplace={"epochs": 2}).trainer
    assert trainer == StructuredLaplace(Laplace(epochs=2, prior_precision=30.0), "last-layer-full")
    assert RunConfig(posterior="laplace", laplace={"epochs": 2}).trainer == Laplace(epochs=2)


def test_kernels_may_have_kronecker_factors() -> None:
    config = make_config({"posterior": "laplace", "structure": "kron", "network": "cnn:8"})
    assert config.trainer == StructuredLaplace(RunConfig(posterior="laplace").trainer, "kron")


def test_the_prior_that_clients_share_is_that_of_the_law() -> None:
    assert RunConfig(**LAST, prior_precision=25).shared_prior == pytest.approx(0.2)
    assert RunConfig(posterior="laplace", laplace={"prior_scale": 0.5}).shared_prior == 0.5
    assert RunConfig(posterior="laplace").shared_prior is None
