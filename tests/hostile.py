"""Certificate files that a stranger could make to crash, stall or exhaust the checker, or to fool its reader.

Every file is sealed: its digests fit, so that nothing but the content can be held against it.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fedcert.wire import tensorfile
from fedcert.wire.container import write_container
from fedcert_check.digest import digest

Tensors = dict[str, Tensor]
NASTY = "a[/b]\x1b[2K\rproved\n\u202e"


def doubles(*shape: int, value: float = 0.0) -> Tensor:
    return torch.full(shape, value, dtype=torch.float64)


def message(
    folder: Path, number: int, dimension: int, cells: Tensor | None = None, **header: str
) -> dict[str, Any]:
    """A message around zero, and what a certificate names it by; `cells` are lower ends of unit boxes."""
    lower = doubles(0, dimension) if cells is None else cells
    upper = lower + 1.0
    name = header.get("client", f"client-{number}")
    whole = {
        "format": "fedcert-message", "version": "2", "client": name, "law": "diagonal-gaussian",
        "examples": "1", "events": "cells", **header,
    }  # fmt: skip
    tensors = {
        "law.loc": doubles(dimension),
        "law.scale": doubles(dimension, value=1.0),
        "cells.lower": lower,
        "cells.upper": upper,
        "cells.log_mass": doubles(len(lower), value=-1e9),
        "cells.member": torch.ones(1, len(lower), dtype=torch.bool),
    }
    sealed = digest(whole, tensors)
    tensorfile.write(folder / f"{number}.safetensors", whole | {"digest": sealed}, tensors)
    return {"client": name, "digest": sealed}


def certificate(
    folder: Path,
    kind: str,
    events: str,
    widths: Sequence[int],
    witness: Tensors,
    messages: Sequence[dict[str, Any]],
) -> Path:
    """One property that always holds, claimed with a probability of almost nothing."""
    layers: list[dict[str, Any]] = []
    for inputs, outputs in pairwise(widths):
        layers += [{"type": "relu"}] if layers else []
        layers.append({"type": "linear", "inputs": inputs, "outputs": outputs})
    asked = {
        "lower": doubles(1, widths[0]),
        "upper": doubles(1, widths[0]),
        "C": doubles(1, 1, widths[-1]),
        "d": doubles(1, 1, value=1.0),
    }
    clients = len(messages)
    claim = {
        "kind": kind,
        "events": events,
        "rule": {"type": "linear", "name": "fedavg", "clients": clients},
        "network": layers,
        "messages": list(messages),
        "properties": digest({}, asked),
        "witness": digest({}, witness),
        "subject": None,
    }
    tensors = {
        "lower": doubles(1, value=1e-12),
        "rule.weights": doubles(clients, 1, value=1 / clients),
        **{f"properties.{name}": tensor for name, tensor in asked.items()},
        **{f"witness.{name}": tensor for name, tensor in witness.items()},
    }
    path = folder / "certificates" / "hostile.safetensors"
    write_container(path, claim, tensors)
    return path


def wide(folder: Path, width: int = 60_000) -> Path:
    """A file of 3 MB whose proof needs the square of the width."""
    dimension = 3 * width + 1
    witness = {
        "method": torch.zeros(1, dtype=torch.uint8),
        "ranges": doubles(1, 1, value=0.1),
        "movement": doubles(1, 2, value=0.1),
        "deviation": doubles(1, 2, value=0.1),
        "sign.0": torch.zeros(1, width, dtype=torch.int8),
        "tail.terms": torch.zeros(1, 1, dtype=torch.int32),
    }
    own = [message(folder / "messages", 0, dimension)]
    return certificate(folder, "direct", "projected", (1, width, 1), witness, own)


def fine_lattice(folder: Path, clients: int = 8) -> Path:
    """A lattice of the least radius, whose polynomials are longest."""
    witness = {
        "view": torch.ones(1, dtype=torch.uint8),
        "radius.tensor": torch.full((1, 2), 1 / 64, dtype=torch.float16),
        "radius.row": torch.full((1,), -1, dtype=torch.int32),
        "radius.parameter": torch.zeros(0, 2, dtype=torch.float16),
        "tiles.property": torch.zeros(0, dtype=torch.int32),
        "tiles.lower": doubles(0, clients, 2),
        "tiles.upper": doubles(0, clients, 2),
    }
    own = [message(folder / "messages", i, 2) for i in range(clients)]
    return certificate(folder, "transported", "box", (1, 1), witness, own)


def many_nodes(folder: Path, cells: int = 128) -> Path:
    """Hulls {k} × {2j, 2j + 1}: disjoint, and half of `cells` squared in number (8,192)."""
    place = torch.arange(cells, dtype=torch.float64)
    boxes = torch.stack([place - cells / 2, doubles(cells, value=-0.5)], 1)
    nodes = [(k, j, j + 1) for k in range(cells) for j in range(0, cells, 2)]
    ends = torch.tensor([[3 * t + 1, 3 * t + 3] for t in range(len(nodes))], dtype=torch.int32).reshape(-1)
    witness = {
        "nodes.property": torch.zeros(len(nodes), dtype=torch.int32),
        "nodes.cells": torch.tensor(nodes, dtype=torch.int32).reshape(-1),
        "nodes.offsets": torch.cat([torch.zeros(1, dtype=torch.int32), ends]),
    }
    own = [message(folder / "messages", i, 2, boxes) for i in range(2)]
    return certificate(folder, "transported", "cells", (1, 1), witness, own)


def many_tiles(folder: Path, tiles: int = 2000) -> Path:
    """Tiles that any two of have to be compared."""
    ends = torch.arange(tiles, dtype=torch.float64)[:, None, None].expand(tiles, 1, 2).contiguous()
    witness = {
        "view": torch.full((1,), 3, dtype=torch.uint8),
        "radius.tensor": torch.zeros(1, 2, dtype=torch.float16),
        "radius.row": torch.full((1,), -1, dtype=torch.int32),
        "radius.parameter": torch.zeros(0, 2, dtype=torch.float16),
        "tiles.property": torch.zeros(tiles, dtype=torch.int32),
        "tiles.lower": ends,
        "tiles.upper": ends + 1,
    }
    own = [message(folder / "messages", 0, 2)]
    return certificate(folder, "direct", "box", (1, 1), witness, own)


def nasty_client(folder: Path) -> Path:
    """A client whose name is markup, escape sequences and a line end."""
    return _nothing(folder, message(folder / "messages", 0, 2, client=NASTY))


def nasty_events(folder: Path) -> Path:
    """A message whose family of events has such a name."""
    return _nothing(folder, message(folder / "messages", 0, 2, events=NASTY))


def nasty_file(folder: Path) -> Path:
    """A sound certificate in a file of such a name."""
    path = _nothing(folder, message(folder / "messages", 0, 2))
    return path.rename(path.with_name(f"{NASTY.replace('/', '')}.safetensors"))


def corrupt_neighbour(folder: Path) -> Path:
    """A sound certificate, with files beside its message that are none."""
    path = _nothing(folder, message(folder / "messages", 0, 2))
    (folder / "messages" / "torn.safetensors").write_bytes(b"\x80\x04pickle")
    (folder / "messages" / "zcopy.safetensors").write_bytes(path.read_bytes())
    return path


def _nothing(folder: Path, own: dict[str, Any]) -> Path:
    """A claim by one box around the mean."""
    witness = {
        "view": torch.full((1,), 2, dtype=torch.uint8),
        "radius.tensor": torch.ones(1, 2, dtype=torch.float16),
        "radius.row": torch.full((1,), -1, dtype=torch.int32),
        "radius.parameter": torch.zeros(0, 2, dtype=torch.float16),
        "tiles.property": torch.zeros(0, dtype=torch.int32),
        "tiles.lower": doubles(0, 1, 2),
        "tiles.upper": doubles(0, 1, 2),
    }
    return certificate(folder, "direct", "box", (1, 1), witness, [own])


FILES: dict[str, Callable[[Path], Path]] = {
    "width 60,000": wide,
    "lattice of radius 1/64, 8 clients": fine_lattice,
    "lattice of radius 1/64, 32 clients": lambda folder: fine_lattice(folder, 32),
    "8,192 hull nodes": many_nodes,
    "client's name": nasty_client,
    "message's events": nasty_events,
    "file's name": nasty_file,
    "corrupt neighbour": corrupt_neighbour,
}
"""What `benchmarks/hostile_certificates.py` lets the checker loose on."""
