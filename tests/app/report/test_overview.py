import pytest
from report_samples import finished

from fedcert.app.report.overview import (
    about,
    accuracy_by_scale,
    means_by_scale,
    partitions,
    seconds,
    settings,
    strongest_by_scale,
    typical,
)


def test_means_over_runs_are_rounded_outward() -> None:
    runs = [finished(seed=0), finished(seed=1), finished(seed=0, scale=1e-5)]
    runs[0].summary["summary"][1] |= {"lower": 0.1, "upper": 0.3}
    runs[1].summary["summary"][1] |= {"lower": 0.2, "upper": 0.4}
    runs[2].summary["summary"][1] |= {"lower": 0.7, "upper": None}
    means = means_by_scale(runs)
    assert list(means) == ["learned", "1e-05"]
    (learned,), (paper,) = means.values()
    assert learned.claim == "projected · direct"
    assert learned.lower <= 0.15 <= 0.35 <= learned.upper
    assert (learned.lower, learned.upper) == (pytest.approx(0.15), pytest.approx(0.35))
    assert paper.upper is None


def test_families_that_prove_nothing_are_one_entry_the_last() -> None:
    run = finished()
    row = run.summary["summary"][1]
    others = [row | {"claim": kind, "events": events, "lower": 1e-9, "upper": None}
              for events in ("box", "a-new-one") for kind in ("transported", "direct")]  # fmt: skip
    run.summary["summary"] = [*others, row]
    (means,) = means_by_scale([run]).values()
    assert [(mean.claim, mean.text) for mean in means] == [
        ("projected · direct", "56.17 – 62.51 %"),
        ("box, a-new-one", "≥ 0.00 %"),
    ]


def test_of_bounds_that_look_alike_the_closed_one_is_strongest() -> None:
    run = finished()
    row = run.summary["summary"][1] | {"lower": 0.50105, "upper": 0.6}
    run.summary["summary"] = [row, row | {"events": "box", "lower": 0.50107, "upper": None}]
    (strongest,) = strongest_by_scale([run]).values()
    assert strongest.claim == "projected · direct"


def test_accuracy_is_that_of_the_inputs_unless_they_were_selected() -> None:
    run = finished()
    assert accuracy_by_scale([run]) == {"learned": 0.5}
    run.summary["inputs"]["chosen"] = "correct"
    assert accuracy_by_scale([run]) == {"learned": 0.8125}


def test_what_bounds_are_about_is_told() -> None:
    runs = [finished(), finished(seed=1)]
    assert about(runs) == "2 inputs each, the first ones as they come; ℓ∞ balls of radius 0.001; rule fedavg"
    runs[1].summary["inputs"] |= {"count": 30, "chosen": "correct"}
    assert about(runs).startswith("2 to 30 inputs each, the first ones as they come or selected because")


def test_means_speak_of_the_largest_study_alone() -> None:
    study = [finished(seed=seed, scale=scale) for seed in range(4) for scale in (1e-5, "learned")]
    others = [finished(seed=seed, screen=False) for seed in range(3)]
    assert typical([*study, *others, finished(scale=1e-3)]) == study
    assert typical([*study[:1], *others]) == others


def test_seconds_are_added_up_by_stage() -> None:
    total = seconds([finished(), finished(seed=1)])
    assert total == {"training": 2.0, "certification": 4.0, "Monte Carlo": 8.0, "everything else": 16.0}


def test_each_partition_is_drawn_once() -> None:
    runs = [finished(), finished(scale=1e-5), finished(concentration=0.1), finished(seed=3)]
    drawn = partitions(runs)
    assert [(p.clients, p.concentration, p.seed) for p in drawn["digits"]] == [
        (2, 0.1, 0),
        (2, 10.0, 0),
        (2, 10.0, 3),
    ]
    runs[0].summary["histograms"] = None
    assert partitions(runs[:1]) == {}


def test_settings_are_common_or_vary() -> None:
    common, varying = settings([finished(scale=1e-5), finished(hidden=(8, 8))])
    networks = {"network": ["mlp:64", "mlp:8,8"], "hidden": [[64], [8, 8]]}
    assert varying == {"scale": [1e-5, "learned"], **networks}
    assert common["dataset"] == "digits"
    assert not common.keys() & varying.keys()
