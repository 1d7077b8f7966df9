"""The file that holds a certificate: one safetensors file, sealed by a digest of all that is in it.

docs/certificate-format.md describes it. This module knows only the envelope; `files.py` reads what the claim
says, and fedcert's own `wire.certificate_file` reads it once more, as torch tensors.
"""

import json
from pathlib import Path
from typing import Any

from fedcert_check import tensorfile
from fedcert_check.digest import digest
from fedcert_check.errors import InvalidCertificate, UnreadableFile
from fedcert_check.tensorfile import Arrays, Limits, without_duplicates

FORMAT = "fedcert-certificate"
VERSION = "3"
"""The version that is written."""
READABLE = ("2", VERSION)
LIMITS = Limits(header_bytes=2**24, tensors=100_000)  # a local claim has some tensors for each client
MAX_CLAIM_CHARACTERS = 2**20


def read_claim(path: Path) -> tuple[dict[str, Any], Arrays]:
    """The claim and the tensors, as numpy arrays; a file that was changed or is foreign raises.

    A claim of version 2, which knew no subject, has none.
    """
    metadata, arrays = read_arrays(path)
    if metadata.get("format") != FORMAT:
        raise InvalidCertificate(f"{path}: not a fedcert certificate")
    if metadata.get("version") not in READABLE:
        found = metadata.get("version", "none")[:20]
        raise InvalidCertificate(
            f"{path}: certificate format {found!r}, but this version reads formats {' and '.join(READABLE)}:"
            " use the version of fedcert that wrote it"
        )
    header = {name: metadata.get(name, "") for name in ("format", "version", "claim")}
    if set(metadata) != {*header, "digest"} or metadata["digest"] != digest(header, arrays):
        raise InvalidCertificate(f"{path}: the file was changed since it was written: its digest differs")
    if len(header["claim"]) > MAX_CLAIM_CHARACTERS:
        raise InvalidCertificate(
            f"{path}: a claim of {len(header['claim'])} characters, more than {MAX_CLAIM_CHARACTERS}"
        )
    try:
        claim = json.loads(header["claim"], object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        raise InvalidCertificate(f"{path}: the claim is not JSON ({error})") from error
    if not isinstance(claim, dict):
        raise InvalidCertificate(f"{path}: the claim is not a JSON object")
    return ({"subject": None} | claim if metadata["version"] == "2" else claim), arrays


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
