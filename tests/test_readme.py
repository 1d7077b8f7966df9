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


@pytest.mark.slow
def test_the_table_is_that_of_the_default_run() -> None:
    shown = re.findall(r"│(\w+) +│(\w+) +│([\w-]+) +│ *\[?([\d.]+)(?:, ([\d.]+)\])? │", README)
    certificates = [certificate for certificate, _ in run(RunConfig()).certificates]
    found = {(c.claim.kind, c.claim.rule, c.claim.events): c for c in certificates}
    assert {tuple(row[:3]) for row in shown} == set(found)
    for *claim, lower, upper in shown:
        certificate = found[tuple(claim)]
        assert float(lower) == pytest.approx(100 * certificate.mean_lower, abs=3)  # processors differ
        assert bool(upper) == (certificate.mean_upper is not None)
