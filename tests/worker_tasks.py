"""What worker processes can be told to do: functions that they can import."""

import os
import time
from pathlib import Path

from flint import ctx

from fedcert_check import InvalidCertificate


def precision(item: int) -> tuple[int, int, int]:
    """The item, the precision in bits and the process."""
    return item, ctx.prec, os.getpid()


def refuse(item: int) -> None:
    """Fail."""
    raise InvalidCertificate(f"item {item}")


def linger(mark: str) -> None:
    """Leave a mark, then be busy for a long time."""
    Path(f"{mark}-{os.getpid()}").touch()
    time.sleep(600)
