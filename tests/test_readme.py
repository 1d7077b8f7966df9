"""The README's code gives the README's output, and its table is what the command prints."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from fedcert.app.config import RunConfig
from fedcert.app.run import run

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.slow
def test_the_python_example_prints_what_the_readme_shows() -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(blocks("python")[0], {})  # noqa: S102 - the README is ours
    assert output.getvalue() in blocks("text")


ROW = re.compile(r"\| ([\d.]+) \| \[([\d.]+), ([\d.]+)\] \| ([\d.]+) \| ([\d.]+) \|")


@pytest.mark.slow
def test_the_table_is_that_of_the_default_run() -> None:
    shown = {float(radius): list(map(float, rest)) for radius, *rest in ROW.findall(README)}
    assert tuple(shown) == RunConfig().epsilon
    radius = RunConfig().epsilon[0]
    found = run(RunConfig(epsilon=radius, estimates=()))
    bounds = {one.certificate.claim.kind: one.certificate for one in found.proven}
    lower, upper, transported, _ = shown[radius]
    assert lower == pytest.approx(100 * bounds["direct"].mean_lower, abs=3)  # processors differ
    assert upper == pytest.approx(100 * bounds["direct"].mean_upper, abs=3)
    assert transported == pytest.approx(100 * bounds["transported"].mean_lower, abs=3)
