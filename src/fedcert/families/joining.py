"""Certificates of some properties each, joined into one of all of them.

The tables of a witness have one row for each property, or rows that others count: what counts properties or
rows is moved on by the number of those before.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from fedcert.certificate import Certificate
from fedcert.errors import ShapeMismatch
from fedcert.witness import Witness

Tables = Mapping[str, Tensor]
COUNTERS: dict[str, Callable[[str, Tables, int], int]] = {
    "nodes.property": lambda name, tables, properties: properties,
    "tiles.property": lambda name, tables, properties: properties,
    "nodes.row": lambda name, tables, properties: int(tables[name].max()) + 1 if len(tables[name]) else 0,
    "nodes.offsets": lambda name, tables, properties: int(tables[name][-1]),
    "radius.row": lambda name, tables, properties: len(tables[name.removesuffix("row") + "parameter"]),
}
"""Tables of numbers that count something, by the end of their names, and how much of it a part has."""
SETTINGS = ("boxes", "cells")
"""Single numbers, the same for all properties."""


def join_certificates(parts: Sequence[Certificate]) -> Certificate:
    """The certificate of all properties, from certificates of the first ones, the next ones, and so on.

    Args:
        parts: certificates of one claim.
    """
    first, *others = parts
    if not others:
        return first
    if any(part.claim != first.claim for part in others):
        raise ShapeMismatch(f"certificates of several claims: {sorted({str(part.claim) for part in parts})}")
    uppers = [part.upper for part in parts if part.upper is not None]
    witnesses = [part.witness.tensors for part in parts if part.witness is not None]
    if len(uppers) not in (0, len(parts)) or len(witnesses) not in (0, len(parts)):
        raise ShapeMismatch(f"{first.claim}: some parts have upper bounds or witnesses, and others none")
    counts = [len(part.lower) for part in parts]
    return Certificate(
        first.claim,
        torch.cat([part.lower.cpu() for part in parts]),
        torch.cat([upper.cpu() for upper in uppers]) if uppers else None,
        Witness(_joined(witnesses, counts)) if witnesses else None,
    )


def _joined(parts: Sequence[Tables], counts: Sequence[int]) -> dict[str, Tensor]:
    names = dict.fromkeys(name for tables in parts for name in tables)
    return {name: _table(name, parts, counts) for name in names}


def _table(name: str, parts: Sequence[Tables], counts: Sequence[int]) -> Tensor:
    """One table of all properties."""
    like = next(tables[name] for tables in parts if name in tables).cpu()
    if name.rpartition(".")[2] in SETTINGS:
        if any(not torch.equal(tables[name].cpu(), like) for tables in parts):
            raise ShapeMismatch(f"{name}: the parts of a certificate were made with different settings")
        return like
    own = [
        tables[name].cpu() if name in tables else _absent(name, like, tables, count)
        for tables, count in zip(parts, counts, strict=True)
    ]
    counter = next((count for end, count in COUNTERS.items() if name.endswith(end)), None)
    if counter is None:
        return torch.cat(own)
    passed = [0, *accumulate(counter(name, *part) for part in zip(parts, counts, strict=True))][:-1]
    moved = [
        torch.where(table >= 0, table + before, table) for table, before in zip(own, passed, strict=True)
    ]
    if name.endswith("offsets"):
        moved = [moved[0], *(table[1:] for table in moved[1:])]
    return torch.cat(moved).to(like.dtype)


def _absent(name: str, like: Tensor, tables: Tables, count: int) -> Tensor:
    """The rows of a part that did not need a table: no choices; of regions that stay whole, one piece."""
    if name.endswith("pieces.counts"):
        return like.new_ones((count, *like.shape[1:]))
    if ".pieces." in f".{name}":  # one row a piece, and there is none
        return like.new_zeros((0, *like.shape[1:]))
    block = name.rpartition("chain.")[0] if "chain." in name else ""
    rows = tables.get(f"{block}nodes.row")
    number = count if rows is None else int(rows.max()) + 1 if len(rows) else 0
    return like.new_zeros((number, *like.shape[1:]))
