import pytest
from grid_runs import properties, run, summary

from fedcert.app.report.measures import bound
from fedcert.app.report.runs import FinishedRun
from reproduction.tables.overall import COLUMNS, overall


def test_nothing_of_the_papers_grid_is_no_table() -> None:
    assert overall([run(dataset="digits", concentration=3.0)]) == []


def test_means_and_the_worst_federation_by_scale_and_events() -> None:
    runs = [run(concentration=0.5), run(concentration=10.0), run(scale="learned")]
    (table,) = overall(runs)
    assert [row[:3] for row in table.rows] == [
        ("1e-05", "paper-box", 2), ("1e-05", "box", 2), ("1e-05", "projected", 2),
        ("learned", "paper-box", 1), ("learned", "box", 1), ("learned", "projected", 1),
    ]  # fmt: skip
    assert all(len(row) == len(COLUMNS) for row in table.rows)
    for column, claim in ((3, "transported"), (5, "direct")):
        bounds = [bound(claim, "fedavg", "paper-box").of(one) or 0 for one in runs[:2]]
        assert table.rows[0][column : column + 2] == (pytest.approx(sum(bounds) / 2), min(bounds))


def test_laws_are_compared_run_by_run() -> None:
    content = summary(concentration=10.0)
    content["accuracy_by_rule"]["pog"] += 0.03
    for row in content["summary"]:
        if (row["rule"], row["events"]) == ("pog", "box"):
            row["lower"] /= 2
    (table,) = overall([run(concentration=0.5), FinishedRun(content, properties(content))])
    assert [row[-2] for row in table.rows] == [2, 1, 2]
    assert [row[-1] for row in table.rows] == [pytest.approx(3)] * 3
