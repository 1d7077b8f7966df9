from grid_runs import run, summary

from fedcert.app.report.measures import accuracy, bound, estimate, families, proving, spread, stage, upper
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Spread


def test_a_spread_is_mean_and_sample_deviation() -> None:
    found = spread([95.0, 95.0, 100.0])
    assert found is not None
    assert (round(found.mean, 2), round(found.deviation or 0, 2), found.count) == (96.67, 2.89, 3)
    assert spread([7.0]) == Spread(7.0, None, 1)
    assert spread([]) is None


def test_measures_are_percentages_of_what_the_run_found() -> None:
    one = run(events=("paper-box", "projected"))
    projected = one.claims["direct", "fedavg", "projected"]
    assert accuracy("pog").of(one) == 100 * one.summary["accuracy_by_rule"]["pog"]
    assert bound("direct", "fedavg", "projected").of(one) == 100 * projected["lower"]
    assert upper("direct", "fedavg", "projected").of(one) == 100 * projected["upper"]
    assert estimate("mc-ibp", "fedavg").of(one) == 100 * one.estimate("mc-ibp")["fedavg"]
    assert bound("direct", "fedavg", "box").of(one) is None
    assert upper("direct", "fedavg", "paper-box").of(one) is None


def test_no_rule_is_the_deployed_one() -> None:
    one = run(rule="pog")
    one.summary["accuracy_by_rule"]["pog"] = 0.125
    one.claims["direct", "pog", "box"]["lower"] = 0.25
    next(row for row in one.summary["estimates"] if row["rule"] == "pog")["value"] = 0.5
    assert accuracy().of(one) == 12.5
    assert bound("direct", None, "box").of(one) == 25
    assert estimate("mc-ibp", None).of(one) == 50


def test_the_strongest_family_comes_first_and_unknown_ones_last() -> None:
    content = summary(events=("box", "projected"))
    assert families([FinishedRun(content, ())]) == ["projected", "box"]
    new = [{**row, "events": "a-new-one"} for row in content["summary"][:1]]
    assert families([FinishedRun(content | {"summary": new + content["summary"]}, ())]) == [
        "projected",
        "box",
        "a-new-one",
    ]


def test_local_bounds_are_those_of_the_run_under_either_law() -> None:
    one = run()
    assert bound("local", "pog", "box").of(one) == bound("local", "fedavg", "box").of(one) is not None


def test_only_bounds_are_rounded_down() -> None:
    assert bound("direct", "fedavg", "box").column.rounding == "down"
    assert upper("direct", "fedavg", "box").column.rounding == "up"
    assert estimate("mc-ibp", "fedavg").column.rounding == accuracy("fedavg").column.rounding == "nearest"


def test_seconds_add_up() -> None:
    one = run(clients=4)
    timings = one.summary["timings"]
    assert stage("x", "training", "estimates").of(one) == timings["training"] + timings["estimates"]
    assert stage("x", "nothing").of(one) is None
    assert proving("box").of(one) == 4 * 0.5 * 2  # local, transported and two direct claims
    assert proving("box", "pog").of(one) == 2 * 0.5 * 2
