"""The checker stands alone: what it imports, what its distribution needs, how large its modules are."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

import fedcert
import fedcert_check

PACKAGE = Path(fedcert_check.__file__).parent
REPOSITORY = Path(__file__).parents[2]
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
LIBRARIES = {"numpy": "numpy", "flint": "python-flint", "rich": "rich", "typer": "typer"}
"""What may be imported, and the distribution that it comes from."""


def imported(source: str) -> set[str]:
    """The top-level packages that a module imports, at its head or inside a function."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                names |= {alias.name.split(".")[0] for alias in node.names}
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module.split(".")[0])
            case ast.ImportFrom():
                names.add("a relative import")
            case ast.Call(func=ast.Name(id="__import__" | "exec" | "eval")):
                names.add("an import that cannot be read")
    return names


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import torch.nn as nn", "torch"),
        ("from fedcert import certify", "fedcert"),
        ("from fedcert.laws import Law", "fedcert"),
        ("def f():\n    import scipy.stats", "scipy"),
        ("from . import parallel", "a relative import"),
        ("__import__('torch')", "an import that cannot be read"),
    ],
)
def test_every_way_to_import_is_seen(source: str, name: str) -> None:
    assert imported(source) == {name}


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_nothing_but_the_standard_library_and_four_others_is_imported(module: Path) -> None:
    own = imported((PACKAGE / module).read_text(encoding="utf-8"))
    assert own - sys.stdlib_module_names - {"fedcert_check"} <= LIBRARIES.keys()


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_modules_and_functions_stay_small(module: Path) -> None:
    source = (PACKAGE / module).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 300
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_distribution_asks_for_what_is_imported_and_for_nothing_else() -> None:
    found = {requirement.split(">=")[0] for requirement in project(REPOSITORY / "checker")["dependencies"]}
    used = set().union(*(imported((PACKAGE / module).read_text(encoding="utf-8")) for module in MODULES))
    assert found == {LIBRARIES[name] for name in used & LIBRARIES.keys()} == set(LIBRARIES.values())


def test_fedcert_asks_for_the_checker_of_its_own_version() -> None:
    """It reads and writes the checker's formats with the checker's code."""
    assert f"fedcert-check=={fedcert_check.__version__}" in project(REPOSITORY)["dependencies"]
    assert fedcert.__version__ == fedcert_check.__version__


def test_both_distributions_have_the_same_licence() -> None:
    assert (REPOSITORY / "checker" / "LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


def test_every_public_name_exists() -> None:
    for name in fedcert_check.__all__:
        assert getattr(fedcert_check, name) is not None
        assert name in dir(fedcert_check)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = fedcert_check.nothing_of_the_kind
