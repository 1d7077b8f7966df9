"""The reproduction uses fedcert as a user would: outside the wheel, and the package does not know it."""

import ast
import tomllib
from pathlib import Path

import pytest

import fedcert

ROOT = Path(__file__).parents[2]
PACKAGE = Path(fedcert.__file__).parent
MODULES = sorted((ROOT / "reproduction").rglob("*.py"))
REPORT = sorted([*(PACKAGE / "app" / "report").rglob("*.py"), *(PACKAGE / "app" / "grid").rglob("*.py")])


def test_it_is_in_the_source_distribution_as_the_tests_are_and_not_in_the_wheel() -> None:
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"][
        "targets"
    ]
    assert targets["wheel"]["packages"] == ["src/fedcert"]
    assert {"/tests", "/reproduction"} <= set(targets["sdist"]["include"])


def test_the_package_does_not_import_it() -> None:
    for module in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not any(name.split(".")[0] == "reproduction" for name in names), module


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_it_uses_no_private_names_of_the_package(module: Path) -> None:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fedcert"):
            assert not any(alias.name.startswith("_") for alias in node.names)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_modules_stay_small(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("module", REPORT, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_general_reports_do_not_know_the_paper(module: Path) -> None:
    told = {PACKAGE / "app" / "grid" / "preset.py", PACKAGE / "app" / "grid" / "options.py"}
    text = module.read_text(encoding="utf-8")
    assert "paper" not in text or module in told  # where its grid is, and the name of a family of events
