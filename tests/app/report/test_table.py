from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from report_samples import table

from fedcert.app.report.formats import shown
from fedcert.app.report.table import Column, Item, Table, percent


@pytest.mark.slow
@given(probability=st.floats(0, 1))
@example(probability=0.29)  # 0.29 * 100 rounds below 29
@example(probability=0.9999999)
def test_a_probability_in_per_cent_is_exact_until_its_column_rounds_it(probability: float) -> None:
    exact = percent(probability)
    down, up = (Fraction(shown(exact, Column("", rounding=way))) for way in ("down", "up"))
    assert down <= 100 * Fraction(probability) <= up
    assert up - down in (0, Fraction(1, 100))


def test_what_is_unknown_is_a_dash() -> None:
    assert shown(percent(None), Column("")) == "–"


def test_neighbours_share_headings() -> None:
    assert table().groups == [("", 2), ("proven", 2)]
    assert Table("", "", "", [Column("a"), Column("b")], []).groups == []


def test_a_column_with_a_word_is_not_numeric() -> None:
    rows = [["a", 1, None, Item("learned", 1.0), Item("x", "x")], ["b", 2, 3.0, "learned", 5]]
    columns = [Column(name) for name in "abcde"]
    assert Table("", "", "", columns, rows).numeric == [False, True, True, False, False]
    assert Table("", "", "", columns, rows[:1]).numeric == [False, True, True, True, False]
    assert Table("", "", "", columns, []).numeric == [True] * 5
