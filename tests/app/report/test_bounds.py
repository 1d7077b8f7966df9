from report_samples import files, result

from fedcert.app.report.bounds import Bounds


def test_no_attack_was_made_on_local_models() -> None:
    summary, _ = files(result())
    shown = [Bounds.of(row, {"fedavg": 0.5}).survival for row in summary["summary"]]
    assert shown == [None, 0.5, None]


def test_bounds_are_those_of_the_claim() -> None:
    summary, _ = files(result())
    for row in summary["summary"]:
        bounds = Bounds.of(row, {})
        assert (bounds.lower, bounds.upper) == (row["lower"], row["upper"])
        assert bounds.claim == f"{row['claim']} · {row['rule']} · {row['events']}"
