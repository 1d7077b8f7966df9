"""Projected certificates of random federations as files, and the same files retold with other contents."""

from collections.abc import Callable
from pathlib import Path

import torch
from federated_problems import Federated
from torch import Tensor

from fedcert.artifact import save_certificate
from fedcert.certificate import Certificate
from fedcert.certify.projected import certify_projected_directly, certify_projected_locally
from fedcert.certify.projected_transported import certify_projected
from fedcert.container import read_container, write_container
from fedcert.digest import digest
from fedcert.events.cells import Cells
from fedcert.message import Message
from fedcert.projected.tails import Cells as Counted
from fedcert.projected.tails import Limit, Product, Projections
from fedcert.properties import Properties

Tensors = dict[str, Tensor]
PROJECTIONS: dict[str, Projections] = {"limit": Limit(), "product": Product(), "cells": Counted(64)}
KINDS = ("local", "direct", *PROJECTIONS)


def certified(problem: Federated, properties: Properties, kind: str) -> Certificate:
    """The fast path's certificate: local, direct, or transported by one of `PROJECTIONS`."""
    if kind == "local":
        return certify_projected_locally(problem.laws, problem.rule.name, problem.network, properties)
    if kind == "direct":
        return certify_projected_directly(problem.laws, problem.rule, problem.network, properties)
    return certify_projected(problem.laws, problem.rule, problem.network, properties, PROJECTIONS[kind])


def write(folder: Path, problem: Federated, properties: Properties, certificate: Certificate) -> Path:
    """Messages and certificate as a run writes them."""
    messages = []
    for i, law in enumerate(problem.laws):
        (gaussian,) = law.components
        messages.append(Message(f"client {i}", gaussian, Cells.none(gaussian.dimension), 10 + i))
        messages[-1].save(folder / "messages" / f"{i}.safetensors")
    path = folder / "certificates" / "projected.safetensors"
    save_certificate(path, certificate, problem.network, properties, problem.rule, messages)
    return path


def saved(folder: Path, problem: Federated, properties: Properties, kind: str) -> Path:
    """The certificate that the fast path finds, as a file."""
    return write(folder, problem, properties, certified(problem, properties, kind))


def retold(path: Path, change: Callable[[Tensors], Tensors]) -> Path:
    """The same certificate with other tensors, and digests that fit them."""
    claim, tensors = read_container(path)
    changed = change({name: tensor.clone() for name, tensor in tensors.items()})
    for part in ("witness", "properties"):
        own = {n.removeprefix(f"{part}."): t for n, t in changed.items() if n.startswith(f"{part}.")}
        claim[part] = digest({}, own)
    target = path.with_name("retold.safetensors")
    write_container(target, claim, changed)
    return target


def demanding(tensors: Tensors) -> Tensors:
    """Claims that nothing can meet, so that whatever is proven shows: lower 1, upper equal to it."""
    changed = {**tensors, "lower": torch.ones_like(tensors["lower"])}
    return changed | ({"upper": torch.ones_like(tensors["upper"])} if "upper" in tensors else {})
