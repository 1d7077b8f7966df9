from pathlib import Path

import pytest
from small_grids import TINY

from fedcert.app.grid.command import GridOptions, run_grid
from fedcert.app.grid.preset import Grid, Study
from fedcert.errors import InvalidConfig

GRID = Grid("tiny", (Study(TINY, {"clients": [2, 3]}),))
HOPELESS = Grid("hopeless", (Study(TINY, {"properties": [61]}),))


def go(grid: Grid, out: Path, **options: object) -> tuple[int, list[Path], list[str]]:
    """The exit code, where reports were written, and what was said."""
    written: list[Path] = []
    said: list[str] = []
    code = run_grid(grid, out, GridOptions(jobs=1, **options), written.append, "again", said.append)  # type: ignore[arg-type]
    return code, written, said


@pytest.mark.slow
def test_a_grid_ends_with_its_report(tmp_path: Path) -> None:
    assert go(GRID, tmp_path) == (0, [tmp_path], [])
    assert len(list(tmp_path.glob("jobs/*/result.json"))) == 2


@pytest.mark.slow
def test_the_report_of_a_shard_waits_for_the_others(tmp_path: Path) -> None:
    code, written, said = go(GRID, tmp_path, shard="1/2")
    assert (code, written) == (0, [])
    assert said == [f"when all shards are done: again {tmp_path}"]
    assert len(list(tmp_path.glob("jobs/*/result.json"))) == 1


def test_failures_are_told_and_nothing_is_reported_of_nothing(tmp_path: Path) -> None:
    code, written, said = go(HOPELESS, tmp_path)
    assert (code, written) == (1, [])
    assert said[0].startswith("failed: digits-")
    assert said[-1] == "1 of 1 jobs failed: the same command tries them again"


@pytest.mark.slow
def test_options_choose_events_jobs_and_seeds(tmp_path: Path) -> None:
    go(GRID, tmp_path, events="box", only="clients=3", seeds=2)
    names = {path.name.rpartition("-")[0] for path in (tmp_path / "jobs").iterdir()}
    assert names == {f"digits-4-3-clients-10-seed-{seed}-learned" for seed in (0, 1)}


def test_bad_options_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="engine"):
        go(GRID, tmp_path / "out", engine="abacus")
    assert not (tmp_path / "out").exists()
