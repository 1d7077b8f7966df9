"""The pins of the Flower environment: what resolved, and that they agree with all other pins."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from integrations import library

ROOT = Path(__file__).parents[2]
SEPARATE = {"flwr", "ray"}


def pins(path: str) -> dict[str, str]:
    return dict(
        re.findall(r"^([\w-]+)==(\S+)$", (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE)
    )


def test_only_flower_and_its_ray_are_pinned_apart_from_the_others() -> None:
    own, common = pins("requirements/flower.txt"), pins("constraints.txt")
    assert {name for name in own if own[name] != common.get(name)} == SEPARATE


@pytest.mark.parametrize("name", sorted(SEPARATE | {"torch"}))
def test_what_resolved_is_what_is_pinned(name: str) -> None:
    library("flwr")
    if version("ray") == pins("constraints.txt")["ray"]:
        pytest.skip("flwr was installed beside the ray of constraints.txt")
    assert version(name).partition("+")[0] == pins("requirements/flower.txt")[name]


def test_no_module_of_fedcert_outside_its_package_imports_flwr() -> None:
    for path in (ROOT / "src" / "fedcert").rglob("*.py"):
        if path.parent.name != "flower":
            assert not re.search(r"^\s*(import|from) flwr", path.read_text(encoding="utf-8"), re.MULTILINE), (
                path
            )
