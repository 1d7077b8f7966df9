"""The envelope of a certificate file, written and read as torch tensors; the format is the checker's."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fedcert.wire import tensorfile
from fedcert.wire.tensorfile import arrays
from fedcert_check.container import FORMAT, VERSION, read_claim
from fedcert_check.digest import digest


def write_container(path: Path, claim: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write a certificate file so that it is there whole or not at all.

    Args:
        path: where.
        claim: what becomes the JSON of the header.
        tensors: everything else.
    """
    header = {"format": FORMAT, "version": VERSION, "claim": json.dumps(claim, sort_keys=True)}
    tensorfile.write(path, {**header, "digest": digest(header, arrays(tensors))}, tensors)


def read_container(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The claim and the tensors of a certificate file; one that was changed or is foreign raises."""
    claim, arrays = read_claim(path)
    return claim, {name: torch.tensor(array) for name, array in arrays.items()}
