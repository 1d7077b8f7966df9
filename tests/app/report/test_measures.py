from dataclasses import replace

import pytest
from grid_cells import cell

from fedcert.app.report.measures import (
    accuracy,
    bound,
    estimate,
    law_seconds,
    proving,
    retention,
    spread,
    stage,
    upper,
)
from fedcert.app.report.table import Spread


def test_a_spread_is_mean_and_sample_deviation() -> None:
    found = spread([95.0, 95.0, 100.0])
    assert found is not None
    assert (round(found.mean, 2), round(found.deviation or 0, 2), found.count) == (96.67, 2.89, 3)
    assert spread([7.0]) == Spread(7.0, None, 1)
    assert spread([]) is None


def test_measures_are_percentages_of_what_the_cell_holds() -> None:
    one = cell(events=("paper-box", "projected"))
    assert accuracy("pog").of(one) == 100 * one.accuracy["pog"]
    assert bound("direct", "pog", "projected").of(one) == 100 * one.lower["direct", "pog", "projected"]
    assert upper("direct", "fedavg", "projected").of(one) == 100 * one.upper["direct", "fedavg", "projected"]
    assert estimate("mc-ibp", "fedavg").of(one) == 100 * one.estimates["mc-ibp", "fedavg"]
    assert bound("direct", "fedavg", "box").of(one) is None
    assert upper("direct", "fedavg", "paper-box").of(one) is None


def test_local_bounds_are_those_of_the_run_under_either_law() -> None:
    one = cell()
    assert bound("local", "pog", "box").of(one) == bound("local", "fedavg", "box").of(one) is not None


def test_only_bounds_are_rounded_down() -> None:
    assert bound("direct", "fedavg", "box").column.rounding == "down"
    assert upper("direct", "fedavg", "box").column.rounding == "up"
    assert estimate("mc-ibp", "fedavg").column.rounding == accuracy("fedavg").column.rounding == "nearest"


def test_retention_is_unknown_where_nothing_is_certified() -> None:
    one = cell()
    zero = replace(one, lower={**one.lower, ("direct", "fedavg", "box"): 0.0})
    assert retention("box").of(zero) is None
    assert retention("box").of(one) == pytest.approx(100 * 0.998 / 0.999)


def test_seconds_add_up() -> None:
    one = cell(clients=4)
    assert stage("x", "training", "estimates").of(one) == one.timings["training"] + one.timings["estimates"]
    assert stage("x", "nothing").of(one) is None
    assert proving("box").of(one) == 4 * 0.5 * 2  # local, transported and two direct claims
    assert proving("box", "pog").of(one) == 2 * 0.5 * 2
    before = one.timings["training"] + one.timings["properties"]
    assert law_seconds("pog", "box").of(one) == pytest.approx(before + 2.0)
    assert law_seconds("pog", "paper-box").of(one) == pytest.approx(before + one.timings["messages"] + 0.8)
