import pytest
from report_samples import finished

from fedcert.app.report.overview import means_by_scale, partitions, seconds, settings, typical


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
    assert varying == {"scale": [1e-5, "learned"], "hidden": [[64], [8, 8]]}
    assert common["dataset"] == "digits"
    assert not common.keys() & varying.keys()
