"""The transported certificate: Theorem 1 and Algorithm 1."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from fedcert.certificate import Certificate, Claim
from fedcert.errors import ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.numerics.enclosure import Enclosure
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule
from fedcert.search import Search
from fedcert.verify import BATCH_ELEMENTS, Safe
from fedcert.witness import Witness


def certify_transported(
    cells: Sequence[Cells],
    rule: AggregationRule,
    safe: Safe,
    search: Search,
    budget: int,
    events: str,
    track: Tracker = silent,
) -> Certificate:
    """L = Σ_{k : SAFE(G_k)} Π_i p_{i,k_i} ≤ Pr(A(Θ_1, …, Θ_n) ∈ S) (eq. transported_certificate).

    Sound because (1) the cells of one client's collection are disjoint, so the events
    E_k = {Θ_i ∈ H_{i,k_i} for all i} of distinct tuples are disjoint; (2) Pr(E_k) = Π p_{i,k_i} for
    independent clients; (3) on E_k the deployed parameters lie in G_k ⊇ A(Π H_{i,k_i}), all of which is
    proven safe. Any set of tuples is sound, so search and budget are free; a repeated tuple counts once.

    Args:
        cells: C_i, each client's cells and masses.
        rule: A, the deployed rule.
        safe: SAFE, the verifier and the properties.
        search: the order in which tuples are tried.
        budget: B, the maximum number of tuples tried per property.
        events: the name of the family that the cells come from.
        track: shows progress.
    """
    if len(cells) != rule.clients:
        raise ShapeMismatch(f"cells of {len(cells)} clients, a rule for {rule.clients}")
    total = torch.zeros(len(safe.properties), dtype=torch.float64, device=cells[0].log_mass.device)
    tuples_found = [torch.zeros(0, len(cells), dtype=torch.int32, device=total.device)]
    accepted = [torch.zeros(0, len(total), dtype=torch.bool, device=total.device)]
    for selected, indices in track(_collections(cells, len(safe.properties)), "transporting cells"):
        masses = [own.log_mass[i] for own, i in zip(cells, indices, strict=True)]
        tuples = distinct(islice(search([m.tolist() for m in masses]), budget), [len(m) for m in masses])
        for batch in batched(tuples, max(1, BATCH_ELEMENTS // cells[0].boxes.shape[-1])):
            ranks = torch.tensor(batch, device=total.device).unbind(-1)
            places = [i[k] for i, k in zip(indices, ranks, strict=True)]
            image = rule.image([own.boxes[k] for own, k in zip(cells, places, strict=True)])
            proven = safe.only(selected)(image)
            claimed = torch.stack([m[k] for m, k in zip(masses, ranks, strict=True)], dim=-1)
            mass = Enclosure.between(claimed, claimed).sum().exp()
            gained = mass.where(proven.mT, 0.0).sum() + total[selected]
            total[selected] = gained.lower.clamp(min=0.0)
            useful = proven.any(-1)
            tuples_found.append(torch.stack(places, dim=-1)[useful].int())
            accepted.append(_on_all_properties(proven[useful], selected))
    witness = Witness({"tuples": torch.cat(tuples_found), "accepted": torch.cat(accepted)})
    return Certificate(Claim("transported", rule.name, events), total.clamp(max=1.0), witness=witness)


def _on_all_properties(
    proven: Bool[Tensor, "T selected"], selected: Bool[Tensor, "P"]
) -> Bool[Tensor, "T P"]:
    """Verdicts on the selected properties as verdicts on all; nothing is proven about the others."""
    verdicts = torch.zeros(len(proven), len(selected), dtype=torch.bool, device=proven.device)
    verdicts[:, selected] = proven
    return verdicts


def _collections(
    cells: Sequence[Cells], properties: int
) -> list[tuple[Bool[Tensor, "P"], list[Int64[Tensor, " m"]]]]:
    """Groups of properties for which every client has the same collection, with those collections.

    Properties for which some client has no cell are left out: they have no tuple.
    """
    if not all(len(own) for own in cells):
        return []
    members = [own.members(properties) for own in cells]
    patterns, group = torch.cat(members, dim=1).unique(dim=0, return_inverse=True)
    found = []
    for g in range(len(patterns)):
        selected = group == g
        representative = int(selected.nonzero()[0])
        indices = [member[representative].nonzero().squeeze(-1) for member in members]
        if all(len(i) for i in indices):
            found.append((selected, indices))
    return found


def distinct(tuples: Iterable[tuple[int, ...]], sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The tuples without repetitions; an index outside its client's cells raises."""
    seen: set[int] = set()
    for k in tuples:
        if len(k) != len(sizes) or not all(0 <= i < size for i, size in zip(k, sizes, strict=True)):
            raise ShapeMismatch(f"the search gave {k} for clients with {list(sizes)} cells")
        number = 0
        for i, size in zip(k, sizes, strict=True):
            number = number * size + i
        if number not in seen:
            seen.add(number)
            yield k


def batched(items: Iterable[tuple[int, ...]], size: int) -> Iterator[list[tuple[int, ...]]]:
    """The items in lists of at most `size`, made on demand."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
