import pytest

from fedcert.app.clients import Examples
from fedcert.app.config import RunConfig
from reproduction import initial_deviation
from reproduction.initial_deviation import RHOS, configuration, row


def test_a_row_is_a_mean_over_a_group_beside_the_papers_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[RunConfig] = []

    def accuracy(config: RunConfig, examples: Examples | None) -> float:
        asked.append(config)
        return config.concentration

    monkeypatch.setattr(initial_deviation, "accuracy", accuracy)
    found = row("mnist", 2, "Non-IID", None)  # type: ignore[arg-type]
    assert found == ["mnist", "2", "Non-IID", *["0.6"] * len(RHOS), "70.1 ± 5.7"]
    assert {config.training.initial_rho for config in asked} == set(RHOS)
    assert {config.dataset for config in asked} == {"mnist"}


def test_only_the_start_of_training_differs_from_the_papers_protocol() -> None:
    ours, papers = (configuration("mnist", 2, 1.0, rho) for rho in (-2.0, -5.0))
    assert papers == RunConfig(
        dataset="mnist", clients=2, concentration=1.0, properties=1, test_examples=2_000
    )
    assert ours.training != papers.training
