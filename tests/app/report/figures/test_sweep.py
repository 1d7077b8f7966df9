import pytest
from grid_runs import run

from fedcert.app.report.figures.style import canvas
from fedcert.app.report.figures.sweep import horizontal_axis, sweep_figure, sweep_figures


def test_two_values_are_no_sweep() -> None:
    assert sweep_figure([run(scale=scale) for scale in (1e-5, "learned")], "scale") == []
    assert sweep_figures([run(clients=clients) for clients in (2, 3)]) == []


@pytest.mark.slow
def test_learned_scales_have_a_place_of_their_own() -> None:
    fixed = [run(scale=scale, events=("box",)) for scale in (2e-5, 3e-5, 4e-5)]
    (without,) = sweep_figures(fixed)
    assert without.name == "scales"
    assert "learned" not in without.svg
    assert "2e-05" in without.svg
    (both,) = sweep_figures([*fixed, run(scale="learned", events=("box",))])
    assert ">learned</text>" in both.svg
    assert "1 of 1" in both.caption


@pytest.mark.slow
def test_few_values_are_ticks_of_their_own() -> None:
    (picture,) = sweep_figures([run(clients=clients, events=("box",)) for clients in (2, 3, 7, 900)])
    for count in (2, 3, 7, 900):
        assert f">{count}</text>" in picture.svg
    assert "paper-box" not in picture.svg


@pytest.mark.slow
def test_any_number_may_be_swept_over() -> None:
    (picture,) = sweep_figures([run(epsilon=epsilon, rule="pog") for epsilon in (0.0, 0.01, 0.3)])
    assert picture.name == "epsilons"
    assert picture.title == "Certified probability against epsilon"
    assert "under PoG" in picture.caption
    assert ">0.3</text>" in picture.svg


@pytest.mark.parametrize(
    ("values", "labels", "scale"),
    [
        ([1.0, 2.0, 5.0], ["1", "2", "5"], "linear"),
        ([0.0, 2.0, 50.0], ["0", "2", "50"], "linear"),
        ([1.0, 2.0, 50.0], ["1", "2", "50"], "log"),
        ([1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0], ["1", "10", "100"], "log"),
        ([10.0**k for k in range(-7, 1)], [f"$10^{{{k}}}$" for k in (-7, -5, -3, -1)], "log"),
    ],
)
def test_ticks_are_few(values: list[float], labels: list[str], scale: str) -> None:
    axes = canvas(3.5, 2.0).subplots()
    horizontal_axis(axes, values)
    assert axes.get_xscale() == scale
    assert [text.get_text() for text in axes.get_xticklabels()] == labels
