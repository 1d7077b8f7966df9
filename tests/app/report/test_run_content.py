from report_samples import files, finished, searched

from fedcert.app.report.run_content import TITLES, by_radius, reproved
from fedcert.app.report.runs import FinishedRun


def test_conclusions_are_grouped_by_radius_with_what_they_assume() -> None:
    run = finished(epsilon=(0.001, 0.25))
    known = by_radius(run, [])
    assert [each.radius for each in known] == [0.001, 0.25]
    for each in known:
        stated = [one for one in run.summary["conclusions"] if one["epsilon"] == each.radius]
        assert [sentence.text for sentence in each.sentences] == [one["sentence"] for one in stated]
        for sentence, one in zip(each.sentences, stated, strict=True):
            assert {*sentence.assumptions, *each.assumptions} >= set(one["assumptions"])
            assert not set(sentence.assumptions) & set(each.assumptions)
            assert sentence.refused == (one["value"] is None)
        assert each.assumptions


def test_every_conclusion_of_a_run_has_a_title() -> None:
    run = FinishedRun(*files(searched()))
    assert {one["name"] for one in run.summary["conclusions"]} <= TITLES.keys()
    run.summary["conclusions"][0]["name"] = "something-new"
    assert by_radius(run, [])[0].sentences[0].title == "something new"


def test_refused_conclusions_are_told_from_the_others() -> None:
    run = finished()
    run.summary["conclusions"][0]["value"] = None
    assert [sentence.refused for sentence in by_radius(run, [])[0].sentences][:2] == [True, False]


def test_bounds_come_with_those_of_the_properties() -> None:
    run = finished()
    (known,) = by_radius(run, [])
    assert known.best is not None
    assert (known.best.claim, known.best.text) == ("direct · fedavg · projected", "56.17 – 62.51 %")
    assert known.best.stated == "direct fedavg projected 0.001"
    assert [list(shares) for _, shares in known.bounds][1] == [0.123456, 0.99999]
    assert by_radius(run, ["projected"])[0].bounds == []


def test_certificates_that_were_proved_again_are_counted() -> None:
    run = FinishedRun(*files(searched()))
    assert reproved(run.summary) == (0, 7)
    run.summary["radii"][0]["reproved"] = run.summary["confidence"][0]["reproved"] = True
    assert reproved(run.summary) == (2, 7)
