from grid_runs import paper_grid, run
from report_samples import finished

from fedcert.app.report.formats import headings
from fedcert.app.report.overview import means_by_scale
from fedcert.app.report.page import as_items
from fedcert.app.report.table import percent
from fedcert.app.report.tables import job_table, mean_tables, means, times, totals


def test_the_table_of_jobs_has_a_column_for_every_claim_of_any_job() -> None:
    one, other = finished("one.html"), finished("other.html", scale=1e-5)
    other.summary["summary"] = [row | {"events": "box", "upper": None} for row in other.summary["summary"]]
    table = job_table([one, other])
    first, second = (dict(zip(headings(table), row, strict=True)) for row in as_items(table))
    assert first["projected direct fedavg ≥"].text == "56.17"
    assert first["projected direct fedavg ≤"].text == "62.51"
    assert first["box direct fedavg ≥"].text == "–"
    assert second["box direct fedavg ≥"].text == "56.17"
    assert "box direct fedavg ≤" not in headings(table)
    assert first["data set"].link == "one.html"
    assert first["accuracy, % all"].text == "81.25"
    assert first["accuracy, % these"].text == f"{100 * one.summary['inputs']['accuracy']:.2f}"
    assert "inputs each, " in table.caption
    assert "ℓ∞ balls of radius" in table.caption
    assert first["seconds"].text == "15.0"
    assert second["scale"].key < first["scale"].key  # what is learned sorts behind what is given


def test_a_row_of_means_for_each_scale_and_claim() -> None:
    runs = [finished(seed=0), finished(seed=1), finished(scale=1e-5)]
    table = means(runs)
    assert table.title.endswith("3 jobs, 2 federations")
    assert "over 3 jobs" in table.caption
    assert [tuple(row) for row in table.rows] == [
        (scale, mean.claim, 50, percent(mean.lower), percent(mean.upper), percent(mean.survival))
        for scale, each in means_by_scale(runs).items()
        for mean in each
    ]
    assert [row[:2] for row in table.rows] == [
        [scale, "projected · direct"] for scale in ("learned", "1e-05")
    ]


def test_nothing_proven_is_no_table() -> None:
    assert mean_tables([]) == []
    assert len(mean_tables([run()])) == 1
    assert mean_tables([run(rule="median", events=("projected",)), run(rule="median")]) == []


def test_scales_are_kept_apart_and_totals_are_told() -> None:
    runs = paper_grid(1e-5, "learned")
    (table,) = times(runs)
    assert len(table.rows) == 36
    assert totals(runs) in table.caption
    assert "All 324 runs together" in table.caption
    groups = [column.name for column in table.columns if column.group == "Claims"]
    assert groups == ["projected (s)", "box (s)", "paper-box (s)"]


def test_less_than_a_minute_is_told_in_seconds() -> None:
    assert " 0.0 min" not in totals([run()])
    assert "1.3 s of training" in totals([run()])


def test_clients_that_two_runs_share_are_trained_once() -> None:
    alone, both = totals([run()]), totals([run(), run(scale="learned")])
    training = [text.split("together: ")[1].split(",")[0] for text in (alone, both)]
    assert training[0] == training[1]
