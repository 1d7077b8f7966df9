"""Projected certificates of random federations as files, and the same files retold with other contents."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from federated_problems import Federated
from torch import Tensor

from fedcert.certificate import Certificate
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.projected.direct import certify_projected_directly, certify_projected_locally
from fedcert.families.projected.tails import Cells as Counted
from fedcert.families.projected.tails import Limit, Product, Projections
from fedcert.families.projected.transported import certify_projected
from fedcert.laws.registry import StatedLaw
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.container import read_container, write_container
from fedcert.wire.message import Message
from fedcert_check import layers, rules
from fedcert_check.digest import digest
from fedcert_check.document import Client, Document
from fedcert_check.laws import DiagonalGaussian as CheckedLaw
from fedcert_check.properties import Properties as Asked

Tensors = dict[str, Tensor]
PROJECTIONS: dict[str, Projections | None] = {
    "boxes": None,
    "limit": Limit(),
    "product": Product(),
    "cells": Counted(64),
}
KINDS = ("local", "direct", *PROJECTIONS)


def certified(problem: Federated, properties: Properties, kind: str) -> Certificate:
    """The fast path's certificate: local, direct, or transported by one of `PROJECTIONS`."""
    if kind == "local":
        return certify_projected_locally(
            Problem(problem.network, properties, tuple(problem.laws), problem.rule)
        )
    if kind == "direct":
        return certify_projected_directly(
            Problem(problem.network, properties, tuple(problem.laws), problem.rule)
        )
    return certify_projected(
        Problem(problem.network, properties, tuple(problem.laws), problem.rule), PROJECTIONS[kind]
    )


def write(folder: Path, problem: Federated, properties: Properties, certificate: Certificate) -> Path:
    """Messages and certificate as a run writes them."""
    messages = []
    for i, law in enumerate(problem.laws):
        assert isinstance(law, StatedLaw)
        messages.append(Message(f"client-{i}", law, Cells.none(law.dimension), 10 + i))
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
    """Claims that are not trivial, so that all that holds of each property is proven and shows."""
    half = torch.full_like(tensors["lower"], 0.5)
    return {**tensors, "lower": half} | ({"upper": half.clone()} if "upper" in tensors else {})


def as_network(network: Network) -> layers.Network:
    """A network as the checker sees it."""
    return layers.Network.read([dict(layer.describe()) for layer in network.layers])


def as_properties(properties: Properties) -> Asked:
    """Properties as the checker sees them."""
    regions = properties.regions
    return Asked(*(t.numpy() for t in (regions.lower, regions.upper, properties.C, properties.d)))


def as_document(problem: Federated, properties: Properties | None = None) -> Document:
    """What the checker reads of a federation, without a file and a witness."""
    rule = problem.rule
    offset = getattr(rule, "offset", None)
    nothing = np.zeros((0, problem.network.parameters))
    clients = tuple(
        Client(
            f"client-{i}",
            "cells",
            CheckedLaw(law.components[0].loc.numpy(), law.components[0].scale.numpy()),
            nothing,
            nothing,
        )
        for i, law in enumerate(problem.laws)
    )
    asked = properties or problem.properties(torch.zeros_like(problem.C[..., 0]))
    return Document(
        "direct",
        "projected",
        rules.LinearRule(rule.name, rule.weights.numpy(), None if offset is None else offset.numpy()),
        as_network(problem.network),
        clients,
        as_properties(asked),
        np.ones(len(asked)),
        None,
        {},
    )
