"""Files that are there whole or not at all, whenever the process or the machine stops."""

import errno
import os
from pathlib import Path

from fedcert.errors import CannotWrite

PARTIAL = ".partial"


def write(path: Path, content: bytes | str) -> None:
    """Write a file: beside its place, then to the disk, then into its place by one rename.

    A reader sees the old content or the new, never a part. A process killed on the way leaves at most a
    file that ends in `PARTIAL`, which nothing reads.

    Args:
        path: where the file belongs; its folder is made if need be.
        content: bytes, or text to be encoded as UTF-8.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}{PARTIAL}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> CannotWrite:
    """What to tell a user whose file or folder cannot be written.

    Args:
        path: the file or folder.
        error: what the system says.
    """
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    advice = "make room there, then repeat" if full else "choose another folder"
    return CannotWrite(f"{path}: cannot be written ({error.strerror or error}): {advice}")


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk: what was renamed stays renamed after a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
