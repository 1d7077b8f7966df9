"""Clients, inputs and settings in result.json against what the certificates speak about."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedcert_check.architecture import dense_widths, network_name
from fedcert_check.layers import Network
from fedcert_check.pooling import Pooling
from fedcert_check.rules import LinearRule, Rule
from fedcert_check.run_folder.evidence import Evidence, Source
from fedcert_check.run_folder.findings import Finding
from fedcert_check.run_folder.stated import RESULT, Stated
from fedcert_check.stated import StatedGaussian
from fedcert_check.subject import Subject
from fedcert_check.validation import Array, quoted


def compare_clients(stated: Stated, evidence: Evidence) -> Iterator[Finding]:
    """Every certificate is about the very messages of the clients that took part.

    Args:
        stated: what result.json says.
        evidence: the certificates.
    """
    if not stated.clients:
        yield Finding(RESULT, "clients", "no client took part")
    for name, source in evidence.sources():
        if source.clients is None:
            yield Finding(name, "laws", "of which clients is not known: messages are not named")
            continue
        if len(source.clients) != len(stated.clients):
            says = f"{len(stated.clients)} clients, but {len(source.clients)}"
            yield Finding(RESULT, "clients", says, name)
            continue
        for i, (one, own) in enumerate(zip(stated.clients, source.clients, strict=True)):
            pairs = {
                "client": (one.client, own.name),
                "digest": (one.digest, own.digest),
                "examples": (str(one.examples), own.examples),
            }
            for field, (said, proven) in pairs.items():
                if said != proven:
                    says = f"{quoted(said)}, but {quoted(proven)} for its message"
                    yield Finding(RESULT, f"clients.{i}.{field}", says, name)


def compare_inputs(stated: Stated, evidence: Evidence) -> Iterator[Finding]:
    """Every certificate is about the very inputs that are stated, chosen in the way that is stated.

    Args:
        stated: what result.json says.
        evidence: the certificates.
    """
    first: tuple[str, Subject] | None = None
    for name, source in evidence.sources():
        subject = source.subject
        if subject is None:
            continue  # which the row that names it is refused for
        first = first or (name, subject)
        yield from _compare_regions(name, subject, *first)
        said, named = stated.inputs, subject.features
        pairs = {
            "inputs.digest": (said.digest, subject.digest),
            "inputs.count": (said.count, len(subject)),
            "inputs.dataset": (said.dataset, subject.source),
            "inputs.chosen": (said.chosen, subject.chosen),
            "inputs.available": (said.available, subject.available),
            "inputs.seed": (said.seed, subject.seed),
            "norm": (stated.norm, subject.norm),
            "subject": (stated.labelled, subject.labelled),
            "features": (stated.features, None if named is None else [own.entry() for own in named]),
        }
        for place, (claimed, proven) in pairs.items():
            if claimed != proven:
                yield Finding(RESULT, place, f"{quoted(claimed)}, but {quoted(proven)}", name)
        yield from _compare_choice(name, subject)


def _compare_regions(name: str, subject: Subject, other_name: str, other: Subject) -> Iterator[Finding]:
    """What regions are made of beside inputs and radius is the same everywhere: bounds are put together."""
    if subject.domain != other.domain:
        yield Finding(name, "subject.domain", f"{subject.domain}, but {other.domain}", other_name)
    if not _equal(subject.weights, other.weights):
        yield Finding(name, "subject.weights", f"other errors of measurement than in {other_name}")


def _compare_choice(name: str, subject: Subject) -> Iterator[Finding]:
    """The positions in the test set are such as the stated way of choosing gives."""
    indices = subject.indices
    if subject.chosen == "first" and not np.array_equal(indices, np.arange(len(indices))):
        yield Finding(RESULT, "inputs.chosen", "'first', but others than the first inputs", name)
    if subject.chosen != "given":
        if len(np.unique(indices)) < len(indices) or bool((indices < 0).any()):
            says = f"{subject.chosen!r}, but an input twice, or one without a position in the test set"
            yield Finding(RESULT, "inputs.chosen", says, name)
        if subject.available is not None and bool((indices >= subject.available).any()):
            yield Finding(RESULT, "inputs.available", f"{subject.available}, but a position beyond it", name)


def compare_settings(stated: Stated, evidence: Evidence) -> Iterator[Finding]:
    """The settings that certificates speak about too are theirs.

    Args:
        stated: what result.json says.
        evidence: the certificates.
    """
    config = stated.config
    yield from _missing(config, "epsilon", [row.epsilon for row in stated.bounds])
    yield from _missing(config, "softmax_margins", [row.margin for row in stated.margins])
    yield from _missing(config, "radius", [row.threshold for row in stated.radii])
    expected: dict[str, Any] = {"dataset": stated.inputs.dataset}
    if stated.inputs.chosen != "given":
        expected["inputs"] = stated.inputs.chosen
    for field, value in expected.items():
        if config.get(field) != value:
            yield Finding(RESULT, f"config.{field}", f"{quoted(config.get(field))}, but {value!r} in inputs")
    if config.get("rule") not in [row.rule for row in stated.bounds]:
        yield Finding(RESULT, "config.rule", f"{quoted(config.get('rule'))}, which no claim is about")
    rules: dict[str, tuple[str, Rule]] = {}
    networks: list[tuple[str, Network]] = []
    for name, source in evidence.sources():
        yield from _compare_network(config, name, source)
        networks.append((name, source.network))
        if source.network != networks[0][1]:
            yield Finding(name, "network", f"another network than in {networks[0][0]}")
        other, rule = rules.setdefault(source.rule.name, (name, source.rule))
        if not same_rule(rule, source.rule):
            yield Finding(name, "rule.weights", f"the rule {rule.name} has other weights than in {other}")


def _missing(config: dict[str, Any], field: str, used: list[float | None]) -> Iterator[Finding]:
    """Values of claims that the settings do not list."""
    listed = config.get(field)
    if not isinstance(listed, list):
        yield Finding(RESULT, f"config.{field}", f"{quoted(listed)} is not a list of numbers")
        return
    for value in dict.fromkeys(used):
        if value not in listed:
            yield Finding(RESULT, f"config.{field}", f"does not list {value!r}, which a claim is about")
    for value in listed:
        if value not in used:
            yield Finding(RESULT, f"config.{field}", f"lists {quoted(value)}, which no claim is about")


def _compare_network(config: dict[str, Any], name: str, source: Source) -> Iterator[Finding]:
    hidden, named = dense_widths(source.network), network_name(source.network)
    if config.get("hidden") != hidden:
        yield Finding(RESULT, "config.hidden", f"{quoted(config.get('hidden'))}, but {hidden}", name)
    stated = config.get("network")  # a user's own network has no name
    if stated not in (None, named):
        yield Finding(RESULT, "config.network", f"{quoted(stated)}, but {named or 'another one'}", name)


def same_rule(one: Rule, other: Rule) -> bool:
    """Whether two rules deploy the same model.

    Args:
        one: of a certificate.
        other: of another one.
    """
    if isinstance(one, LinearRule) and isinstance(other, LinearRule):
        return np.array_equal(one.weights, other.weights) and _equal(one.offset, other.offset)
    if isinstance(one, Pooling) and isinstance(other, Pooling):
        return np.array_equal(one.weights, other.weights)
    if isinstance(one, StatedGaussian) and isinstance(other, StatedGaussian):
        blocks = zip(one.law.blocks, other.law.blocks, strict=True)
        same = all(mine[:4] == theirs[:4] for mine, theirs in blocks)
        return same and all(map(np.array_equal, one.law.arrays, other.law.arrays))
    return type(one) is type(other) and one == other


def _equal(one: Array | None, other: Array | None) -> bool:
    """Whether two arrays are the same; None is the same as nothing but None."""
    return one is other if one is None or other is None else np.array_equal(one, other)
