"""The folders show the data flow: imports only point up this list."""

import ast
from pathlib import Path

import pytest

import fedcert

ORDER = [
    "errors", "frozen", "progress", "randomness", "numerics", "model", "laws", "rules", "verify", "witness",
    "certificate", "search", "families", "wire", "data", "training", "federation", "app",
]  # fmt: skip
ROOT = Path(fedcert.__file__).parent
MODULES = sorted(
    path.relative_to(ROOT) for path in ROOT.rglob("*.py") if path.name != "__init__.py" or path.parent != ROOT
)


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("fedcert."):
            names.add(node.module.split(".")[1])
    return names


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_point_up(module: Path) -> None:
    place = ORDER.index(module.parts[0].removesuffix(".py"))
    for name in imported(ROOT / module):
        assert ORDER.index(name) <= place, f"{module} imports {name}"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_modules_stay_small(module: Path) -> None:
    assert len((ROOT / module).read_text(encoding="utf-8").splitlines()) <= 300


def test_every_public_name_exists() -> None:
    for name in fedcert.__all__:
        assert getattr(fedcert, name) is not None
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = fedcert.nothing_of_the_kind
