from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import files, finished, result, searched

from fedcert.app.report.charts import (
    MIN_GAP,
    Axis,
    Chart,
    Line,
    accuracy_chart,
    lower_steps,
    radius_chart,
    upper_steps,
)
from fedcert.app.report.runs import FinishedRun

RADII = st.lists(st.floats(0, 1e3), min_size=1, max_size=30)


def line(chart: Chart, kind: str) -> Line:
    return next(each for each in chart.lines if each.kind == kind)


@given(RADII)
def test_radii_keep_their_order_and_stay_on_the_axis(radii: list[float]) -> None:
    axis = Axis.over(radii)
    places = [axis.place(radius) for radius in sorted(radii)]
    assert places == sorted(places)
    assert axis.place(0.0) == 0.0 <= places[0]
    assert places[-1] <= 100.0
    assert max(radii) == 0.0 or places[-1] == 100.0


@given(RADII)
def test_labels_do_not_touch_and_both_ends_have_one(radii: list[float]) -> None:
    axis = Axis.over(radii)
    places = [place for place, _ in axis.ticks(radii)]
    assert all(right - left >= MIN_GAP for left, right in pairwise(places))
    assert places[0] == 0.0
    assert places[-1] == max(map(axis.place, radii))


@given(RADII.map(sorted), st.floats(0, 1), st.data())
def test_steps_say_only_what_a_bound_at_a_larger_or_smaller_radius_implies(
    radii: list[float], share: float, data: st.DataObject
) -> None:
    bounds = data.draw(st.lists(st.floats(0, 1), min_size=len(radii), max_size=len(radii)))
    points = list(zip(radii, bounds, strict=True))
    lower, upper = lower_steps(points), upper_steps(points)
    for (left, y), (right, same) in zip(lower[::2], lower[1::2], strict=True):
        assert y == same
        assert any(x >= right and abs(100 * (1 - bound) - y) < 1e-2 for x, bound in points)
        assert left <= right
    for (left, y), (right, same) in zip(upper[::2], upper[1::2], strict=True):
        assert y == same
        assert any(x <= left and abs(100 * (1 - bound) - y) < 1e-2 for x, bound in points)
        assert left <= right


def test_the_first_picture_shows_bounds_survival_and_accuracy() -> None:
    chart = accuracy_chart(finished(epsilon=(0.25, 0.001)))
    assert chart is not None
    assert [label for _, label in chart.ticks] == ["0", "0.001", "0.25"]
    assert chart.kinds == {"band", "lower", "upper", "survival", "proven", "accuracy"}
    (x, y), *_, last = line(chart, "lower").points
    assert (x, y) == (0.0, pytest.approx(100 - 56.1723, abs=1e-3))  # also proven at smaller radii
    assert last[0] == 100.0
    accuracy = next(dot for dot in chart.dots if dot.kind == "accuracy")
    assert (accuracy.x, accuracy.y) == (0.0, 50.0)
    assert "radius 0.001: 56.17 – 62.51 %" in chart.alternative
    assert line(chart, "lower").path.startswith("M0 43.828L")


def test_one_radius_is_a_picture_too() -> None:
    chart = accuracy_chart(finished())
    assert chart is not None
    assert [label for _, label in chart.ticks] == ["0", "0.001"]
    assert [dot.x for dot in chart.dots if dot.kind == "proven"] == [100.0]


def test_radius_zero_is_a_picture_too() -> None:
    chart = accuracy_chart(finished(epsilon=0.0))
    assert chart is not None
    assert {dot.x for dot in chart.dots} == {0.0}


def test_without_claims_of_the_deployed_model_there_is_no_picture() -> None:
    run = finished()
    run.summary["summary"] = run.summary["summary"][:1]  # a local claim
    assert accuracy_chart(run) is None
    assert radius_chart(run) is None


def test_confidence_bounds_are_drawn_as_such() -> None:
    chart = accuracy_chart(FinishedRun(*files(searched())))
    assert chart is not None
    (dot,) = [dot for dot in chart.dots if dot.kind == "confidence"]
    assert dot.text == "confidence bound (95 %): 47.49 – 92.51 %"
    assert (dot.y, dot.to) == (pytest.approx(52.5, abs=0.01), pytest.approx(7.5, abs=0.01))


def test_the_second_picture_falls_from_every_input_to_none() -> None:
    chart = radius_chart(FinishedRun(*files(searched())))
    assert chart is not None
    half, most = chart.lines
    assert half.points[0] == (0.0, 0.0)  # all inputs are certified at radius 0
    assert half.points[-2:] == [(100.0, 100.0), (100.0, 100.0)]
    assert most.points[:2] == [(0.0, 0.0), (0.0, 0.0)]
    assert most.points[2][1] == 50.0  # one of two inputs is not certified at any radius
    assert half.name == "safe with probability ≥ 50 %"
    assert radius_chart(FinishedRun(*files(result()))) is None
