import pytest
from grid_runs import paper_grid

from fedcert.app.report.table import Spread
from reproduction import paper
from reproduction.paper import Entry
from reproduction.tables.beside_paper import Comparison, aggregates, beside_paper, quoted_figures


@pytest.mark.parametrize(
    ("ours", "entry", "one", "two"),
    [
        (92.0, Entry(93.0, 1.5), "yes", "yes"),
        (90.5, Entry(93.0, 1.5), "no", "yes"),
        (89.0, Entry(93.0, 1.5), "no", "no"),
        (95.73, Entry(95.73, 0.0), "yes (sd 0)", "yes (sd 0)"),
        (95.75, Entry(95.73, 0.0), "no (sd 0)", "no (sd 0)"),
    ],
)
def test_ours_lies_within_the_papers_spread_or_not(ours: float, entry: Entry, one: str, two: str) -> None:
    comparison = Comparison(Spread(ours, None, 1), entry, 3)
    assert comparison.judgement() == [one, two]
    assert comparison.difference == pytest.approx(ours - entry.mean)


def test_what_is_unknown_is_not_judged() -> None:
    comparison = Comparison(None, Entry(1.0, 1.0), 3)
    assert comparison.judgement() == [None, None]
    assert not comparison.within(2.0)


@pytest.mark.slow
def test_every_row_stands_beside_the_papers() -> None:
    pog, fedavg = beside_paper(paper_grid())
    assert len(pog.rows) == len(fedavg.rows) == 36
    names = [(column.group, column.name) for column in fedavg.columns]
    place = names.index(("L^tr (%)", "paper"))
    assert [row[place] for row in fedavg.rows] == [
        Spread(row.entries["fedavg", "transported"].mean, row.entries["fedavg", "transported"].deviation, 3)
        for row in paper.table2()
    ]
    assert ("L^tr (%)", "paper") not in [(column.group, column.name) for column in pog.columns]


@pytest.mark.slow
def test_the_caption_counts_the_rows_within() -> None:
    (_, table) = beside_paper(paper_grid())
    names = [(column.group, column.name) for column in table.columns]
    for group, name in (("L^dir (%)", "L^dir"), ("MC–IBP (%)", "MC–IBP")):
        counts = [
            sum(str(row[names.index((group, reach))]).startswith("yes") for row in table.rows)
            for reach in ("≤ sd", "≤ 2 sd")
        ]
        assert f"{name}: {counts[0]} of 36 rows within one, {counts[1]} within two" in table.caption
    assert "the paper's deviation is 0.00 in 3, where" in table.caption


def test_a_part_of_the_grid_gives_a_part_of_the_rows() -> None:
    runs = [one for one in paper_grid() if one.clients == 2 and one.concentration == 0.5]
    assert [len(table.rows) for table in beside_paper(runs)] == [6, 6]


def test_aggregates_are_over_eighteen_configurations() -> None:
    (table,) = aggregates(paper_grid())
    assert len(table.rows) == 12
    assert {row[3] for row in table.rows} == {18}
    names = [(column.group, column.name) for column in table.columns]
    largest = table.rows[1][names.index(("L^dir (%)", "paper"))]
    assert isinstance(largest, Spread)
    assert (round(largest.mean, 2), largest.count) == (91.20, 18)


def test_quotes_are_shown_with_our_grid_only() -> None:
    (table,) = quoted_figures(paper_grid())
    assert "13 of 20 agree" in table.caption
    assert quoted_figures([]) == []
