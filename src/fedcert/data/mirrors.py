"""Downloads from the public mirrors into a cache, checked against known digests."""

import hashlib
import os
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path

from fedcert.data.idx import FILES, Source
from fedcert.errors import InvalidImages
from fedcert.progress import Tracker, silent

CHUNK = 2**16
TIMEOUT = 30.0


def cache_folder() -> Path:
    """Where downloads are kept: $XDG_CACHE_HOME/fedcert or ~/.cache/fedcert."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fedcert"


def cached(source: Source, track: Tracker = silent) -> Path:
    """The cache folder, with the four files of a data set in it, downloaded where missing."""
    folder = cache_folder()
    for name, sha256 in zip(FILES, source.sha256, strict=True):
        path = folder / source.name / f"{name}.gz"
        if not path.is_file():
            _download(source, path, sha256, track)
    return folder


def _download(source: Source, path: Path, sha256: str, track: Tracker) -> None:
    failures = []
    for mirror in source.mirrors:
        try:
            content = _fetch(mirror + path.name, track)
        except (OSError, HTTPException) as error:  # URLError is an OSError
            failures.append(f"{mirror}: {error}")
            continue
        if hashlib.sha256(content).hexdigest() != sha256:
            failures.append(f"{mirror}: the file has another SHA-256 digest than {sha256}")
            continue
        _keep(path, content)
        return
    raise InvalidImages(
        f"{source.name}: {path.name} could not be downloaded ({'; '.join(failures)}). Put"
        f" {', '.join(f'{name}.gz' for name in FILES)} into {path.parent}, or name their folder with"
        " --data-dir or the environment variable FEDCERT_DATA"
    )


def _keep(path: Path, content: bytes) -> None:
    partial = path.with_suffix(".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        raise InvalidImages(
            f"the cache {path.parent} cannot be written ({error}): set XDG_CACHE_HOME"
        ) from error


def _fetch(address: str, track: Tracker) -> bytes:
    with urllib.request.urlopen(address, timeout=TIMEOUT) as response:
        length = response.headers.get("Content-Length", "")
        size = int(length) if length.isdecimal() else 0

        def chunks() -> Iterator[bytes]:
            while chunk := response.read(CHUNK):
                yield chunk

        name = address.rsplit("/", 1)[-1]
        return b"".join(track(chunks(), f"downloading {name}", -(-size // CHUNK) or None))
