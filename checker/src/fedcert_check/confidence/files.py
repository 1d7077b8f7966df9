"""What is to be checked: the file of a confidence bound and the messages that it names, as plain arrays."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedcert_check.confidence.laws import DrawnLaw, drawn, read_law
from fedcert_check.confidence.seed import seed_of
from fedcert_check.container import MAX_CLAIM_CHARACTERS, peek, read_arrays
from fedcert_check.digest import digest
from fedcert_check.document import Client
from fedcert_check.errors import InvalidCertificate
from fedcert_check.files import DEFAULT_READING_BYTES, ReadingBudget, read_clients, read_properties
from fedcert_check.layers import Network
from fedcert_check.properties import Properties
from fedcert_check.rules import Rule, read_rule, require_name
from fedcert_check.subject import PREFIX, TENSORS, Subject
from fedcert_check.subject_file import read_subject
from fedcert_check.tensorfile import Arrays, without_duplicates
from fedcert_check.validation import Array, natural, quoted, require, require_fields, shaped

FORMAT = "fedcert-confidence"
VERSION = "1"
FIELDS = {"rule", "network", "properties", "draws", "beta", "subject"}
LAW = "law."
BLOCK_LAW, MIXTURE_LAW = ("loc", "blocks", "numbers"), ("loc", "scale", "weights")
BOUNDS = ("lower", "upper", "proven", "broken")


@dataclass(frozen=True)
class Statement:
    """A confidence bound and all that it speaks about.

    Attributes:
        rule: A.
        network: f.
        clients: as their messages say if there are messages; otherwise their laws are in the file itself.
        laws: of the clients, in the order of the rule's weights.
        properties: what is safe.
        draws: N.
        beta: β.
        seed: the digest of what is claimed.
        lower: the claimed lower bounds, one for each property.
        upper: the claimed upper bounds.
        proven: how many draws are claimed to be proven safe.
        broken: how many draws are claimed to be broken.
        subject: what the properties mean, verified; None where the file does not say it.
        skipped: a line for each file beside the messages that is not a message.
    """

    rule: Rule
    network: Network
    clients: tuple[Client, ...] | None
    laws: tuple[DrawnLaw, ...]
    properties: Properties
    draws: int
    beta: float
    seed: str
    lower: Array
    upper: Array
    proven: Array
    broken: Array
    subject: Subject | None = None
    skipped: tuple[str, ...] = ()


def read(path: Path, messages: Path, memory: int = DEFAULT_READING_BYTES) -> Statement:
    """Read and cross-check the file of a confidence bound, and the messages that it names.

    Args:
        path: of the file.
        messages: the folder of the messages.
        memory: maximum number of bytes that reading may take.
    """
    budget = ReadingBudget(memory)
    budget.take(path, peek(path)[1])
    try:
        claim, arrays = _sealed(path)
        return _parse(claim, arrays, messages, budget)
    except InvalidCertificate as error:
        raise InvalidCertificate(f"{path}: {error}") from error
    except (KeyError, TypeError, RecursionError) as error:
        raise InvalidCertificate(f"{path}: the claim is malformed ({error!r})") from error


def _sealed(path: Path) -> tuple[dict[str, Any], Arrays]:
    """The claim and the tensors of a file of this format whose digest is right."""
    metadata, arrays = read_arrays(path)
    require(metadata.get("format") == FORMAT, "not a confidence bound of fedcert")
    version = metadata.get("version")
    require(version == VERSION, f"format {quoted(version)}, but this version reads format {VERSION}")
    header = {name: metadata.get(name, "") for name in ("format", "version", "claim")}
    sealed = set(metadata) == {*header, "digest"} and metadata["digest"] == digest(header, arrays)
    require(sealed, "the file was changed since it was written: its digest differs")
    length = len(header["claim"])
    require(
        length <= MAX_CLAIM_CHARACTERS, f"a claim of {length} characters, more than {MAX_CLAIM_CHARACTERS}"
    )
    try:
        claim = json.loads(header["claim"], object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        raise InvalidCertificate(f"the claim is not JSON ({error})") from error
    require(isinstance(claim, dict), "the claim is not a JSON object")
    return claim, arrays


def _parse(claim: dict[str, Any], arrays: Arrays, messages: Path, budget: ReadingBudget) -> Statement:
    stated = "messages" if "messages" in claim else "laws"
    require_fields(claim, FIELDS | {stated}, "the claim")
    draws = natural(claim["draws"], 1, "the number of draws")
    beta = claim["beta"]
    require(type(beta) is float and 0 < beta < 1, f"beta is {quoted(beta)}")
    network = Network.read(claim["network"])
    rule = read_rule(claim["rule"], arrays, network.dimension)
    _contents(claim, arrays, rule.clients if stated == "laws" else 0)
    properties = read_properties(arrays, network)
    clients: tuple[Client, ...] | None = None
    skipped: tuple[str, ...] = ()
    if stated == "messages":
        clients, skipped = read_clients(claim["messages"], messages, rule.clients, network.dimension, budget)
        laws = tuple(drawn(client.law) for client in clients)
        digests = [entry["digest"] for entry in claim["messages"]]
    else:
        laws = tuple(read_law(arrays, i, network.dimension) for i in range(rule.clients))
        digests = [law.digest for law in laws]
        require(claim["laws"] == digests, "the laws are not those that were drawn from")
    require_name(rule, [law.stated for law in laws])
    coefficients = {
        name: arrays[f"rule.{name}"] for name in ("weights", "offset") if f"rule.{name}" in arrays
    }
    seed = seed_of(digests, claim["rule"], coefficients, claim["network"], claim["properties"], draws, beta)
    bounds = _bounds(arrays, len(properties), draws)
    return Statement(
        rule,
        network,
        clients,
        laws,
        properties,
        draws,
        beta,
        seed,
        *bounds,
        read_subject(claim["subject"], arrays, properties),
        skipped,
    )


def _contents(claim: dict[str, Any], arrays: Arrays, stated: int) -> None:
    """Raise unless all tensors have a place and the properties are those that are named by digest."""
    asked = {name: arrays[f"properties.{name}"] for name in ("lower", "upper", "C", "d")}
    laws = {f"{LAW}{i}.{name}" for i in range(stated) for name in _law_names(arrays, i)}
    subject = {PREFIX + name for name in TENSORS}
    known = {
        *BOUNDS,
        "rule.weights",
        "rule.offset",
        *laws,
        *subject,
        *(f"properties.{name}" for name in asked),
    }
    stray = [name for name in arrays if name not in known]
    require(not stray, f"tensors {quoted(stray)} have no place in a confidence bound")
    require(claim["properties"] == digest({}, asked), "the properties are not those that were judged")


def _law_names(arrays: Arrays, client: int) -> tuple[str, ...]:
    """The tensors that state the law of a client: by blocks, or as a mixture."""
    return BLOCK_LAW if f"{LAW}{client}.blocks" in arrays else MIXTURE_LAW


def _bounds(arrays: Arrays, count: int, draws: int) -> tuple[Array, Array, Array, Array]:
    """The claimed bounds, 0 ≤ lower ≤ upper ≤ 1, and counts of at most N draws."""
    lower, upper = (shaped(name, arrays.get(name), np.float64, count) for name in ("lower", "upper"))
    proven, broken = (shaped(name, arrays.get(name), np.int64, count) for name in ("proven", "broken"))
    require(bool(((lower >= 0) & (lower <= upper) & (upper <= 1)).all()), "bounds that are not 0 ≤ L ≤ U ≤ 1")
    counted = (proven >= 0) & (broken >= 0) & (proven <= draws) & (broken <= draws - proven)
    require(bool(counted.all()), f"counts that do not fit {draws} draws")
    return lower, upper, proven, broken
