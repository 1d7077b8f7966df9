"""What is to be checked: a certificate file and the messages it names, as plain arrays."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from fedcert_check.container import peek, read_arrays, read_claim
from fedcert_check.digest import digest
from fedcert_check.document import Array, Client, Document, Layer, Properties, Rule, quoted, require, shaped
from fedcert_check.errors import InvalidCertificate, TooCostly

KINDS = ("local", "transported", "direct")
AVERAGES = ("fedavg", "pog", "weighted-average")
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")  # names are shown to people
MEMORY = 2**32  # bytes that reading may take, unless the caller says otherwise
COPIES = 2  # of a file that are held while it is read
MOST_LAYERS = 1000
MOST_CLIENTS = 10_000
MESSAGE = {
    "format": "fedcert-message",
    "version": "2",
    "law": "diagonal-gaussian",
}


def read(path: Path, messages: Path, memory: int = MEMORY) -> Document:
    """Read and cross-check a certificate and the messages that it names.

    Args:
        path: of the certificate.
        messages: the folder of the messages.
        memory: bytes that reading may take.
    """
    room = Room(memory)
    room.take(path, peek(path)[1])
    claim, arrays = read_claim(path)
    try:
        return _parse(claim, arrays, messages, room)
    except InvalidCertificate as error:
        raise InvalidCertificate(f"{path}: {error}") from error
    except (KeyError, TypeError, RecursionError) as error:
        raise InvalidCertificate(f"{path}: the claim is malformed ({error!r})") from error


FIELDS = {"kind", "events", "rule", "network", "messages", "properties", "witness"}


class Room:
    """What is left of the memory for files: a file that does not fit is refused before it is read."""

    def __init__(self, memory: int) -> None:
        self.memory = self.left = memory

    def take(self, path: Path, size: int) -> None:
        """Make room for a file of this size."""
        self.left -= COPIES * size
        if self.left < 0:
            raise TooCostly(
                f"{path}: reading it and the files before takes more than {self.memory / 2**30:.3g} GiB of"
                " memory: raise --max-memory to try"
            )


def _parse(claim: dict[str, Any], arrays: dict[str, Array], messages: Path, room: Room) -> Document:
    require(set(claim) == FIELDS, f"the claim has the fields {quoted(sorted(claim))}, not {sorted(FIELDS)}")
    require(claim["kind"] in KINDS, f"a claim of the kind {quoted(claim['kind'])}")
    require(_plain(claim["events"]), "the family of events has no plain name")
    asked = {name: arrays.get(f"properties.{name}") for name in ("lower", "upper", "C", "d")}
    known = {"lower", "upper", "rule.weights", "rule.offset", *(f"properties.{name}" for name in asked)}
    stray = [name for name in arrays if name not in known and not name.startswith("witness.")]
    require(not stray, f"tensors {quoted(stray)} have no place in a certificate")
    chosen = {n.removeprefix("witness."): t for n, t in arrays.items() if n.startswith("witness.")}
    present = {name: tensor for name, tensor in asked.items() if tensor is not None}
    require(claim["properties"] == digest({}, present), "the properties are not those that were certified")
    require(claim["witness"] == digest({}, chosen), "the witness is not the one that was saved")
    network = _network(claim["network"])
    dimension = sum(layer.outputs * (layer.inputs + 1) for layer in network)
    rule = _rule(claim["rule"], arrays, dimension)
    properties = _properties(arrays, network)
    count = len(properties)
    bound = shaped("lower", arrays.get("lower"), np.float64, count)
    require(bool(((bound >= 0) & (bound <= 1)).all()), "a lower bound outside [0, 1]")
    above = None
    if "upper" in arrays:
        above = shaped("upper", arrays["upper"], np.float64, count)
        require(
            bool(((above >= bound) & (above <= 1)).all()), "an upper bound below the lower one or above 1"
        )
    clients, skipped = _clients(claim["messages"], messages, rule.clients, dimension, room)
    return Document(
        claim["kind"], claim["events"], rule, network, clients, properties, bound, above, chosen, skipped
    )


def _plain(name: Any) -> bool:
    return isinstance(name, str) and PLAIN.fullmatch(name) is not None


def _natural(value: Any, least: int, what: str) -> int:
    require(type(value) is int and least <= value < 2**31, f"{what} is {quoted(value)}")
    return int(value)


def _network(layers: Any) -> tuple[Layer, ...]:
    require(isinstance(layers, list) and len(layers) > 0, "the network has no layers")
    require(len(layers) <= MOST_LAYERS, f"a network of {len(layers)} layers, more than {MOST_LAYERS}")
    found: list[Layer] = []
    width: int | None = None
    for layer in layers:
        if layer == {"type": "relu"}:
            require(not found or found[-1].linear, "a ReLU follows a ReLU")
            found.append(Layer(0, 0))
            continue
        require(
            isinstance(layer, dict) and set(layer) == {"type", "inputs", "outputs"},
            f"a layer is {quoted(layer)}",
        )
        require(layer["type"] == "linear", f"a layer of type {quoted(layer['type'])}")
        inputs, outputs = (_natural(layer[name], 1, f"a layer's {name}") for name in ("inputs", "outputs"))
        require(width in (None, inputs), f"a layer of {inputs} inputs follows one of {width} outputs")
        width = outputs
        found.append(Layer(inputs, outputs))
    require(width is not None, "the network has no linear layer")
    return tuple(found)


def _rule(rule: Any, arrays: dict[str, Array], dimension: int) -> Rule:
    require(isinstance(rule, dict), "the rule is no object")
    clients = _natural(rule["clients"], 1, "the number of clients")
    require(clients <= MOST_CLIENTS, f"a rule of {clients} clients, more than {MOST_CLIENTS}")
    name, kind = rule["name"], rule["type"]
    require(_plain(name), "the rule has no plain name")
    if kind == "linear":
        require(set(rule) == {"type", "name", "clients"}, f"the rule has the fields {quoted(sorted(rule))}")
        require(name not in ("median", "trimmed-mean"), f"a linear rule is not a {name}")
        weights = shaped("rule.weights", arrays.get("rule.weights"), np.float64, clients, None)
        require(weights.shape[1] in (1, dimension), f"weights for {weights.shape[1]} parameters")
        offset = arrays.get("rule.offset")
        offset = None if offset is None else shaped("rule.offset", offset, np.float64, dimension)
        if name in AVERAGES:
            sums = bool(
                (abs(weights.sum(0) - 1) <= 1e-9).all()
            )  # of what the name says; no bound relies on it
            require(offset is None and bool((weights >= 0).all()) and sums, f"{name} is a weighted average")
        return Rule(name, clients, weights, offset, 0)
    require(kind == "trimmed-mean", f"a rule of type {quoted(kind)}")
    require(
        set(rule) == {"type", "name", "clients", "trim"}, f"the rule has the fields {quoted(sorted(rule))}"
    )
    require("rule.weights" not in arrays and "rule.offset" not in arrays, "a trimmed mean has no weights")
    trim = _natural(rule["trim"], 0, "the number of values trimmed")
    require(2 * trim < clients, f"{trim} values cannot be trimmed at each end of {clients}")
    require(name != "median" or trim == (clients - 1) // 2, "a median keeps one or two middle values")
    return Rule(name, clients, None, None, trim)


def _properties(arrays: dict[str, Array], network: tuple[Layer, ...]) -> Properties:
    linear = [layer for layer in network if layer.linear]
    inputs, outputs = linear[0].inputs, linear[-1].outputs
    low = shaped("properties.lower", arrays.get("properties.lower"), np.float64, None, inputs)
    count = len(low)
    require(count > 0, "a certificate needs at least one property")
    high = shaped("properties.upper", arrays.get("properties.upper"), np.float64, count, inputs)
    C = shaped("properties.C", arrays.get("properties.C"), np.float64, count, None, outputs)
    d = shaped("properties.d", arrays.get("properties.d"), np.float64, count, C.shape[1])
    require(C.shape[1] > 0, "a property needs at least one constraint")
    require(bool((low <= high).all()), "a region has a lower end above its upper end")
    return Properties(low, high, C, d)


def _clients(
    listed: Any, folder: Path, count: int, dimension: int, room: Room
) -> tuple[tuple[Client, ...], tuple[str, ...]]:
    """The messages that the certificate names, found in the folder by their digests; and what was skipped."""
    require(isinstance(listed, list) and len(listed) == count, f"messages of {count} clients are needed")
    for entry in listed:
        require(
            isinstance(entry, dict)
            and set(entry) == {"client", "digest"}
            and all(isinstance(value, str) for value in entry.values()),
            f"a message is named by {quoted(entry)}",
        )
        require(_plain(entry["client"]), f"the client {quoted(entry['client'])} has no plain name")
    names = [entry["client"] for entry in listed]
    require(len(set(names)) == count, "two messages of one client: its draws are not independent")
    found, skipped = _messages(
        folder, {entry["digest"]: entry["client"] for entry in listed}, dimension, room
    )
    for entry in listed:
        require(
            entry["digest"] in found,
            f"the message of {entry['client']!r} is not in {folder}, or was changed: pass --messages"
            + (f"; {skipped[0]}" if skipped else ""),
        )
        own = found[entry["digest"]]
        require(own.name == entry["client"], f"the message of {entry['client']!r} is signed {own.name!r}")
    return tuple(found[entry["digest"]] for entry in listed), skipped


def _messages(
    folder: Path, wanted: dict[str, str], dimension: int, room: Room
) -> tuple[dict[str, Client], tuple[str, ...]]:
    """The messages that are wanted, by digest, and a line for each file that is no message.

    Only files that say they are of a client that is wanted are read whole.
    """
    found: dict[str, Client] = {}
    skipped: list[str] = []
    for path in sorted(folder.glob("*.safetensors")) if folder.is_dir() else []:
        try:
            metadata, size = peek(path)
            if metadata.get("format") != MESSAGE["format"]:
                raise InvalidCertificate(f"{path}: not a fedcert message")
            if metadata.get("client") not in wanted.values():
                continue
            room.take(path, size)
            metadata, arrays = read_arrays(path)
        except InvalidCertificate as error:
            skipped.append(f"skipped: {error}")
            continue
        metadata.pop("digest", None)  # of all the rest
        name = digest(metadata, arrays)
        if name in wanted:
            found[name] = _client(metadata, arrays, dimension)
    return found, tuple(skipped)


def _client(metadata: dict[str, str], arrays: dict[str, Array], dimension: int) -> Client:
    name, events = metadata.get("client", ""), metadata.get("events", "")
    require(_plain(name), f"the client {quoted(name)} has no plain name")
    try:
        require(_plain(events), f"the family of events {quoted(events)} has no plain name")
        for field, value in MESSAGE.items():
            require(metadata.get(field) == value, f"{field} {quoted(metadata.get(field))} is not {value!r}")
        loc = shaped("law.loc", arrays.get("law.loc"), np.float64, dimension)
        scale = shaped("law.scale", arrays.get("law.scale"), np.float64, dimension)
        low = shaped("cells.lower", arrays.get("cells.lower"), np.float64, None, dimension)
        high = shaped("cells.upper", arrays.get("cells.upper"), np.float64, len(low), dimension)
        require(bool((scale > 0).all()), "a scale is not positive")
        require(bool((low <= high).all()), "a cell has a lower end above its upper end")
    except InvalidCertificate as error:
        raise InvalidCertificate(f"client {name!r}: {error}") from error
    return Client(name, events, loc, scale, low, high)
