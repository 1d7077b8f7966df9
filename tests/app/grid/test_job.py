import pytest

from fedcert.app.config import TRAINING_SETTINGS
from fedcert.app.grid.job import Job

OTHER = {
    "dataset": "mnist",
    "table": {"data": "wards.csv", "target": "ill", "client_column": "ward", "sha256": "ab" * 32},
    "train_examples": 10,
    "test_examples": 10,
    "clients": 7,
    "concentration": 0.1,
    "network": "cnn:4",
    "hidden": [3],
    "posterior": "laplace",
    "structure": "kron",
    "prior_precision": 30.0,
    "training": {"epochs": 1},
    "laplace": {"epochs": 1},
    "members": 2,
    "train_together": True,
    "seed": 5,
}


BESIDES = {
    "table": {"dataset": "wards"},
    "structure": {"posterior": "laplace"},
    "prior_precision": {"posterior": "ensemble"},
}
"""Settings that others need."""


def test_the_name_is_for_people() -> None:
    name = Job.of({"dataset": "mnist", "hidden": [64, 64], "concentration": 0.5, "scale": 1e-5}).name
    assert name.startswith("mnist-64x64-3-clients-0.5-seed-0-1e-05-")
    assert Job.of({"network": "cnn:8,16/32"}).name.startswith(
        "digits-cnn-8x16-32-3-clients-10-seed-0-learned-"
    )


@pytest.mark.parametrize("setting", [{"epsilon": 1e-2}, {"events": "box"}, {"scale": 1e-3}, {"seed": 1}])
def test_other_settings_are_another_job(setting: dict[str, object]) -> None:
    assert Job.of(setting).name != Job.of({}).name


def test_where_it_runs_is_not_what_it_is() -> None:
    assert Job.of({"data_dir": "elsewhere"}).name == Job.of({}).name


@pytest.mark.parametrize("setting", [{"scale": 1e-5}, {"events": "box"}, {"epsilon": 0.1}, {"rule": "pog"}])
def test_jobs_share_clients_where_training_does_not_differ(setting: dict[str, object]) -> None:
    assert Job.of(setting).training == Job.of({}).training


def test_jobs_do_not_share_clients_where_training_differs() -> None:
    assert set(OTHER) == TRAINING_SETTINGS
    names = {Job.of(BESIDES.get(key, {}) | {key: value}).training for key, value in OTHER.items()}
    assert len({*names, Job.of({}).training}) == len(OTHER) + 1


def test_larger_federations_and_networks_take_longer() -> None:
    small = Job.of({"hidden": [64]}).effort
    for larger in (
        {"hidden": [640]},
        {"hidden": [64, 64]},
        {"hidden": [64], "clients": 100},
        {"network": "cnn:8"},
    ):
        assert small < Job.of(larger).effort
