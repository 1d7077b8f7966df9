"""What is to be checked: a certificate file and the messages that it names, as plain arrays."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedcert_check.container import peek, read_arrays, read_claim
from fedcert_check.digest import digest
from fedcert_check.document import Client, Document
from fedcert_check.errors import InvalidCertificate, TooCostly
from fedcert_check.laws import LAWS, is_exact
from fedcert_check.layers import Network
from fedcert_check.properties import Properties
from fedcert_check.rules import LinearRule, Rule, linear, read_rule, require_name, rule_tensors
from fedcert_check.subject import PREFIX, TENSORS
from fedcert_check.subject_file import read_subject
from fedcert_check.validation import Array, plain_name, quoted, require, require_fields, shaped

KINDS = ("local", "transported", "direct")
FIELDS = {"kind", "events", "rule", "network", "messages", "properties", "witness", "subject"}
MESSAGE_FORMAT = "fedcert-message"
MESSAGE_VERSION = "2"
DEFAULT_READING_BYTES = 2**32
COPIES_WHILE_READING = 2  # of a file
WITNESS = "witness."


def read(path: Path, messages: Path, memory: int = DEFAULT_READING_BYTES) -> Document:
    """Read and cross-check a certificate and the messages that it names.

    Args:
        path: of the certificate.
        messages: the folder of the messages.
        memory: maximum number of bytes that reading may take.
    """
    budget = ReadingBudget(memory)
    budget.take(path, peek(path)[1])
    claim, arrays = read_claim(path)
    try:
        return _parse(claim, arrays, messages, budget)
    except InvalidCertificate as error:
        raise InvalidCertificate(f"{path}: {error}") from error
    except (KeyError, TypeError, RecursionError) as error:
        raise InvalidCertificate(f"{path}: the claim is malformed ({error!r})") from error


class ReadingBudget:
    """The memory that is left for files: a file that does not fit is refused before it is read.

    Args:
        memory: bytes for all files together.
    """

    def __init__(self, memory: int) -> None:
        self.memory = self.left = memory

    def take(self, path: Path, size: int) -> None:
        """Set memory aside for a file.

        Args:
            path: of the file.
            size: of the file, in bytes.
        """
        self.left -= COPIES_WHILE_READING * size
        if self.left < 0:
            raise TooCostly(
                f"{path}: reading this file and those before it takes more than"
                f" {self.memory / 2**30:.3g} GiB of memory: raise --max-memory to allow it"
            )


def _parse(
    claim: dict[str, Any], arrays: dict[str, Array], messages: Path, budget: ReadingBudget
) -> Document:
    require_fields(claim, FIELDS, "the claim")
    require(claim["kind"] in KINDS, f"a claim of kind {quoted(claim['kind'])}, not {', '.join(KINDS)}")
    plain_name(claim["events"], "the family of events")
    witness = _contents(claim, arrays)
    network = Network.read(claim["network"])
    rule = read_rule(claim["rule"], arrays, network.dimension)
    properties = read_properties(arrays, network)
    lower, upper = _bounds(arrays, len(properties))
    clients, skipped = read_clients(claim["messages"], messages, rule.clients, network.dimension, budget)
    require_name(rule, [client.law for client in clients])
    _require_sum_alone(claim["kind"], rule, clients)
    return Document(
        claim["kind"],
        claim["events"],
        rule,
        network,
        clients,
        properties,
        lower,
        upper,
        witness,
        skipped,
        read_subject(claim["subject"], arrays, properties),
    )


def _require_sum_alone(kind: str, rule: Rule, clients: Sequence[Client]) -> None:
    """A sum of clients' summands is deployed as it is, and has direct claims alone."""
    if all(is_exact(client.law) for client in clients):
        return
    alone = len(clients) == 1 and isinstance(rule, LinearRule) and rule.offset is None
    require(
        kind == "direct" and alone and bool((linear(rule).weights == 1).all()),
        "a sum of clients' laws has direct claims alone, and is deployed as it is, with the weight 1",
    )


def _contents(claim: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Array]:
    """The witness, if all tensors have a place and those that are named by digest are the ones meant."""
    asked = {name: arrays.get(f"properties.{name}") for name in ("lower", "upper", "C", "d")}
    known = {"lower", "upper", *rule_tensors(claim["rule"]), *(f"properties.{name}" for name in asked)}
    known |= {PREFIX + name for name in TENSORS}
    stray = [name for name in arrays if name not in known and not name.startswith(WITNESS)]
    require(not stray, f"tensors {quoted(stray)} have no place in a certificate")
    witness = {name.removeprefix(WITNESS): own for name, own in arrays.items() if name.startswith(WITNESS)}
    present = {name: tensor for name, tensor in asked.items() if tensor is not None}
    require(claim["properties"] == digest({}, present), "the properties are not those that were certified")
    require(claim["witness"] == digest({}, witness), "the witness is not the one that was saved")
    return witness


def _bounds(arrays: dict[str, Array], count: int) -> tuple[Array, Array | None]:
    """The claimed bounds: 0 ≤ lower ≤ upper ≤ 1."""
    lower = shaped("lower", arrays.get("lower"), np.float64, count)
    require(bool(((lower >= 0) & (lower <= 1)).all()), "a lower bound outside [0, 1]")
    if "upper" not in arrays:
        return lower, None
    upper = shaped("upper", arrays["upper"], np.float64, count)
    require(bool(((upper >= lower) & (upper <= 1)).all()), "an upper bound below the lower one or above 1")
    return lower, upper


def read_properties(arrays: dict[str, Array], network: Network) -> Properties:
    """The properties of a file, for a network.

    Args:
        arrays: the file's tensors.
        network: f.
    """
    inputs, *_, outputs = network.widths
    low = shaped("properties.lower", arrays.get("properties.lower"), np.float64, None, inputs)
    count = len(low)
    require(count > 0, "a certificate needs at least one property")
    high = shaped("properties.upper", arrays.get("properties.upper"), np.float64, count, inputs)
    C = shaped("properties.C", arrays.get("properties.C"), np.float64, count, None, outputs)
    d = shaped("properties.d", arrays.get("properties.d"), np.float64, count, C.shape[1])
    require(C.shape[1] > 0, "a property needs at least one constraint")
    require(bool((low <= high).all()), "a region has a lower end above its upper end")
    return Properties(low, high, C, d)


def read_clients(
    listed: Any, folder: Path, count: int, dimension: int, budget: ReadingBudget
) -> tuple[tuple[Client, ...], tuple[str, ...]]:
    """The messages that the certificate names, found in the folder by their digests; and what was skipped.

    Args:
        listed: what the claim says of the messages.
        folder: of the messages.
        count: number of clients.
        dimension: n_w.
        budget: of memory.
    """
    require(isinstance(listed, list) and len(listed) == count, f"messages of {count} clients are needed")
    for entry in listed:
        require_fields(entry, {"client", "digest"}, "a message")
        require(isinstance(entry["digest"], str), f"the digest of a message is {quoted(entry['digest'])}")
        plain_name(entry["client"], "the client")
    names = [entry["client"] for entry in listed]
    require(len(set(names)) == count, "two messages of one client: its draws are not independent")
    found, other, skipped = _messages(folder, listed, dimension, budget)
    for entry in listed:
        require(entry["digest"] in found, _not_found(entry, folder, other, skipped))
        own = found[entry["digest"]]
        require(own.name == entry["client"], f"the message of {entry['client']!r} is signed {own.name!r}")
    return tuple(found[entry["digest"]] for entry in listed), skipped


def message_digest(path: Path) -> str:
    """The digest of a message, by which certificates name it; any other file is refused.

    Args:
        path: of the message file.
    """
    if path.is_dir():
        raise InvalidCertificate(f"{path}: is a folder: name the file of one message")
    metadata, arrays = read_arrays(path)
    if metadata.get("format") != MESSAGE_FORMAT:
        raise InvalidCertificate(f"{path}: not a fedcert message: only a message is named by this digest")
    stated = metadata.pop("digest", None)  # of all the rest
    own = digest(metadata, arrays)
    if stated != own:
        raise InvalidCertificate(f"{path}: the message was changed since it was written: its digest differs")
    return own


def _not_found(entry: dict[str, str], folder: Path, other: dict[str, Path], skipped: Sequence[str]) -> str:
    """Whether a message is missing or another one; a folder is only advised where there is no such file."""
    name, more = entry["client"], f"; {skipped[0]}" if skipped else ""
    if name not in other:
        return (
            f"the message of {name!r} is not in {folder}: pass the folder of the messages by --messages{more}"
        )
    return (
        f"the message of {name!r} in {other[name]} is another one than was certified, or was changed:"
        f" its digest differs{more}"
    )


def _messages(
    folder: Path, listed: Sequence[dict[str, str]], dimension: int, budget: ReadingBudget
) -> tuple[dict[str, Client], dict[str, Path], tuple[str, ...]]:
    """The messages that are listed, by digest; other files of these clients; and lines on what is no message.

    Only files that claim to come from a client that is listed are read as a whole.
    """
    names, digests = ({entry[field] for entry in listed} for field in ("client", "digest"))
    found: dict[str, Client] = {}
    other: dict[str, Path] = {}
    skipped: list[str] = []
    for path in sorted(folder.glob("*.safetensors")) if folder.is_dir() else []:
        try:
            metadata, size = peek(path)
            if metadata.get("format") != MESSAGE_FORMAT:
                raise InvalidCertificate(f"{path}: not a fedcert message")
            if metadata.get("client") not in names:
                continue
            budget.take(path, size)
            metadata, arrays = read_arrays(path)
        except InvalidCertificate as error:
            skipped.append(f"skipped: {error}")
            continue
        metadata.pop("digest", None)  # of all the rest
        own = digest(metadata, arrays)
        if own in digests:
            found[own] = _client(own, metadata, arrays, dimension)
        else:
            other.setdefault(metadata["client"], path)
    return found, other, tuple(skipped)


def _client(own: str, metadata: dict[str, str], arrays: dict[str, Array], dimension: int) -> Client:
    name = plain_name(metadata.get("client", ""), "the client")
    try:
        events = plain_name(metadata.get("events", ""), "the family of events")
        require(metadata.get("format") == MESSAGE_FORMAT, "not a fedcert message")
        version = metadata.get("version")
        require(
            version == MESSAGE_VERSION,
            f"message format {quoted(version)}, but this version reads format {MESSAGE_VERSION}",
        )
        law = LAWS[metadata.get("law")](arrays, dimension)
        low = shaped("cells.lower", arrays.get("cells.lower"), np.float64, None, dimension)
        high = shaped("cells.upper", arrays.get("cells.upper"), np.float64, len(low), dimension)
        require(bool((low <= high).all()), "a cell has a lower end above its upper end")
    except InvalidCertificate as error:
        raise InvalidCertificate(f"client {name!r}: {error}") from error
    return Client(name, events, law, low, high, own, metadata.get("examples", ""))
