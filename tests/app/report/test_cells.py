from grid_cells import cell, summary

from fedcert.app.report.cells import cells_of


def test_a_cell_holds_what_the_run_found() -> None:
    content = summary(hidden=(64, 64), clients=5, scale="learned", seed=3)
    (found,) = cells_of([content])
    assert (found.dataset, found.hidden, found.clients, found.scale, found.seed) == (
        "mnist",
        (64, 64),
        5,
        "learned",
        3,
    )
    assert found.architecture == "2×64"
    for row in content["summary"]:
        claim = row["claim"], row["rule"], row["events"]
        assert found.lower[claim] == row["lower"]
        assert found.seconds[claim] == row["seconds"]
        assert found.upper.get(claim) == row["upper"]
    for row in content["estimates"]:
        assert found.estimates[row["name"], row["rule"]] == row["value"]
    assert found.accuracy == content["accuracy_by_rule"]
    assert found.timings == content["timings"]


def test_runs_that_differ_in_events_are_one_cell() -> None:
    first, second = summary(events=("paper-box",)), summary(events=("box", "projected"))
    first["timings"]["training"] = 9.0
    (found,) = cells_of([first, second])
    whole = cell()
    assert found.lower == whole.lower
    assert found.upper == whole.upper
    assert found.config["events"] == ["paper-box", "box", "projected"]
    assert found.timings["training"] == 9.0


def test_the_same_job_done_twice_counts_once() -> None:
    assert len(cells_of([summary(), summary(data_dir="elsewhere"), summary(epsilon=0.5)])) == 2


def test_cells_come_in_the_order_of_their_settings() -> None:
    assert [found.clients for found in cells_of(summary(clients=n) for n in (5, 2, 3))] == [2, 3, 5]


def test_learned_scales_come_last() -> None:
    found = cells_of(summary(scale=scale) for scale in ("learned", 1e-3, 1e-5))
    assert [cell.scale for cell in found] == [1e-5, 1e-3, "learned"]
