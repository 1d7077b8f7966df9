"""Each library's script: a posterior of each client, certified, saved, and proved by the checker."""

import re
import runpy
import sys
import warnings
from pathlib import Path

import pytest
import torch
from integrations import library

from fedcert_check import certificates, check

EXAMPLES = Path(__file__).parents[3] / "examples" / "integrations"
NEEDS = {
    "bayesian_torch": "bayesian_torch",
    "ivon": "ivon",
    "laplace_torch": "laplace",
    "laplace_torch_kron": "laplace",
    "laplace_torch_last_layer": "laplace",
    "posteriors": "posteriors",
    "pyro": "pyro",
    "state_dicts": "torch",
}


def script(name: str) -> Path:
    return EXAMPLES / f"{name}_example.py"


def test_every_script_is_run() -> None:
    assert sorted(NEEDS) == sorted(
        path.stem.removesuffix("_example") for path in EXAMPLES.glob("*_example.py")
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDS)
@pytest.mark.usefixtures("without_annotations")
def test_what_a_script_saves_is_proved(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library(NEEDS[name])
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr(sys, "argv", [str(script(name)), str(tmp_path / "run")])
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        for kind in (DeprecationWarning, FutureWarning, UserWarning):  # of the libraries; ours stay errors
            warnings.filterwarnings("ignore", category=kind, module=r"(?!fedcert)")
        result = runpy.run_path(str(script(name)))["result"]
    assert "Certification: at least" in capsys.readouterr().out
    assert result.mean_lower > 0.5
    found = certificates(tmp_path / "run")
    assert len(found) == 2
    assert all(check(path).verdict for path in found)


@pytest.mark.parametrize("name", NEEDS)
def test_a_script_has_at_most_15_lines_besides_its_imports(name: str) -> None:
    lines = script(name).read_text(encoding="utf-8").splitlines()[1:]
    assert len([line for line in lines if line and not line.startswith(("import ", "from "))]) <= 15


PAGE = (EXAMPLES.parents[1] / "docs" / "posteriors.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NEEDS)
def test_the_page_shows_lines_of_the_script(name: str) -> None:
    (shown,) = re.findall(
        rf"{name}_example\.py\)[^\n]*\n\n<!--[^\n]*-->\n```python\n(.*?)```", PAGE, flags=re.DOTALL
    )
    lines = script(name).read_text(encoding="utf-8").splitlines()
    places = [lines.index(line) for line in shown.splitlines()]
    assert places == sorted(places)
    assert len(places) <= 5
