import pytest
from report_samples import table

from fedcert.app.report.sheet import item, lower, share, sheet, upper
from fedcert.app.report.table import Column, Spread, Value


@pytest.mark.parametrize(
    ("value", "text", "key"),
    [
        (None, "–", None),
        ("mnist", "mnist", "mnist"),
        (3, "3", 3),
        (1.23456, "1.235", 1.23456),
        (Spread(2.0, 0.25, 4), "2.000 ± 0.250", 2.0),
        (Spread(2.0, None, 1), "2.000", 2.0),
    ],
)
def test_a_value_is_shown_with_its_digits_and_sorts_by_itself(value: Value, text: str, key: object) -> None:
    shown = item(value, Column("", 3))
    assert (shown.text, shown.key) == (text, key)


def test_bounds_are_rounded_outward_and_estimates_to_the_nearest() -> None:
    assert [f(0.123456).text for f in (lower, upper, share)] == ["12.34", "12.35", "12.35"]
    assert lower(0.999999).text == "99.99"
    assert upper(0.000001).text == "0.01"
    assert [f(None).text for f in (lower, upper, share)] == ["–"] * 3


def test_a_table_keeps_its_columns_groups_and_rows() -> None:
    shown = sheet(table())
    assert [heading.number for heading in shown.headings] == [False, True, True, True]
    assert shown.groups == [("", 2), ("proven", 2)]
    assert [[cell.text for cell in row] for row in shown.rows] == [
        ["row-0", "8", "99.0 ± 0.5", "–"],
        ["row-1", "10", "89.0", "0.125"],
        ["row-2", "12", "79.0 ± 0.5", "0.250"],
    ]
