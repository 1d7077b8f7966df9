"""A library that is missing is named with the command that installs it, which is the tested one."""

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedcert import adapters
from fedcert.adapters import library
from fedcert.adapters.library import Library
from fedcert.errors import MissingLibrary

REPOSITORY = Path(__file__).parents[2]
LIBRARIES = [own for own in vars(library).values() if isinstance(own, Library)]
EXTRAS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
ALONE = (REPOSITORY / "requirements" / "integrations-no-deps.txt").read_text().splitlines()
PINNED = (REPOSITORY / "constraints.txt").read_text().splitlines()


@pytest.mark.parametrize(
    ("read", "module", "words"),
    [
        (lambda: adapters.from_laplace(None), "laplace", r"fedcert\[laplace\]' && .* --no-deps laplace"),
        (lambda: adapters.from_ivon(None, None), "ivon", r"pip install 'fedcert\[ivon\]'"),
        (lambda: adapters.from_bayesian_torch(None), "bayesian_torch.layers", r"\[bayesian-torch\]' &&"),
        (lambda: adapters.from_posteriors(None, None), "posteriors", r"pip install 'fedcert\[posteriors\]'"),
        (lambda: adapters.from_pyro(None, None), "pyro", r"pip install 'fedcert\[pyro\]'"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("without_annotations")
def test_a_missing_library_is_named_with_its_extra(
    read: Callable[[], Any], module: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingLibrary, match=words):
        read()


@pytest.mark.parametrize("own", LIBRARIES, ids=lambda own: own.name)
def test_every_library_has_an_extra_and_is_part_of_all_integrations(own: Library) -> None:
    assert own.extra in EXTRAS
    assert any(f"fedcert[{own.extra}]" in text for text in EXTRAS["integrations"])


def test_what_is_installed_alone_is_what_errors_say_and_what_is_tested() -> None:
    named = [text for own in LIBRARIES for text in own.alone]
    assert sorted(named) == sorted(text for text in ALONE if text and not text.startswith("#"))
    assert set(named) <= set(PINNED)


def test_no_extra_asks_for_torchvision() -> None:
    asks_for_it = {
        "torchvision",
        "laplace-torch",
        "bayesian-torch",
        "backpack-for-pytorch",
        "curvlinops-for-pytorch",
    }
    names = {re.split(r"[<>=\[ ]", text)[0] for texts in EXTRAS.values() for text in texts}
    assert not names & asks_for_it
