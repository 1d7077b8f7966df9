"""Lists which package imports which, from the real imports, in docs/architecture.md.

python docs/import_graph.py            # rewrites the table
python docs/import_graph.py --check    # exit 1 if it is out of date
"""

import ast
import sys
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- import graph: docs/import_graph.py -->", "<!-- end of the import graph -->"
TREES = {"fedcert": ROOT / "src" / "fedcert", "fedcert_check": ROOT / "checker" / "src" / "fedcert_check"}


def modules() -> dict[str, Path]:
    """Every module of both distributions, by its dotted name."""
    found = {}
    for name, tree in TREES.items():
        for path in sorted(tree.rglob("*.py")):
            parts = path.relative_to(tree).with_suffix("").parts
            found[".".join((name, *(part for part in parts if part != "__init__")))] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules that a file imports, wherever in the file: also `from fedcert import …`, also when used."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in known else node.module)
    return {name for name in found if name in known}


def package(module: str) -> str:
    """The box of the graph that a module belongs to: a package or module of fedcert, or the checker."""
    parts = module.split(".")
    return parts[0] if parts[0] == "fedcert_check" or len(parts) == 1 else parts[1]


def graph() -> dict[str, set[str]]:
    """Which box imports from which others."""
    known, edges = modules(), defaultdict(set)
    for name, path in known.items():
        own = package(name)
        if own == "fedcert":
            continue
        edges[own] |= {package(other) for other in imports(path, known)} - {own, "fedcert"}
    return dict(edges)


def direct_edges(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph without edges that a longer path implies."""

    def reach(start: str) -> set[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            for other in edges.get(waiting.pop(), set()) - found:
                found.add(other)
                waiting.append(other)
        return found

    return {
        own: {other for other in others if not any(other in reach(third) for third in others - {other})}
        for own, others in edges.items()
    }


def listing() -> str:
    """The graph as a table, a package after all that it imports."""
    edges = graph()
    order = list(
        TopologicalSorter({own: sorted(others) for own, others in sorted(edges.items())}).static_order()
    )
    direct = direct_edges(edges)
    rows = [
        f"| `{own}` | {', '.join(f'`{other}`' for other in sorted(direct[own], key=order.index))} |"
        for own in order
        if direct.get(own)
    ]
    return "\n".join(["| package | imports from |", "|---|---|", *rows])


def main() -> int:
    """Rewrite the table in the page, or say whether it is out of date."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}\n\n{listing()}\n\n{END}{after}"
    if "--check" in sys.argv[1:]:
        return int(wanted != page)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
