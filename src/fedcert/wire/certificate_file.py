"""Certificates as files: the claim, the bounds, what they speak about, and the witness.

The file names the clients' messages by their digests and does not repeat them. `fedcert check` proves it
again from the messages (`fedcert_check`); `load_certificate` reads it for further use and proves nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from fedcert.certificate import Certificate, Claim
from fedcert.errors import FedcertError, InvalidCertificate, ShapeMismatch
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import AggregationRule
from fedcert.rules.registry import describe_rule, read_rule
from fedcert.wire.container import read_container, write_container
from fedcert.wire.message import NAME, Message
from fedcert.wire.subject import describe_subject, read_subject, subject_tensors
from fedcert.wire.tensorfile import arrays
from fedcert.witness import Witness
from fedcert_check.digest import digest

WITNESS = "witness."
RULE = "rule."


@dataclass(frozen=True)
class Reference:
    """A message that a certificate speaks about.

    Attributes:
        client: the client's name.
        digest: of the message's content.
    """

    client: str
    digest: str


@dataclass(frozen=True)
class SavedCertificate:
    """What a certificate file holds.

    Attributes:
        certificate: the claim, the bounds and the witness.
        network: f_θ.
        properties: what is safe.
        rule: the rule that deploys the model, or would deploy it for a local claim.
        messages: of the clients, in the order of the rule's weights.
    """

    certificate: Certificate
    network: Network
    properties: Properties
    rule: AggregationRule
    messages: tuple[Reference, ...]


def certificate_file(claim: Claim, detail: str = "") -> str:
    """Where a run keeps the certificate of a claim.

    Args:
        claim: of the certificate.
        detail: tells certificates of one claim apart, such as "eps-0.01".
    """
    name = "-".join(part for part in (claim.kind, claim.rule, claim.events, detail) if part)
    return f"certificates/{name}.safetensors"


def save_certificate(
    path: Path,
    certificate: Certificate,
    network: Network,
    properties: Properties,
    rule: AggregationRule,
    messages: Sequence[Message],
) -> None:
    """Write a certificate that has a witness, with all that it speaks about.

    Args:
        path: where.
        certificate: the bounds and their witness.
        network: f_θ.
        properties: what is safe, one for each bound.
        rule: the deployed rule.
        messages: what the clients sent, in the order of the rule's weights.
    """
    if certificate.witness is None:
        raise InvalidCertificate(
            f"{certificate.claim}: a certificate without a witness cannot be saved: nobody could check it"
        )
    if (len(messages), len(properties)) != (rule.clients, len(certificate.lower)):
        raise ShapeMismatch(
            f"{len(messages)} messages and {len(properties)} properties for a rule of {rule.clients} clients"
            f" and {len(certificate.lower)} bounds"
        )
    if rule.name != certificate.claim.rule:
        raise ShapeMismatch(f"the claim speaks of the rule {certificate.claim.rule}, not of {rule.name}")
    for name in (rule.name, certificate.claim.events):
        if not NAME.fullmatch(name):
            raise InvalidCertificate(f"{name!r} is no plain name: {NAME.pattern}")
    described, coefficients = describe_rule(rule)
    regions = properties.regions
    asked = {"lower": regions.lower, "upper": regions.upper, "C": properties.C, "d": properties.d}
    bounds = {"lower": certificate.lower}
    if certificate.upper is not None:
        bounds["upper"] = certificate.upper
    chosen = dict(certificate.witness.tensors)
    claim = {
        "kind": certificate.claim.kind,
        "events": certificate.claim.events,
        "rule": dict(described),
        "network": network.describe(),
        "messages": [{"client": message.client, "digest": message.digest} for message in messages],
        "properties": digest({}, arrays(asked)),
        "witness": digest({}, arrays(chosen)),
        "subject": None if properties.subject is None else describe_subject(properties.subject),
    }
    write_container(
        path,
        claim,
        bounds
        | {f"properties.{name}": tensor for name, tensor in asked.items()}
        | {f"{RULE}{name}": tensor for name, tensor in coefficients.items()}
        | {f"{WITNESS}{name}": tensor for name, tensor in chosen.items()}
        | subject_tensors(properties.subject),
    )


def load_certificate(path: Path) -> SavedCertificate:
    """Read a certificate file; one that was changed or makes no sense raises.

    Args:
        path: of the file.
    """
    claim, tensors = read_container(path)
    try:
        return _parse(claim, tensors)
    except FedcertError as error:
        raise InvalidCertificate(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise InvalidCertificate(
            f"{path}: the claim or a tensor is missing or malformed ({error!r})"
        ) from error


def _parse(claim: dict[str, Any], tensors: dict[str, Tensor]) -> SavedCertificate:
    chosen = _under(WITNESS, tensors)
    rule = read_rule(claim["rule"], _under(RULE, tensors))
    certificate = Certificate(
        Claim(claim["kind"], rule.name, claim["events"]),
        tensors["lower"],
        tensors.get("upper"),
        Witness(chosen),
    )
    properties = Properties(
        Box(tensors["properties.lower"], tensors["properties.upper"]),
        tensors["properties.C"],
        tensors["properties.d"],
        read_subject(claim["subject"], tensors),
    )
    network = Network.from_description(claim["network"])
    messages = tuple(Reference(message["client"], message["digest"]) for message in claim["messages"])
    return SavedCertificate(certificate, network, properties, rule, messages)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names have a prefix, without it."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
