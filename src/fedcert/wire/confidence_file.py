"""Confidence bounds as files; `fedcert check` draws and judges the networks again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from fedcert.confidence.bounding import properties_digest, seed_of_problem
from fedcert.confidence.result import ConfidenceBound
from fedcert.confidence.statement import digest_of, law_tensors
from fedcert.errors import InvalidCertificate, ShapeMismatch
from fedcert.families.problem import Problem
from fedcert.rules.registry import describe_rule
from fedcert.wire import tensorfile
from fedcert.wire.message import NAME, Message
from fedcert.wire.subject import describe_subject, subject_tensors
from fedcert.wire.tensorfile import arrays
from fedcert_check.confidence.files import FORMAT, VERSION, read
from fedcert_check.digest import digest


def confidence_file(rule: str, epsilon: float) -> str:
    """Where a run keeps the confidence bound of a rule and a radius.

    Args:
        rule: the rule's name.
        epsilon: the input radius.

    >>> confidence_file("median", 0.001)
    'confidence/median-eps-0.001.safetensors'
    """
    return f"confidence/{rule}-eps-{epsilon!r}.safetensors"


def save_confidence(
    path: Path,
    bound: ConfidenceBound,
    problem: Problem,
    messages: Sequence[Message] | None = None,
) -> None:
    """Write a confidence bound with all that it speaks about.

    Args:
        path: where.
        bound: what `fedcert.confidence.bound` gave for this problem and these messages.
        problem: network, properties, laws and rule.
        messages: what the clients sent, in the order of the rule's weights. Without messages the file states
            the laws itself, and an auditor can only check that the bound follows from them.
    """
    digests = None if messages is None else [message.digest for message in messages]
    if bound.seed != seed_of_problem(problem, bound.draws, bound.beta, digests):
        raise ShapeMismatch("the confidence bound was made for another problem, or for other messages")
    if not NAME.fullmatch(problem.rule.name):
        raise InvalidCertificate(f"{problem.rule.name!r} is no plain name: {NAME.pattern}")
    described, coefficients = describe_rule(problem.rule)
    regions, asked = problem.properties.regions, problem.properties
    claim: dict[str, Any] = {
        "rule": dict(described),
        "network": problem.network.describe(),
        "properties": properties_digest(asked),
        "draws": bound.draws,
        "beta": bound.beta,
        "subject": None if asked.subject is None else describe_subject(asked.subject),
    }
    tensors = {name: getattr(bound, name) for name in ("lower", "upper", "proven", "broken")}
    tensors |= {"properties.lower": regions.lower, "properties.upper": regions.upper}
    tensors |= {"properties.C": asked.C, "properties.d": asked.d}
    tensors |= {f"rule.{name}": tensor for name, tensor in coefficients.items()}
    tensors |= subject_tensors(asked.subject)
    if messages is None:
        claim["laws"] = [digest_of(law) for law in problem.laws]
        for i, law in enumerate(problem.laws):
            tensors |= {f"law.{i}.{name}": tensor for name, tensor in law_tensors(law).items()}
    else:
        claim["messages"] = [{"client": message.client, "digest": message.digest} for message in messages]
    header = {"format": FORMAT, "version": VERSION, "claim": json.dumps(claim, sort_keys=True)}
    tensorfile.write(path, {**header, "digest": digest(header, arrays(tensors))}, tensors)


def load_confidence(path: Path, messages: Path) -> ConfidenceBound:
    """Read a confidence bound for further use; nothing is drawn again.

    Args:
        path: of the file.
        messages: the folder of the messages that it names.
    """
    own = read(path, messages)
    found = {name: torch.tensor(getattr(own, name)) for name in ("lower", "upper", "proven", "broken")}
    return ConfidenceBound(own.rule.name, **found, draws=own.draws, beta=own.beta, seed=own.seed)
