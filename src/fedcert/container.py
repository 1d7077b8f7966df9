"""The file that holds a certificate: one safetensors file, sealed by a digest of all that is in it.

docs/certificate-format.md describes it. This module knows the envelope alone; what the claim says is read by
`artifact.py`, for the library, and once more by `check/files.py`, for the checker.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fedcert import tensorfile
from fedcert.digest import digest
from fedcert.errors import InvalidCertificate, UnreadableFile
from fedcert.tensorfile import Arrays, Limits, without_duplicates

FORMAT = "fedcert-certificate"
VERSION = "2"
LIMITS = Limits(header_bytes=2**24, tensors=100_000)  # a local claim has some tensors a client
LONGEST_CLAIM = 2**20  # characters


def write_container(path: Path, claim: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write a certificate file so that it is there whole or not at all.

    Args:
        path: where.
        claim: what becomes the JSON of the header.
        tensors: everything else.
    """
    header = {"format": FORMAT, "version": VERSION, "claim": json.dumps(claim, sort_keys=True)}
    tensorfile.write(path, {**header, "digest": digest(header, tensors)}, tensors)


def read_container(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The claim and the tensors of a certificate file; one that was changed or is foreign raises."""
    claim, arrays = read_claim(path)
    return claim, {name: torch.tensor(array) for name, array in arrays.items()}


def read_claim(path: Path) -> tuple[dict[str, Any], Arrays]:
    """The claim and the tensors, as numpy's arrays."""
    metadata, arrays = read_arrays(path)
    if metadata.get("format") != FORMAT:
        raise InvalidCertificate(f"{path}: not a fedcert certificate")
    if metadata.get("version") != VERSION:
        found = metadata.get("version", "none")[:20]
        raise InvalidCertificate(
            f"{path}: certificate format {found!r}, but this fedcert reads {VERSION}:"
            " use the fedcert version that wrote it"
        )
    header = {name: metadata.get(name, "") for name in ("format", "version", "claim")}
    if set(metadata) != {*header, "digest"} or metadata["digest"] != digest(header, arrays):
        raise InvalidCertificate(f"{path}: the file was changed since it was written: its digest differs")
    if len(header["claim"]) > LONGEST_CLAIM:
        raise InvalidCertificate(f"{path}: a claim of {len(header['claim'])} characters")
    try:
        claim = json.loads(header["claim"], object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        raise InvalidCertificate(f"{path}: the claim is no JSON ({error})") from error
    if not isinstance(claim, dict):
        raise InvalidCertificate(f"{path}: the claim is no JSON object")
    return claim, arrays


def peek(path: Path) -> tuple[dict[str, str], int]:
    """The metadata of a safetensors file within limits, and its size in bytes, without its tensors."""
    try:
        return tensorfile.read_metadata(path, LIMITS)
    except UnreadableFile as error:
        raise InvalidCertificate(str(error)) from error


def read_arrays(path: Path) -> tuple[dict[str, str], Arrays]:
    """The metadata and tensors of a safetensors file within limits; nothing in it is executed."""
    try:
        return tensorfile.read(path, LIMITS)
    except UnreadableFile as error:
        raise InvalidCertificate(str(error)) from error
