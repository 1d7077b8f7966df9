"""Cells: pairwise-disjoint boxes of one client, with their masses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from fedcert.errors import OverlappingCells, ShapeMismatch
from fedcert.families.disjoint import first_overlap
from fedcert.frozen import unchecked
from fedcert.laws import BoxMeasurable
from fedcert.numerics.box import Box, overlap
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.rounding import require_float64
from fedcert.progress import Tracker, silent
from fedcert.verify import Safe

BLOCK = 32  # maximum number of candidates verified in one call


@dataclass(frozen=True)
class Cells:
    """C_i: for each property a collection of pairwise-disjoint cells; a cell may serve several properties.

    Attributes:
        boxes: the cells H_k, of shape (M, n_w).
        log_mass: a lower bound of log p_k for each cell.
        member: which cells form the collection of property j; a single row applies to all properties.
            Any two cells of one row are disjoint, except for their faces.
    """

    boxes: Box
    log_mass: Float64[Tensor, "M"]
    member: Bool[Tensor, "P M"]

    def __post_init__(self) -> None:
        require_float64("the log masses of cells", self.log_mass)
        if (self.boxes.lower.dim(), self.log_mass.dim(), self.member.dim()) != (2, 1, 2):
            raise ShapeMismatch("cells need boxes (M, n_w), log masses (M,) and members (P, M)")
        if self.member.dtype != torch.bool:
            raise ShapeMismatch(f"members must be Booleans, not {self.member.dtype}")
        if not len(self.boxes) == len(self.log_mass) == self.member.shape[1]:
            raise ShapeMismatch(
                f"{len(self.boxes)} cells, {len(self.log_mass)} masses and"
                f" {self.member.shape[1]} columns of members"
            )
        pair = first_overlap(self.boxes, self.member)
        if pair is not None:
            raise OverlappingCells(f"cells {pair[0]} and {pair[1]} overlap: their masses cannot be added")

    @classmethod
    def shared(cls, boxes: Box, log_mass: Float64[Tensor, "M"]) -> "Cells":
        """Cells that serve every property."""
        everyone = torch.ones(1, len(boxes), dtype=torch.bool, device=log_mass.device)
        return cls(boxes, log_mass, everyone)

    @classmethod
    def none(cls, dimension: int) -> "Cells":
        """No cells at all."""
        nothing = torch.zeros(0, dimension, dtype=torch.float64)
        return cls.shared(Box.point(nothing), nothing.sum(-1))

    def __len__(self) -> int:
        return len(self.boxes)

    def to(self, device: torch.device | str) -> "Cells":
        """The same cells on another device; they are known to be disjoint, which is not checked again."""
        return unchecked(
            self,
            boxes=self.boxes.to(device),
            log_mass=self.log_mass.to(device),
            member=self.member.to(device),
        )

    def with_mass(self, log_mass: Float64[Tensor, "M"]) -> "Cells":
        """Copies of the same boxes with other masses; they are known to be disjoint and not checked again.

        Args:
            log_mass: a lower bound of log p_k for each cell.
        """
        require_float64("the log masses of cells", log_mass)
        if log_mass.shape != self.log_mass.shape:
            raise ShapeMismatch(f"{tuple(log_mass.shape)} masses for {len(self)} cells")
        boxes = Box(self.boxes.lower.clone(), self.boxes.upper.clone())
        return unchecked(self, boxes=boxes, log_mass=log_mass, member=self.member.clone())

    def members(self, properties: int) -> Bool[Tensor, "P M"]:
        """Which cells form the collection of each of this many properties."""
        if self.member.shape[0] not in (1, properties):
            raise ShapeMismatch(
                f"cells for {self.member.shape[0]} properties, but {properties} are to be certified"
            )
        return self.member.expand(properties, -1)

    def mass(self, accepted: Bool[Tensor, "P M"]) -> Float64[Tensor, "P"]:
        """A lower bound of Σ p_k over the accepted cells of each property's collection."""
        if accepted.dtype != torch.bool or accepted.shape[-1] != len(self):
            raise ShapeMismatch(f"{tuple(accepted.shape)} verdicts for {len(self)} cells")
        counted = accepted & self.members(len(accepted))
        masses = Enclosure.between(self.log_mass, self.log_mass).exp()
        return masses.where(counted, 0.0).sum().lower.clamp(min=0.0)


@runtime_checkable
class Candidates(Protocol):
    """A collection of boxes that may be computed on demand."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Int64[Tensor, " k"]) -> Box: ...

    def meeting(self, k: int) -> Bool[Tensor, "N"]:
        """Which candidates certainly share interior points with candidate k; some may be left out."""
        ...


def retain_disjoint(
    candidates: Candidates,
    order: Int64[Tensor, "N"],
    law: BoxMeasurable,
    safe: Safe | None,
    limit: int,
    usable: Bool[Tensor, "P N"] | None = None,
    track: Tracker = silent,
) -> Cells:
    """Greedy retention: each property takes the first candidates that are proven and disjoint.

    A candidate is verified only for the properties that can still use it. Retention only chooses cells; what
    a certificate relies on (masses, disjointness, safety) is computed for the cells that are returned.

    Args:
        candidates: N boxes.
        order: the order in which the candidates are considered, heaviest first.
        law: q, which gives the cells their masses.
        safe: screens candidates for each property; None keeps one collection for all properties.
        limit: the maximum number of cells per property.
        usable: which candidates are worth considering for each property; None for all.
        track: shows progress.
    """
    properties = 1 if safe is None else len(safe.properties)
    if usable is None:
        usable = torch.ones(properties, len(candidates), dtype=torch.bool, device=order.device)
    cells: list[Box] = []
    members: list[Tensor] = []
    count = torch.zeros(properties, dtype=torch.int64, device=order.device)
    usable = usable.clone()
    for block in track(_blocks(order, usable), "retaining cells"):
        boxes, free = candidates[block], usable[:, block]
        usable[:, block] = False
        for cell, member in zip(cells, members, strict=True):
            free &= ~(member.unsqueeze(1) & overlap(cell, boxes))
        wanted = free.any(-1)
        if safe is not None and wanted.any():
            free[wanted] &= safe.only(wanted)(boxes).mT
        for j in range(len(block)):
            takes = free[:, j]
            if takes.any():
                cells.append(boxes[j])
                members.append(takes.clone())
                count += takes
                free &= ~(takes.unsqueeze(1) & overlap(boxes[j], boxes)) & (count < limit).unsqueeze(1)
                usable[members[-1]] &= ~candidates.meeting(int(block[j]))
                usable[count >= limit] = False
    boxes = Box.stack(cells) if cells else candidates[order[:0]]
    member = torch.stack(members, dim=1) if members else torch.zeros_like(count[:, None][:, :0])
    return Cells(boxes, law.log_mass(boxes), member.bool())


def _blocks(order: Int64[Tensor, "N"], usable: Bool[Tensor, "P N"]) -> Iterator[Int64[Tensor, " k"]]:
    """The next candidates in order that some property can still use: one, two, four, … at a time."""
    size = 1
    while (left := order[usable[:, order].any(0)]).numel():
        yield left[:size]
        size = min(2 * size, BLOCK)
