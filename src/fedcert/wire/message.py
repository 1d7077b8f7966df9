"""The one message that a client sends: its law, its cells with their masses, its size."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import torch
from torch import Tensor

from fedcert.errors import (
    FedcertError,
    InvalidMessage,
    ShapeMismatch,
    UnreadableFile,
    UnsupportedMass,
)
from fedcert.families.cells import Cells
from fedcert.frozen import unchecked
from fedcert.laws import BlockGaussian, BoxMeasurable, DenseGaussian, DiagonalLaw
from fedcert.laws.registry import LawType, StatedLaw, law_named
from fedcert.numerics.box import Box
from fedcert.verify import pieces
from fedcert.wire import atomic, tensorfile
from fedcert.wire.limits import (
    MAX_CELLS,
    MAX_LAW_TENSORS,
    MAX_PROPERTIES,
    MIN_SCALE,
    check_comparisons,
    check_magnitude,
    check_no_denormal,
)
from fedcert.wire.tensorfile import arrays
from fedcert_check.digest import digest
from fedcert_check.tensorfile import Limits

FORMAT = "fedcert-message"
VERSION = "2"
LAW = "law."
CELLS = {
    "cells.lower": (torch.float64, ("M", "n_w")),
    "cells.upper": (torch.float64, ("M", "n_w")),
    "cells.log_mass": (torch.float64, ("M",)),
    "cells.member": (torch.bool, ("P", "M")),
}
"""The tensors of all cells: their types, and their shapes in one common set of letters."""
HEADER = ("format", "version", "client", "law", "examples", "events", "digest")
LIMITS = Limits(header_bytes=2**16, tensors=len(CELLS) + MAX_LAW_TENSORS)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


@dataclass(frozen=True)
class Message:
    """All that a client ever sends.

    The server takes nothing on trust that it can compute: a claimed mass above what the law gives the
    cell is refused, and overlapping cells are refused by `Cells` itself. Means and end points that are
    denormal are refused too: no training ends there, and hardware that flushes them to zero would deploy
    another model than the message describes; so are numbers with which a rule could overflow (`limits.py`).
    Names become file names and rows of tables, so only plain ones are taken.

    Attributes:
        client: the client's name.
        law: q_i, its posterior.
        cells: C_i with claimed lower bounds of the masses p_{i,k}.
        examples: how many examples it was trained on, for size-proportional weights.
        events: the name of the family that the cells come from.

    Examples:
        >>> from fedcert import DiagonalGaussian
        >>> law = DiagonalGaussian(torch.zeros(3).double(), torch.ones(3).double())
        >>> Message("clinic-a", law, Cells.none(3), examples=120).digest[:8]
        '860db8e5'
    """

    client: str
    law: StatedLaw
    cells: Cells
    examples: int
    events: str = "cells"

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.client):
            raise InvalidMessage(f"client: {self.client[:80]!r} is no name: {NAME.pattern}")
        with _naming(self.client, "events"):
            if not NAME.fullmatch(self.events):
                raise InvalidMessage(f"{self.events[:80]!r} is no name: {NAME.pattern}")
        with _naming(self.client, "examples"):
            if self.examples < 1:
                raise InvalidMessage(f"trained on {self.examples} examples")
        with _naming(self.client, "law"):
            self.law.tensors()
        with _naming(self.client, "cells.lower"):
            if self.cells.boxes.shape[-1] != self.law.dimension:
                raise InvalidMessage(
                    f"cells of {self.cells.boxes.shape[-1]} coordinates, a law of {self.law.dimension}"
                )
        boxes = self.cells.boxes
        means = [("law.loc", component.loc) for component in self.law.components]
        for field, values in (*means, ("cells.lower", boxes.lower), ("cells.upper", boxes.upper)):
            with _naming(self.client, field):
                check_no_denormal(values)
                check_magnitude(values)
        for component in self.law.components:
            if isinstance(component, DiagonalLaw):
                with _naming(self.client, "law.scale"):
                    check_magnitude(component.scale, MIN_SCALE)
            elif isinstance(component, DenseGaussian):
                with _naming(self.client, "law.factor"):
                    check_magnitude(component.factor, MIN_SCALE)
            elif isinstance(component, BlockGaussian):
                with _naming(self.client, "law.numbers"):
                    for own in component.blocks:
                        check_magnitude(own.numbers())
                        check_magnitude(own.scaling, MIN_SCALE)
        with _naming(self.client, "cells.log_mass"):
            self._check_masses()

    def _check_masses(self) -> None:
        """Whether no cell claims more than its law gives it."""
        if len(self.cells) == 0:
            return
        law, boxes = self._measured, self.cells.boxes
        excess = ~(self.cells.log_mass <= _cell_by_cell(law.log_mass_upper, boxes))
        if excess.any():
            k = int(excess.nonzero()[0])
            raise UnsupportedMass(
                f"cell {k} claims log mass {self.cells.log_mass[k].item()},"
                f" more than its law gives: {law.log_mass(boxes[k]).item()}"
            )

    @property
    def _measured(self) -> BoxMeasurable:
        if not isinstance(self.law, BoxMeasurable):
            raise InvalidMessage(f"a law named {self.law.kind} does not know the mass of a cell")
        return self.law

    @cached_property
    def digest(self) -> str:
        """What a certificate names the message by: the digest of all that it says."""
        return digest(self._header(), arrays(self._tensors()))

    def verified_cells(self) -> Cells:
        """The cells, with the smaller of the claimed masses and the server's own lower bounds."""
        if len(self.cells) == 0:
            return self.cells
        computed = _cell_by_cell(self._measured.log_mass, self.cells.boxes)
        return self.cells.with_mass(torch.minimum(computed, self.cells.log_mass))

    def to(self, device: torch.device | str) -> "Message":
        """The same message on another device; what was checked once is not checked again."""
        return unchecked(self, law=self.law.to(device), cells=self.cells.to(device))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the message as a safetensors file, whole or not at all."""
        atomic.write(Path(path), self.encoded())

    def encoded(self) -> bytes:
        """The content of the message's file; equal messages give equal bytes."""
        return tensorfile.encoded(self._header() | {"digest": self.digest}, self._tensors())

    @classmethod
    def load(cls, path: str | PathLike[str], limits: Limits = LIMITS) -> "Message":
        """Read a message; a file that is no sound message raises an error that names file, client and field.

        Nothing in the file is executed, and no more memory is taken than a few times `limits.file_bytes`.
        Cells that would take more than `MAX_COMPARISONS` to be shown disjoint are refused uncompared.

        Args:
            path: the file.
            limits: the most that it may hold.
        """
        try:
            header, content = tensorfile.read(Path(path), limits)
            tensors = {name: torch.tensor(array) for name, array in content.items()}
            return _parse(header, tensors)
        except UnreadableFile as error:
            raise InvalidMessage(str(error)) from error
        except FedcertError as error:
            raise type(error)(f"{path}: {error}") from error

    def _header(self) -> dict[str, str]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "client": self.client,
            "law": self.law.kind,
            "examples": str(self.examples),
            "events": self.events,
        }

    def _tensors(self) -> dict[str, Tensor]:
        return {
            **{f"{LAW}{field}": tensor for field, tensor in self.law.tensors().items()},
            "cells.lower": self.cells.boxes.lower,
            "cells.upper": self.cells.boxes.upper,
            "cells.log_mass": self.cells.log_mass,
            "cells.member": self.cells.member,
        }


@contextmanager
def _naming(client: str, field: str) -> Iterator[None]:
    """Errors inside name the client and the field."""
    try:
        yield
    except FedcertError as error:
        raise type(error)(f"client {client}: {field}: {error}") from error


def _parse(header: Mapping[str, str], tensors: Mapping[str, Tensor]) -> Message:
    """The message in a file; its parts are built one by one, so that what fails names its field."""
    client, stated = _check_header(header)
    _check_shapes(client, stated, tensors)
    lower, upper = tensors["cells.lower"], tensors["cells.upper"]
    log_mass, member = tensors["cells.log_mass"], tensors["cells.member"]
    own = {name.removeprefix(LAW): tensor for name, tensor in tensors.items() if name.startswith(LAW)}
    law = stated.from_tensors(own, lambda field: _naming(client, f"{LAW}{field}"))
    for field, ends in (("cells.lower", lower), ("cells.upper", upper)):
        with _naming(client, field):
            Box.point(ends)
    with _naming(client, "cells.lower, cells.upper"):
        boxes = Box(lower, upper)
    with _naming(client, "cells.member"):
        check_comparisons(member, law.dimension)
    with _naming(client, "cells.lower, cells.upper, cells.member"):
        cells = Cells(boxes, log_mass, member)
    message = Message(client, law, cells, int(header["examples"]), header["events"])
    with _naming(client, "digest"):
        if header["digest"] != message.digest:
            raise InvalidMessage("the content is not the one that was sent: ask the client to send it again")
    return message


def _check_header(header: Mapping[str, str]) -> tuple[str, LawType]:
    """The client's name and the kind of its law, from the header of a message that this version reads."""
    if header.get("format") != FORMAT:
        raise InvalidMessage("format: not a fedcert message: ask the client for the file it saved")
    if header.get("version") != VERSION:
        raise InvalidMessage(
            f"version: message format {header.get('version', '')[:20]!r}, but this fedcert reads {VERSION}:"
            " use the same fedcert version on both sides"
        )
    if set(header) != set(HEADER):
        wrong = sorted(set(header) ^ set(HEADER))
        raise InvalidMessage(f"header: {', '.join(map(repr, wrong))[:80]} missing or unknown")
    client, examples = header["client"], header["examples"]
    if not NAME.fullmatch(client):
        raise InvalidMessage(f"client: {client[:80]!r} is no name: {NAME.pattern}")
    with _naming(client, "law"):
        law = law_named(header["law"])
    with _naming(client, "examples"):
        if not (examples.isascii() and examples.isdecimal() and len(examples) <= 18):
            raise InvalidMessage(f"number of examples {examples[:20]!r}")
    return client, law


def _check_shapes(client: str, law: LawType, tensors: Mapping[str, Tensor]) -> None:
    """Whether every tensor is there, of its type, and of a shape that fits the others."""
    expected = {f"{LAW}{field}": (torch.float64, shape) for field, shape in law.fields.items()} | CELLS
    if set(tensors) != set(expected):
        wrong = sorted(set(tensors) ^ set(expected))
        raise InvalidMessage(f"client {client}: tensor {', '.join(map(repr, wrong))[:80]} missing or unknown")
    sizes = {**getattr(law, "limits", {}), "M": MAX_CELLS, "P": MAX_PROPERTIES}
    known: dict[str, int] = {}
    for name, (dtype, letters) in expected.items():
        tensor = tensors[name]
        with _naming(client, name):
            if tensor.dtype != dtype or tensor.dim() != len(letters):
                raise InvalidMessage(
                    f"{tensor.dtype} with {tensor.dim()} axes, not {dtype} with {len(letters)}"
                )
            for letter, size in zip(letters, tensor.shape, strict=True):
                if size != known.setdefault(letter, size):
                    raise ShapeMismatch(
                        f"shape {tuple(tensor.shape)}, but {letter} is {known[letter]} elsewhere"
                    )
                if size > sizes.get(letter, size):
                    raise InvalidMessage(
                        f"shape {tuple(tensor.shape)}: {letter} may be {sizes[letter]} at most"
                    )


def _cell_by_cell(log_mass: Callable[[Box], Tensor], boxes: Box) -> Tensor:
    """The log masses of cells, computed for as many at a time as bound the memory."""
    return torch.cat([log_mass(boxes[piece]) for piece in pieces(boxes)])
