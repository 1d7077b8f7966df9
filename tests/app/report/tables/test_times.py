import pytest
from grid_cells import cell, paper_grid

from fedcert.app.report.tables.times import papers_seconds, speed_up, times, totals


def test_the_papers_seconds_are_those_of_its_row() -> None:
    assert papers_seconds(cell(clients=2, concentration=0.6)) == 330.97
    assert papers_seconds(cell(clients=2, concentration=1.0)) is None
    assert papers_seconds(cell(clients=2, concentration=0.6, scale="learned")) is None


def test_the_speed_up_counts_training_messages_claims_and_sampling() -> None:
    one = cell(clients=4 - 2, concentration=0.6)
    claims = sum(seconds for (*_, events), seconds in one.seconds.items() if events == "paper-box")
    stages = sum(one.timings[name] for name in ("data", "training", "properties", "messages", "estimates"))
    assert speed_up(one) == pytest.approx(330.97 / (claims + stages))
    assert speed_up(cell(clients=2, concentration=0.6, events=("box",))) is None


def test_scales_are_kept_apart_and_totals_are_told() -> None:
    cells = paper_grid(1e-5, "learned")
    (table,) = times(cells)
    assert len(table.rows) == 36
    assert totals(cells) in table.caption
    assert "All 324 runs together" in table.caption
    assert "another machine" in table.caption
    (own,) = times([cell(dataset="digits")])
    assert "paper's seconds" not in own.caption
