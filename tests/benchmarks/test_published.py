"""The tables of the benchmark of released posteriors, on clones in miniature."""

import pickle
import sys
from pathlib import Path

import numpy as np
import published
import pytest
from published_clones import MEANS, lay_out

X = np.random.default_rng(4).random((60, 4))
LABEL = (np.maximum(X @ MEANS[0] + MEANS[1], 0) @ MEANS[2] + MEANS[3]).argmax(-1)


@pytest.fixture
def clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lay_out(tmp_path)
    monkeypatch.setattr(published, "mnist", lambda: published.Inputs(X, LABEL))
    monkeypatch.setattr(published, "IMAGES", 3)
    return tmp_path


def printed(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[list[str]]:
    """The rows of all tables, without their heads."""
    monkeypatch.setattr(sys, "argv", ["published.py", *arguments])
    published.main()
    lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row, before in zip(rows[1:], rows, strict=False) if before[0] == "---" and row != [""]]


@pytest.mark.slow
def test_each_table_has_its_row(
    clones: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("batten", "wicker2020", "wicker2021")
    arguments = [word for name in names for word in (f"--{name}", str(clones / name))]
    rows = printed(arguments, monkeypatch, capsys)
    assert [row[0] for row in rows] == ["1×3", "1×3", "1×3", *["VOGN 1×3 λ=0.0 ε=0.05"] * 2]
    batten, logged, boxes, radii, _twice = rows
    assert batten[1:4] == ["100.00", "3 of the first 3", "0.025"]
    assert logged[2:7] == ["a.log", "0.025", "2", "0.000, 0.400, 0.800", "30"]
    assert boxes[2] == "1"  # the run whose boxes were all verified
    assert radii[2:4] == ["1", "0.04 … 0.04"]
    for row in (batten[4], logged[7], radii[5]):
        low, high = map(float, row.strip("[]").split(","))
        assert 0 <= low <= high <= 100


def test_released_inputs_replace_the_first_of_the_test_set(
    clones: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = LABEL[::-1].copy()
    wrong[:2] = 1 - wrong[:2]  # these are left out
    for name, value in (("xs", X[::-1].reshape(60, 2, 2)), ("ys", wrong)):
        (clones / f"batten/verifier/{name}.h5").write_bytes(pickle.dumps(value, 4))
    arguments = ["--batten", str(clones / "batten"), "--inputs", "released"]
    (row,) = printed(arguments, monkeypatch, capsys)
    assert row[2] == "1 of the first 3"


def test_a_network_that_was_misread_is_an_error(clones: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "mnist", lambda: published.Inputs(X, 1 - LABEL))
    monkeypatch.setattr(sys, "argv", ["published.py", "--batten", str(clones / "batten")])
    with pytest.raises(ValueError, match="misread"):
        published.main()


def test_without_a_clone_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["published.py"])
    with pytest.raises(SystemExit):
        published.main()
