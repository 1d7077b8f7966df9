import pytest
from grid_runs import run

from reproduction.figures.retention import transport_retention


def test_two_concentrations_are_no_curve() -> None:
    runs = [run(concentration=concentration) for concentration in (0.5, 1.0)]
    assert transport_retention(runs) == []


@pytest.mark.slow
def test_a_panel_for_each_family_of_events() -> None:
    runs = [run(concentration=value, events=("paper-box", "box"), clients=2) for value in (0.5, 1.0, 5.0)]
    (picture,) = transport_retention(runs)
    assert "(b) box" in picture.svg
    assert "projected" not in picture.svg
    assert "2 clients" in picture.svg
