from dataclasses import replace

from report_samples import files, finished, result, searched

from fedcert.app.report.page import as_items
from fedcert.app.report.run_tables import (
    certificates,
    confidence,
    estimates,
    federation,
    margins,
    messages,
    radii,
    times,
)
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Item, Stated, Table, percent
from fedcert.app.summary import describe_properties, summarise


def texts(table: Table) -> list[list[str]]:
    return [[item.text for item in row] for row in as_items(table)]


def test_certificates_are_listed_by_radius_and_say_whether_they_were_proved_again() -> None:
    run = result(epsilon=(0.001, 0.5))
    again = {one.file: one.epsilon == 0.5 for one in run.proven}
    rows = texts(certificates(FinishedRun(summarise(run, again), describe_properties(run))))
    assert rows[:3] == [
        ["0.001", "local", "89.99", "–", "no", "fedavg", "projected", "0.5"],
        ["0.001", "direct", "56.17", "62.51", "no", "fedavg", "projected", "0.5"],
        ["0.001", "direct", "65.43", "76.01", "no", "pog", "projected", "0.5"],
    ]
    assert [row[0] for row in rows[3:]] == ["0.5"] * 3
    assert [row[4] for row in rows[3:]] == ["yes"] * 3


def test_bounds_name_their_claim_in_the_results() -> None:
    run = finished()
    for stated, row in zip(run.summary["summary"], as_items(certificates(run)), strict=True):
        name = f"{stated['claim']} {stated['rule']} projected 0.001"
        assert row[2].stated == Stated(name, "lower", stated["lower"])
        closed = stated["upper"] is not None
        assert row[3].stated == (Stated(name, "upper", stated["upper"]) if closed else None)


def test_families_that_prove_nothing_are_one_line() -> None:
    run = finished()
    run.summary["summary"] += [row | {"events": "box", "lower": 0.0} for row in run.summary["summary"]]
    table = certificates(run, ["box"])
    assert len(table.rows) == 3
    assert "box: 0.00 at every radius" in table.caption
    assert len(certificates(run).rows) == 6


def test_radii_confidence_bounds_and_margins_have_tables_of_their_own() -> None:
    run = FinishedRun(*files(searched()))
    found = [radii(run), confidence(run), margins(run)]
    assert [texts(table) for table in found if table] == [
        [
            ["50", "direct", "fedavg", "projected", "0.13117", "0.13117", "no", "0.50"],
            ["95", "direct", "fedavg", "projected", "0.02999", "0.02999", "no", "0.50"],
        ],
        [["0.001", "fedavg", "47.49", "92.51", "70.00", "10.00", "100", "no", "0.50"]],
        [["0.001", "-0.5", "direct", "fedavg", "projected", "56.17", "no", "0.50"]],
    ]
    assert found[1] is not None
    assert found[1].title == "Confidence bound (95 %)"
    assert "certificate" not in found[1].title
    assert [make(finished()) for make in (radii, confidence, margins)] == [None] * 3


def test_estimates_come_with_their_intervals() -> None:
    for row, shown in zip(finished().summary["estimates"], estimates(finished()).rows, strict=True):
        assert list(shown) == [
            Item("0.001", 0.001),
            row["name"],
            row["rule"],
            percent(row["value"]),
            *map(percent, row["confidence_interval"]),
            row["samples"],
        ]


def test_the_federation_is_shaded_by_its_counts() -> None:
    table = federation(finished())
    assert table is not None
    assert texts(table)[1] == ["client-1", "30", "23", "7"] + ["0"] * 8
    assert [item.shade for item in as_items(table)[1][2:5]] == [1.0, 7 / 23, 0.0]
    assert federation(FinishedRun(*files(replace(result(), histograms=None)))) is None


def test_messages_are_named_by_their_digests() -> None:
    assert [row[2] for row in messages(finished()).rows] == [m.digest for m in result().messages]


def test_times_by_stage() -> None:
    assert ["estimates", "4.00"] in texts(times(finished()))
