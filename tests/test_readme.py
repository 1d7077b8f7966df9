"""The README's code gives the README's output, and its table is what the command prints."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest
from pages import SHOWN_ROW

from fedcert.app.config import RunConfig
from fedcert.app.run import run

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.slow
def test_the_python_example_prints_what_the_readme_shows() -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(blocks("python")[0], {})  # noqa: S102 - the README is ours
    assert output.getvalue() in blocks("text")


@pytest.mark.slow
def test_the_table_is_that_of_the_default_run() -> None:
    shown = {float(radius): list(map(float, rest)) for radius, *rest in SHOWN_ROW.findall(README)}
    assert tuple(shown) == RunConfig().epsilon
    radius = RunConfig().epsilon[0]
    found = run(RunConfig(epsilon=radius, estimates=()))
    bounds = {one.certificate.claim.kind: one.certificate for one in found.proven}
    lower, upper, transported, _ = shown[radius]
    assert lower == pytest.approx(100 * bounds["direct"].mean_lower, abs=3)  # processors differ
    assert upper == pytest.approx(100 * bounds["direct"].mean_upper, abs=3)
    assert transported == pytest.approx(100 * bounds["transported"].mean_lower, abs=3)


def test_the_table_of_the_default_run_agrees_with_the_figure() -> None:
    figures = json.loads((REPOSITORY / "docs" / "figures" / "certified-accuracy.json").read_text())
    shown = {float(radius): list(map(float, rest)) for radius, *rest in SHOWN_ROW.findall(README)}
    both = sorted(set(shown) & set(figures["radius"]))
    assert both == [0.01, 0.03]
    for radius in both:
        i = figures["radius"].index(radius)
        lower, upper, _, survival = shown[radius]
        assert [lower, upper, survival] == [figures[name][i] for name in ("lower", "upper", "survival")]


def reproduced(page: str, dataset: str | None = None) -> list[dict[str, str]]:
    """The rows of a table that `make reproduce` wrote."""
    text = (REPOSITORY / "docs" / "reproduction" / page).read_text(encoding="utf-8")
    head, _, *rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    named = [dict(zip(head, row, strict=True)) for row in rows]
    return [row for row in named if dataset is None or row["Dataset"] == dataset]


def shown(name: str) -> list[str]:
    """The cells of the README's row of this name."""
    return re.search(rf"^\| {re.escape(name)} \| (.+) \|$", README, flags=re.MULTILINE)[1].split(" | ")


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("`paper-box`", "paper-box L<sup>dir</sup> (%)"),
        ("`box`", "box L<sup>dir</sup> (%)"),
        ("`projected`, L", "projected L<sup>dir</sup> (%)"),
        ("`projected`, U", "projected U<sup>dir</sup> (%)"),
        ("survival under attack (estimate)", "Survival (%)"),
    ],
)
def test_the_table_of_scales_is_that_of_the_reproduction(name: str, column: str) -> None:
    known = {row["Scale"]: row[column] for row in reproduced("scales.md", "MNIST")}
    assert shown(name) == [known[scale] for scale in ("1e-05", "0.001", "learned", "0.03", "0.06")]


@pytest.mark.parametrize("scale", ["1e-05", "learned"])
def test_the_table_of_the_grid_is_that_of_the_reproduction(scale: str) -> None:
    rows = {row["Events"]: row for row in reproduced("overall.md") if row["Scale"] == scale}
    families, survival = ("paper-box", "box", "projected"), rows["box"]["Survival mean (%)"]
    name = scale.replace("e-0", "e-")
    lower = [rows[family]["L<sup>tr</sup> mean (%)"] for family in families]
    assert shown(f"{name}, transported") == [*lower, survival]
    lower = [rows[family]["L<sup>dir</sup> mean (%)"] for family in families]
    lower[2] = f"[{lower[2]}, {rows['projected']['U<sup>dir</sup> mean (%)']}]"
    assert shown(f"{name}, direct") == [*lower, survival]
