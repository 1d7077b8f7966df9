"""The examples run and show what they say."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.slow
def test_a_median_survives_a_hostile_client_and_an_average_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = runpy.run_path(str(EXAMPLES / "hostile_client.py"))
    example["main"](tmp_path / "picture.png")
    lines = capsys.readouterr().out.splitlines()
    certified = [float(line.split("inputs")[1].strip(" %")) for line in lines[:3]]
    fedavg, trimmed, median = certified
    assert min(trimmed, median) > 80 > 2 * fedavg
    assert (tmp_path / "picture.png").stat().st_size > 5000
