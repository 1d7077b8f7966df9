"""The folders show the data flow: imports point one way, between packages and inside them."""

import ast
import importlib.util
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import fedcert

REPOSITORY = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("import_graph", REPOSITORY / "docs" / "import_graph.py")
import_graph = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(import_graph)

ORDER = [
    "fedcert_check", "errors", "frozen", "progress", "randomness", "numerics", "model", "laws", "rules",
    "verify", "witness", "certificate", "search", "families", "confidence", "wire", "data",
    "federation", "adapters", "training", "api", "app", "flower",
]  # fmt: skip
MODULES = import_graph.modules()
LONGEST_MODULE = 300  # lines


def edges_inside(package: str) -> dict[str, set[str]]:
    """Which child of a package imports from which other child."""
    depth, edges = package.count(".") + 1, defaultdict(set)
    for name, path in MODULES.items():
        if not name.startswith(f"{package}."):
            continue
        child = name.split(".")[depth]
        for other in import_graph.imports(path, MODULES):
            if other.startswith(f"{package}.") and other.split(".")[depth] != child:
                edges[child].add(other.split(".")[depth])
    return edges


@pytest.mark.parametrize("module", [name for name in MODULES if name not in ("fedcert", "fedcert_check")])
def test_imports_point_up_the_list_of_packages(module: str) -> None:
    own = ORDER.index(import_graph.package(module))
    for other in import_graph.imports(MODULES[module], MODULES) - {"fedcert"}:
        assert ORDER.index(import_graph.package(other)) <= own, f"{module} imports {other}"


@pytest.mark.parametrize(
    "package", [name for name, path in MODULES.items() if path.name == "__init__.py"], ids=str
)
def test_no_two_parts_of_a_package_import_each_other(package: str) -> None:
    try:
        list(TopologicalSorter(edges_inside(package)).static_order())
    except CycleError as error:
        pytest.fail(f"{package}: {error.args[1]}")


def test_imports_from_the_package_itself_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        "def late():\n    from fedcert import app, rules\n    from fedcert.laws import diagonal\n"
    )
    assert import_graph.imports(file, MODULES) == {"fedcert.app", "fedcert.rules", "fedcert.laws.diagonal"}


def test_the_drawn_graph_is_that_of_the_imports() -> None:
    assert import_graph.listing() in import_graph.PAGE.read_text(encoding="utf-8"), (
        "run python docs/import_graph.py"
    )


@pytest.mark.parametrize("module", MODULES)
def test_modules_stay_small(module: str) -> None:
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("fedcert.")])
def test_nothing_is_told_by_its_type(module: str) -> None:
    """Layers, laws, rules and families are asked, not recognised."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            sides = [node.left, *node.comparators]
            assert not any(
                isinstance(side, ast.Call) and getattr(side.func, "id", "") == "type" for side in sides
            ), f"{module}:{node.lineno}"


def test_every_public_name_exists() -> None:
    for name in fedcert.__all__:
        assert getattr(fedcert, name) is not None
    assert set(fedcert.__all__) <= set(dir(fedcert))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = fedcert.nothing_of_the_kind


@pytest.mark.parametrize("name", [name for name in fedcert.__all__ if name != "__version__"])
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    assert ">>>" in getattr(fedcert, name).__doc__


@pytest.mark.parametrize("module", MODULES)
def test_the_order_of_products_is_ours(module: str) -> None:
    """What `einsum` multiplies first of three operands depends on what else is installed: two at most."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "einsum":
            assert len(node.args) <= 3, f"{module}:{node.lineno}"
