"""Saved certificates of laws whose parameters depend on each other, and how they are changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dependent_problems import Structure, make_dependent
from torch import Tensor

from fedcert.certificate import Certificate
from fedcert.errors import FedcertError
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.container import read_container, write_container
from fedcert.wire.message import Message
from fedcert_check import check
from fedcert_check.digest import digest


def prepared(
    folder: Path, structure: Structure, kind: str, depth: int = 2, sigmas: float = 3.0
) -> tuple[Path, Certificate]:
    """A saved certificate of one property, and the path of its file."""
    made = make_dependent(depth, (2, *[3] * (depth - 1), 2), 0.03, structure, 2.0**-7, constraints=2)
    properties = made.properties(made.offsets(sigmas * (5 if kind == "local" else 1)))
    problem = Problem(made.network, properties, tuple(made.laws), made.rule)
    messages = [Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(made.laws)]
    certificate = ProjectedFamily().prove(problem, kind)
    for message in messages:
        message.save(folder / "messages" / f"{message.client}.safetensors")
    path = folder / "certificates" / "certificate.safetensors"
    save_certificate(path, certificate, made.network, properties, made.rule, messages)
    return path, certificate


def reseal(path: Path, change: Callable[[dict[str, Any], dict[str, Tensor]], Any]) -> None:
    """Change a certificate as somebody would who knows the format: all digests fit again."""
    claim, tensors = read_container(path)
    change(claim, tensors)
    for group in ("properties", "witness"):
        named = {n.removeprefix(f"{group}."): t for n, t in tensors.items() if n.startswith(f"{group}.")}
        claim[group] = digest({}, named)
    write_container(path, claim, tensors)


def fails(path: Path) -> bool:
    """Whether a check ends with a clean error or with less than is claimed."""
    try:
        return not check(path).verdict
    except FedcertError:
        return True
