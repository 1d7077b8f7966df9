from typing import Any

import pytest
from report_samples import files, result, searched
from run_summaries import summary
from terminal import shown

from fedcert.app.console import summary_table
from fedcert.app.report.run_content import empty_families, headline
from fedcert.app.run_table import further_lines, run_rows


def cells(run: dict[str, Any]) -> list[list[str]]:
    """What each line of the table in a terminal says."""
    lines = shown(summary_table(run)).splitlines()
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│" in line]


def caption(run: dict[str, Any]) -> str:
    return " ".join(run_rows(run).caption.split())


def prove_nothing(run: dict[str, Any], *families: str) -> dict[str, Any]:
    """The run if these families had proven nothing."""
    run["summary"] = [
        row | {"lower": 0.0, "upper": None if row["upper"] is None else 1.0}
        if row["events"] in families
        else row
        for row in run["summary"]
    ]
    return run


def test_every_claim_stands_at_every_radius_beside_the_survival_of_its_rule() -> None:
    assert cells(summary()) == [
        ["0.001", "local", "pog", "paper-box", "99.99", "–", "no", "1.2"],
        ["0.001", "transported", "pog", "paper-box", "12.34", "87.50", "no", "1.2"],
        ["0.001", "direct", "pog", "projected", "[50.00, 100.00]", "87.50", "no", "1.2"],
        ["0.001", "direct", "fedavg", "projected", "[0.00, 0.01]", "37.50", "no", "1.2"],
        ["0.125", "local", "pog", "paper-box", "49.99", "–", "no", "1.2"],
        ["0.125", "transported", "pog", "paper-box", "6.17", "43.75", "no", "1.2"],
        ["0.125", "direct", "pog", "projected", "[25.00, 50.00]", "43.75", "no", "1.2"],
        ["0.125", "direct", "fedavg", "projected", "[0.00, 0.01]", "18.75", "no", "1.2"],
    ]


def test_the_table_says_what_was_run_and_what_its_columns_are() -> None:
    text = shown(summary_table(summary()))
    for part in ("digits", "7 clients", "64×32", "learned", "radius", "certified, %", "survive, %"):
        assert part in text
    for part in (
        "rule pog",
        "ℓ∞ balls",
        "proven bounds",
        "mean model on these inputs: 98.0 %",
        "an estimate",
    ):
        assert part in caption(summary())


def test_a_rule_without_a_deployed_law_has_a_table_too() -> None:
    run = summary()
    run["estimates"] = [row for row in run["estimates"] if row["rule"] != "pog"]
    (row,) = (row for row in cells(run) if row[:2] == ["0.001", "transported"])
    assert row[4:6] == ["12.34", "–"]


def test_rule_and_events_are_named_only_where_there_are_several() -> None:
    run = summary()
    run["summary"] = [row for row in run["summary"] if row["events"] == "projected" and row["rule"] == "pog"]
    assert cells(run)[0] == ["0.001", "direct", "[50.00, 100.00]", "87.50", "no", "1.2"]


def test_events_alone_are_named_where_the_rule_is_the_same() -> None:
    run = summary()
    run["summary"] = [row for row in run["summary"] if row["rule"] == "pog"]
    assert {row[2] for row in cells(run)} == {"paper-box", "projected"}
    assert "pog" not in {own for row in cells(run) for own in row}


def test_a_certificate_that_the_checker_proved_says_so_and_the_others_do_not() -> None:
    run = summary()
    run["summary"][2]["reproved"] = True
    assert [row[6] for row in cells(run)] == ["no", "no", "yes", "no", "no", "no", "no", "no"]


def test_a_family_that_proves_nothing_at_any_radius_is_one_line_instead_of_rows() -> None:
    run = prove_nothing(summary(), "paper-box")
    assert empty_families(run) == ["paper-box"]
    assert len(cells(run)) == 4
    assert all("paper-box" not in row for row in cells(run))
    assert caption(run).endswith("proven nowhere (0.00 at every radius): paper-box")
    assert "proven nowhere" not in caption(summary())


def test_a_family_that_proves_something_anywhere_keeps_all_its_rows() -> None:
    run = prove_nothing(summary(), "paper-box")
    run["summary"][4]["lower"] = 1e-5
    assert empty_families(run) == ["paper-box"], "all of its bounds are shown as 0.00"
    run["summary"][4]["lower"] = 1.0001e-4
    assert empty_families(run) == []
    assert len(cells(run)) == 8


def test_an_upper_bound_below_one_is_something_proven() -> None:
    run = prove_nothing(summary(), "projected")
    assert empty_families(run) == ["projected"]
    run["summary"][7]["upper"] = 0.999
    assert empty_families(run) == []


def test_where_all_families_prove_nothing_their_zeros_are_shown() -> None:
    run = prove_nothing(summary(), "paper-box", "projected")
    assert empty_families(run) == []
    assert len(cells(run)) == 8


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"chosen": "first"}, "the first 50 of 360 test inputs of digits, as they come"),
        ({"chosen": "first", "count": 360}, "all 360 test inputs of digits"),
        ({"chosen": "random", "seed": 7}, "50 of 360 test inputs of digits, drawn at random (seed 7)"),
        (
            {"chosen": "correct"},
            "50 test inputs of digits selected because the mean model classifies them correctly",
        ),
    ],
)
def test_the_table_says_how_its_inputs_were_chosen(inputs: dict[str, Any], said: str) -> None:
    run = summary()
    run["inputs"] |= inputs
    assert caption(run).startswith(f"inputs: {said};")
    assert ("selected" in caption(run)) == (inputs["chosen"] == "correct")


def test_radii_and_confidence_bounds_are_told_below_the_table() -> None:
    assert list(further_lines(files(result())[0])) == []  # type: ignore[arg-type]
    assert list(further_lines(files(searched())[0])) == [  # type: ignore[arg-type]
        "certified radius of an input (probability at least 50 %): mean 0.1311, median 0.1311, not re-proved",
        "certified radius of an input (probability at least 95 %): mean 0.0299, median 0.0299, not re-proved",
        "confidence bound (95 %, 100 draws), radius 0.001: [47.49, 92.51] %, not re-proved",
    ]


def test_the_first_conclusion_at_the_first_radius_is_the_headline() -> None:
    assert list(headline(summary())) == ["What [follows] at 0.001."]
    nothing_at_the_first = summary()
    nothing_at_the_first["conclusions"] = nothing_at_the_first["conclusions"][2:]
    assert list(headline(nothing_at_the_first)) == []
    nothing = summary() | {"conclusions": []}
    assert list(headline(nothing)) == []


def test_accuracy_is_said_for_each_client_whose_test_inputs_are_known() -> None:
    own = summary() | {"norm": "weighted-linf"}
    own["accuracy_by_client"] = [{"client": "north", "examples": 4, "accuracy": 0.75}]
    table = run_rows(own)
    assert "by client, on all their test inputs: north 75.0 %" in table.caption
    assert "boxes of so many measurement errors" in table.caption
    assert table.columns[0].name == "error ×"
    assert "by client" not in run_rows(summary()).caption
