"""Inputs as rows of measurements, and what is proven for each client's."""

from report_samples import files, finished, measured

from fedcert.app.report.measurement_tables import by_client, inputs
from fedcert.app.report.runs import FinishedRun


def shown() -> FinishedRun:
    return FinishedRun(*files(measured()))


def text(value: object) -> object:
    return getattr(value, "text", value)


def test_inputs_are_rows_with_units_errors_and_bounds_the_least_proven_first() -> None:
    table = inputs(shown())
    assert [column.name for column in table.columns] == [
        *(
            "input",
            "client",
            "class",
            "× 0",
            "× 1",
            "× 2",
            "bp, mmHg",
            "code-0",
            "code-1",
            "code-2",
            "attack × 0",
        )
    ]
    measured = [column.view for column in table.columns if column.group == "measured"]
    assert measured == ["with an error", *["all else"] * 3], "a page shows those that may vary first"
    rows = [[text(value) for value in row] for row in table.rows]
    assert [row[:3] for row in rows] == [[0, "client-0", "3"], [1, "client-1", "7"]]
    assert rows[0][3:] == [
        *("12.34 – 25.00", "6.17 – 12.51", "4.11 – 8.34"), "128 ± 5", "0.2", "0.4", "1", "succeeds"
    ]  # fmt: skip
    assert rows[1][6] == "144 ± 5"


def test_each_client_has_its_accuracy_and_its_certified_share() -> None:
    rows = [[text(value) for value in row] for row in by_client(shown()).rows]
    assert [row[:3] for row in rows] == [["client-0", 30, 1], ["client-1", 30, 1]]
    assert [row[4] for row in rows] == ["12.34 – 25.00", "99.99 – 100.00"]


def test_images_are_no_rows() -> None:
    assert inputs(finished()) is by_client(finished()) is None
