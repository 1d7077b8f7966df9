"""The one message that a client sends: its law, its cells with their masses, its size."""

from dataclasses import dataclass
from pathlib import Path

import safetensors
import torch
from safetensors.torch import save_file
from torch import Tensor

from fedcert.box import Box
from fedcert.digest import digest
from fedcert.errors import FedcertError, InvalidMessage, UnsupportedMass
from fedcert.events.cells import Cells
from fedcert.laws import DiagonalGaussian

FORMAT = "fedcert-message"
VERSION = "1"
TENSORS = {
    "law.loc": torch.float64,
    "law.scale": torch.float64,
    "cells.lower": torch.float64,
    "cells.upper": torch.float64,
    "cells.log_mass": torch.float64,
    "cells.member": torch.bool,
}


@dataclass(frozen=True)
class Message:
    """All that a client ever sends.

    The server takes nothing on trust that it can compute: a claimed mass above what the law gives the
    cell is refused, and overlapping cells are refused by `Cells` itself.

    Attributes:
        client: the client's name.
        law: q_i, its posterior.
        cells: C_i with claimed lower bounds of the masses p_{i,k}.
        examples: how many examples it was trained on, for size-proportional weights.
        events: the name of the family that the cells come from.
    """

    client: str
    law: DiagonalGaussian
    cells: Cells
    examples: int
    events: str = "cells"

    def __post_init__(self) -> None:
        if self.examples < 1:
            raise InvalidMessage(f"client {self.client}: trained on {self.examples} examples")
        if self.law.loc_error is not None or self.law.scale_error:
            raise InvalidMessage(f"client {self.client}: a client states its law exactly")
        if self.cells.boxes.shape[-1] != self.law.dimension:
            raise InvalidMessage(
                f"client {self.client}: cells of {self.cells.boxes.shape[-1]} coordinates,"
                f" a law of {self.law.dimension}"
            )
        excess = ~(self.cells.log_mass <= self.law.log_mass_upper(self.cells.boxes))
        if excess.any():
            k = int(excess.nonzero()[0])
            raise UnsupportedMass(
                f"client {self.client}: cell {k} claims log mass {self.cells.log_mass[k].item()},"
                f" more than its law gives: {self.law.log_mass(self.cells.boxes[k]).item()}"
            )

    def verified_cells(self) -> Cells:
        """The cells, with the smaller of the claimed masses and the server's own lower bounds."""
        boxes = Box(self.cells.boxes.lower.clone(), self.cells.boxes.upper.clone())
        log_mass = torch.minimum(self.law.log_mass(boxes), self.cells.log_mass)
        return Cells(boxes, log_mass, self.cells.member.clone())

    def to(self, device: torch.device | str) -> "Message":
        """The same message on another device."""
        return Message(self.client, self.law.to(device), self.cells.to(device), self.examples, self.events)

    @property
    def digest(self) -> str:
        """The sha256 of the content, by which a certificate names the message."""
        return digest(self._metadata(), self._tensors())

    def save(self, path: Path) -> None:
        """Write the message as a safetensors file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        contiguous = {name: tensor.cpu().contiguous() for name, tensor in self._tensors().items()}
        save_file(contiguous, path, metadata=self._metadata())

    def _tensors(self) -> dict[str, Tensor]:
        return {
            "law.loc": self.law.loc,
            "law.scale": self.law.scale,
            "cells.lower": self.cells.boxes.lower,
            "cells.upper": self.cells.boxes.upper,
            "cells.log_mass": self.cells.log_mass,
            "cells.member": self.cells.member,
        }

    def _metadata(self) -> dict[str, str]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "client": self.client,
            "law": "diagonal-gaussian",
            "examples": str(self.examples),
            "events": self.events,
        }

    @classmethod
    def load(cls, path: Path) -> "Message":
        """Read a message; a file that is no sound message raises, and nothing in it is executed."""
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                metadata = file.metadata() or {}
                _check_header(metadata, set(file.keys()))
                tensors = {name: file.get_tensor(name) for name in TENSORS}
        except (OSError, safetensors.SafetensorError) as error:
            raise InvalidMessage(f"{path}: not a readable message file ({error})") from error
        except InvalidMessage as error:
            raise InvalidMessage(f"{path}: {error}") from error
        try:
            return _parse(metadata, tensors)
        except FedcertError as error:
            raise type(error)(f"{path}: {error}") from error


def _check_header(metadata: dict[str, str], names: set[str]) -> None:
    if metadata.get("format") != FORMAT:
        raise InvalidMessage("not a fedcert message: ask the client for the file it saved")
    if metadata.get("version") != VERSION:
        raise InvalidMessage(
            f"message format {metadata.get('version')}, but this fedcert reads {VERSION}:"
            " use the same fedcert version on both sides"
        )
    if metadata.get("law") != "diagonal-gaussian":
        raise InvalidMessage(f"unknown law {metadata.get('law')!r}")
    if names != set(TENSORS):
        raise InvalidMessage(f"tensors {sorted(names)}, expected {sorted(TENSORS)}")


def _parse(metadata: dict[str, str], tensors: dict[str, Tensor]) -> Message:
    dimensions = {"law.loc": 1, "law.scale": 1, "cells.log_mass": 1}
    for name, tensor in tensors.items():
        if tensor.dtype != TENSORS[name] or tensor.dim() != dimensions.get(name, 2):
            raise InvalidMessage(f"tensor {name} is {tensor.dtype} with {tensor.dim()} axes")
    examples = metadata.get("examples", "")
    if not (examples.isdecimal() and len(examples) <= 18):
        raise InvalidMessage(f"number of examples {examples[:20]!r}")
    return Message(
        metadata.get("client", ""),
        DiagonalGaussian(tensors["law.loc"], tensors["law.scale"]),
        Cells(
            Box(tensors["cells.lower"], tensors["cells.upper"]),
            tensors["cells.log_mass"],
            tensors["cells.member"],
        ),
        int(examples),
        metadata.get("events", ""),
    )
