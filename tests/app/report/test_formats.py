import csv as reader
import io
import re
from fractions import Fraction
from pathlib import Path

import pytest

from fedcert.app.report.formats import csv, escaped, item, latex, markdown, shown, write_tables
from fedcert.app.report.table import Column, Item, Spread, Table, Value

TABLE = Table(
    "pair",
    "A & B",
    "All of 50 %",
    (
        Column("Name"),
        Column("L^tr (%)", group="FedAvg", rounding="down"),
        Column("U (%)", group="FedAvg", rounding="up"),
        Column("n"),
    ),
    (
        ("a|b", Spread(99.999, 1.25, 3), 99.991, 4),
        ("c_d", Spread(50.0, None, 1), None, 5),
    ),
)


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (None, Column("x"), "–"),
        ("word", Column("x"), "word"),
        (12, Column("x"), "12"),
        (1.005, Column("x", 1), "1.0"),
        (Spread(96.667, 2.887, 3), Column("x"), "96.67 ± 2.89"),
        (Spread(96.667, None, 1), Column("x"), "96.67"),
        (Spread(99.999, 0.001, 3), Column("x", rounding="down"), "99.99 ± 0.00"),
        (99.991, Column("x", rounding="up"), "100.00"),
        (0.1 + 0.2, Column("x", 1, rounding="down"), "0.3"),
        (-3.217, Column("x"), "-3.22"),
        (Fraction(200, 3), Column("x", rounding="down"), "66.66"),
        (Fraction(200, 3), Column("x", rounding="up"), "66.67"),
        (Item("1e-05", 1e-5), Column("x"), "1e-05"),
    ],
)
def test_values_are_shown_in_the_digits_of_their_column(value: Value, column: Column, text: str) -> None:
    assert shown(value, column) == text


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (None, None),
        ("mnist", "mnist"),
        (3, 3),
        (1.23456, 1.23456),
        (Fraction(1, 4), 0.25),
        (Spread(2.0, 0.25, 4), 2.0),
        (Item("learned", float("inf")), float("inf")),
    ],
)
def test_a_value_sorts_by_itself(value: Value, key: object) -> None:
    column = Column("", 3)
    assert (item(value, column).text, item(value, column).key) == (shown(value, column), key)


@pytest.mark.parametrize("third", [Fraction(1, 3), Fraction(2, 3)])
def test_csv_never_moves_a_bound_inward(third: Fraction) -> None:
    table = Table("t", "T", "C", [Column("a", rounding="down"), Column("b", rounding="up")], [[third, third]])
    low, high = csv(table).splitlines()[1].split(",")
    assert Fraction(float(low)) < third < Fraction(float(high))


def test_csv_keeps_all_digits_with_deviation_and_count() -> None:
    head, first, second = reader.reader(io.StringIO(csv(TABLE)))
    assert head == ["Name", "FedAvg L^tr (%)", "FedAvg L^tr (%) sd", "FedAvg L^tr (%) n", "FedAvg U (%)", "n"]
    assert first == ["a|b", "99.999", "1.25", "3", "99.991", "4"]
    assert second == ["c_d", "50.0", "", "1", "", "5"]


def test_markdown_has_one_cell_a_column() -> None:
    lines = markdown(TABLE).splitlines()
    assert lines[0] == "### A & B"
    assert lines[2] == "| Name | FedAvg L<sup>tr</sup> (%) | FedAvg U (%) | n |"
    assert lines[3] == "| :--- | ---: | ---: | ---: |"
    assert lines[4] == r"| a\|b | 99.99 ± 1.25 | 100.00 | 4 |"
    assert lines[5] == "| c_d | 50.00 | – | 5 |"
    assert lines[-1] == "All of 50 %"


def test_latex_is_whole() -> None:
    text = latex(TABLE)
    opened, closed = re.findall(r"\\begin{(.*?)}", text), re.findall(r"\\end{(.*?)}", text)
    assert opened == closed[::-1] == ["table*", "tabular"]
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\cmidrule(lr){2-3}", r"\label{tab:pair}"):
        assert rule in text
    assert r" & \multicolumn{2}{c}{FedAvg} &  \\" in text
    assert r"\caption{A \& B. All of 50 \%}" in text
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert [row.replace(r"\&", "").count("&") for row in rows] == [3, 3, 3]
    assert rows[0] == r"Name & $L^{\mathrm{tr}}$ (\%) & U (\%) & n \\"
    assert rows[1] == r"a$|$b & $99.99\pm1.25$ & $100.00$ & 4 \\"
    assert rows[2] == r"c\_d & $50.00$ & -- & 5 \\"


def test_latex_without_groups_has_no_row_for_them() -> None:
    plain = Table("t", "T", "C", (Column("a"), Column("b")), ((1, 2),))
    assert "multicolumn" not in latex(plain)
    assert "cmidrule" not in latex(plain)


def test_nothing_in_a_text_is_a_command() -> None:
    assert escaped(r"\input{x} 100% of #1_a & $b^~") == (
        r"\textbackslash{}input\{x\} 100\% of \#1\_a \& \$b\textasciicircum{}\textasciitilde{}"
    )


def test_every_table_is_written_in_every_format(tmp_path: Path) -> None:
    write_tables([TABLE], tmp_path / "tables")
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"pair.csv", "pair.md", "pair.tex"}
    assert (tmp_path / "tables" / "pair.tex").read_text(encoding="utf-8") == latex(TABLE)
