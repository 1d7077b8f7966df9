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
from fedcert.errors import FedcertError, InvalidCertificate, ShapeMismatch, UnsupportedLayer
from fedcert.model.network import Layer, Linear, Network, ReLU
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import AggregationRule, CoordinateMedian, LinearRule, TrimmedMean, WeightedAverage
from fedcert.wire.container import read_container, write_container
from fedcert.wire.message import NAME, Message
from fedcert.wire.tensorfile import arrays
from fedcert.witness import Witness
from fedcert_check.digest import digest

WITNESS = "witness."


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
            f"{certificate.claim}: a certificate without a witness cannot be saved; mixtures have none, since"
            " a message states one Gaussian"
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
    described, coefficients = _describe(rule)
    regions = properties.regions
    asked = {"lower": regions.lower, "upper": regions.upper, "C": properties.C, "d": properties.d}
    bounds = {"lower": certificate.lower}
    if certificate.upper is not None:
        bounds["upper"] = certificate.upper
    chosen = dict(certificate.witness.tensors)
    claim = {
        "kind": certificate.claim.kind,
        "events": certificate.claim.events,
        "rule": described,
        "network": [_layer(layer) for layer in network.layers],
        "messages": [{"client": message.client, "digest": message.digest} for message in messages],
        "properties": digest({}, arrays(asked)),
        "witness": digest({}, arrays(chosen)),
    }
    write_container(
        path,
        claim,
        bounds
        | {f"properties.{name}": tensor for name, tensor in asked.items()}
        | {f"rule.{name}": tensor for name, tensor in coefficients.items()}
        | {f"{WITNESS}{name}": tensor for name, tensor in chosen.items()},
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
    chosen = {n.removeprefix(WITNESS): t for n, t in tensors.items() if n.startswith(WITNESS)}
    rule = _rule(claim["rule"], tensors)
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
    )
    network = Network(tuple(_read_layer(layer) for layer in claim["network"]))
    messages = tuple(Reference(message["client"], message["digest"]) for message in claim["messages"])
    return SavedCertificate(certificate, network, properties, rule, messages)


def _layer(layer: Layer) -> dict[str, Any]:
    if type(layer) is Linear:
        return {"type": "linear", "inputs": layer.inputs, "outputs": layer.outputs}
    if type(layer) is ReLU:
        return {"type": "relu"}
    raise UnsupportedLayer(f"a certificate for a {type(layer).__name__} layer cannot be saved")


def _read_layer(layer: dict[str, Any]) -> Layer:
    match layer["type"]:
        case "linear":
            return Linear(layer["inputs"], layer["outputs"])
        case "relu":
            return ReLU()
    raise UnsupportedLayer(f"a layer of type {layer['type']!r}")


def _describe(rule: AggregationRule) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What a rule is, and its coefficients."""
    common = {"name": rule.name, "clients": rule.clients}
    match rule:
        case WeightedAverage():
            return {"type": "linear", **common}, {"weights": rule.weights}
        case LinearRule():
            offset = {} if rule.offset is None else {"offset": rule.offset}
            return {"type": "linear", **common}, {"weights": rule.weights, **offset}
        case CoordinateMedian():
            return {"type": "trimmed-mean", "trim": rule.trimmed.trim, **common}, {}
        case TrimmedMean():
            return {"type": "trimmed-mean", "trim": rule.trim, **common}, {}
    raise InvalidCertificate(
        f"a certificate for the rule {rule.name} cannot be saved: the checker has no such"
    )


def _rule(rule: dict[str, Any], tensors: dict[str, Tensor]) -> AggregationRule:
    if rule["type"] == "linear":
        return LinearRule(tensors["rule.weights"], tensors.get("rule.offset"), rule["name"])
    if rule["type"] == "trimmed-mean":
        return TrimmedMean(rule["clients"], rule["trim"], rule["name"])
    raise InvalidCertificate(f"a rule of type {rule['type']!r}")
