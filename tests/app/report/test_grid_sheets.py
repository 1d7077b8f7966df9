import pytest
from report_samples import job

from fedcert.app.report.formats import headings
from fedcert.app.report.grid_sheets import (
    federations,
    job_table,
    overview,
    partitions,
    seconds,
    settings,
    strongest,
    typical,
)
from fedcert.app.report.page import as_items


def test_the_overview_is_the_mean_over_jobs_rounded_outward() -> None:
    jobs = [job(seed=0), job(seed=1), job(seed=0, scale=1e-5)]
    jobs[0].summary["summary"][1] |= {"lower": 0.1, "upper": 0.3}
    jobs[1].summary["summary"][1] |= {"lower": 0.2, "upper": 0.4}
    jobs[2].summary["summary"][1] |= {"lower": 0.7, "upper": None}
    means = overview(jobs)
    assert list(means) == ["learned", "1e-5"]
    (learned,), (paper,) = means.values()
    assert learned.claim == "projected · direct"
    assert learned.lower <= 0.15 <= 0.35 <= learned.upper
    assert (learned.lower, learned.upper) == (pytest.approx(0.15), pytest.approx(0.35))
    assert paper.upper is None
    assert strongest(means) == {"learned": learned, "1e-5": paper}


def test_means_speak_of_the_largest_study_alone() -> None:
    study = [job(seed=seed, scale=scale) for seed in range(4) for scale in (1e-5, "learned")]
    others = [job(seed=seed, screen=False) for seed in range(3)]
    assert typical([*study, *others, job(scale=1e-3)]) == study
    assert typical([*study[:1], *others]) == others


def test_seconds_are_added_up_by_stage() -> None:
    total = seconds([job(), job(seed=1)])
    assert total == {"training": 2.0, "certification": 4.0, "Monte Carlo": 8.0, "everything else": 16.0}


def test_a_federation_counts_once_whatever_is_certified_of_it() -> None:
    assert federations([job(events=("box",)), job(events=("projected",)), job(seed=1)]) == 2


def test_the_table_of_jobs_has_a_column_for_every_claim_of_any_job() -> None:
    one, other = job("one.html"), job("other.html", scale=1e-5)
    other.summary["summary"] = [row | {"events": "box", "upper": None} for row in other.summary["summary"]]
    table = job_table([one, other])
    first, second = (dict(zip(headings(table), row, strict=True)) for row in as_items(table))
    assert first["projected direct fedavg ≥"].text == "56.17"
    assert first["projected direct fedavg ≤"].text == "62.51"
    assert first["box direct fedavg ≥"].text == "–"
    assert second["box direct fedavg ≥"].text == "56.17"
    assert "box direct fedavg ≤" not in headings(table)
    assert first["data set"].link == "one.html"
    assert first["accuracy, %"].text == "81.25"
    assert first["seconds"].text == "15.0"
    assert second["scale"].key < first["scale"].key  # what is learned sorts behind what is given


def test_each_partition_is_drawn_once() -> None:
    jobs = [job(), job(scale=1e-5), job(concentration=0.1), job(seed=3)]
    drawn = partitions(jobs)
    assert [(p.clients, p.concentration, p.seed) for p in drawn["digits"]] == [
        (2, 0.1, 0),
        (2, 10.0, 0),
        (2, 10.0, 3),
    ]
    jobs[0].summary["histograms"] = None
    assert partitions(jobs[:1]) == {}


def test_settings_are_common_or_vary() -> None:
    common, varying = settings([job(scale=1e-5), job(hidden=(8, 8))])
    assert varying == {"scale": [1e-5, "learned"], "hidden": [[64], [8, 8]]}
    assert common["dataset"] == "digits"
    assert not common.keys() & varying.keys()
