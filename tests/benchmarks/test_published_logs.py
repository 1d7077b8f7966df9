"""Logs are read as their authors' scripts wrote them."""

import pytest
from published_logs import Run2020, best, runs2020, runs2021

LOG = """INFO:root:i#=0_w=64_e=0.025_m=1.5_n=100_t=40.5_c=100_p=0.9
INFO:root:i#=0_w=64_e=0.025_m=0.0_n=100_t=1.7_c=100_p=0.0
INFO:root:i#=7_w=64_e=0.025_m=2.0_n=100_t=3.5_p=0.0
INFO:root:i#=0_w=64_e=0.025_m=2.0_n=100_t=41.5_c=98_p=0.95
INFO:root:i#=0_w=64_e=0.001_m=2.0_n=100_t=41.5_c=98_p=5.3e-10"""


def test_each_line_is_a_run() -> None:
    runs = runs2020(LOG)
    assert len(runs) == 4  # not the one without boxes
    assert runs[0] == Run2020(0, 64, 0.025, 1.5, 100, 100, 40.5, 0.9)
    assert (runs[1].image, runs[1].boxes) == (7, 0)
    assert runs[3].bound == 5.3e-10


def test_the_best_run_counts_for_each_image_and_radius() -> None:
    chosen = best(runs2020(LOG), 0.025)
    assert {image: run.bound for image, run in chosen.items()} == {0: 0.95, 7: 0.0}
    assert list(best(runs2020(LOG), 0.001)) == [0]


def test_a_line_of_something_else_is_an_error() -> None:
    with pytest.raises(ValueError, match="Traceback"):
        runs2020(LOG + "\nTraceback (most recent call last):")


def test_the_radii_beside_the_logged_one_are_those_that_were_tried() -> None:
    line = (
        '{"Index": 501, "Lower": 0, "Samples": 3, "Margin": 3.1, "MaxEps": 0.16999999999999998, "Depth": 3}'
    )
    (run,) = runs2021(line + "\n\n")
    assert (run.image, run.passed, run.failed, run.bound) == (501, 0.16, 0.18, 0.0)
    assert (run.drawn, run.margin) == (3, 3.1)
