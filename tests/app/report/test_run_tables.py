from dataclasses import replace

from report_samples import files, finished, result

from fedcert.app.report.page import as_items
from fedcert.app.report.run_tables import certificates, estimates, federation, messages, times
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Table, percent


def texts(table: Table) -> list[list[str]]:
    return [[item.text for item in row] for row in as_items(table)]


def test_certificates_stand_beside_the_estimates_of_their_rule() -> None:
    assert texts(certificates(finished())) == [
        ["local", "fedavg", "projected", "89.99", "–", "–", "–", "0.50"],
        ["direct", "fedavg", "projected", "56.17", "62.51", "75.00", "75.50", "0.50"],
        ["direct", "pog", "projected", "65.43", "76.01", "75.00", "–", "0.50"],
    ]


def test_estimates_come_with_their_intervals() -> None:
    for row, shown in zip(finished().summary["estimates"], estimates(finished()).rows, strict=True):
        assert list(shown) == [
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
