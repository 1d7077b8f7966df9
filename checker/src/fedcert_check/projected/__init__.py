"""Certificates of `projected` events, proven again in balls from the witness's choices."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from flint import arb, ctx

from fedcert_check.balls import ONE, ZERO, float_down, float_up
from fedcert_check.document import Document, Proved
from fedcert_check.parallel import over_properties
from fedcert_check.progress import Tracker
from fedcert_check.projected.block_laws import AnyGaussian
from fedcert_check.projected.boxes import LEAST_BITS, MOST_BITS, Grid
from fedcert_check.projected.chain import chained_violation
from fedcert_check.projected.exact import Choices, Region, violation
from fedcert_check.projected.laws import deployed, own, shares
from fedcert_check.projected.layers import Unproven
from fedcert_check.projected.mixtures import Kept, Side, above, below, bounded, has_nodes, read_entries
from fedcert_check.projected.overlap import counted_twice
from fedcert_check.projected.pieces import first_rows, pieces
from fedcert_check.projected.ranges import ChainChoices
from fedcert_check.projected.stack import Stack
from fedcert_check.projected.tails import MAX_CELLS, Projections
from fedcert_check.projected.witness import EXACT, PIECES, Witness
from fedcert_check.rules import linear
from fedcert_check.validation import require

PRECISIONS = (64, 128, 256)
"""Bits: what is not proved is tried again with more."""
Violated = tuple[Sequence[arb], arb]
"""Upper bounds of each constraint's tail, and of the probability that some event fails."""
Prove = Callable[[Document, Sequence[int], bool, Kept], list[Proved]]


def prove(document: Document, jobs: int, track: Tracker) -> list[Proved]:
    """What holds of each property.

    Args:
        document: a certificate of projected events.
        jobs: number of processes.
        track: shows progress.
    """
    kinds: dict[str, Prove] = {"local": _local, "direct": _direct, "transported": _transported}
    require(document.kind != "local" or document.upper is None, "a local claim has no upper bound")
    proof = partial(_precisely, kinds[document.kind], document, Kept(document))
    return over_properties(proof, document, jobs, track)


def _precisely(function: Prove, document: Document, kept: Kept, properties: Sequence[int]) -> list[Proved]:
    """The best of what is proved with ever more bits, until all that is claimed is proved."""
    found = dict.fromkeys(properties, Proved(0.0, 1.0))
    open_ones = list(properties)
    at_once = [(PRECISIONS[0], True)] if any_hulls(document) else []  # nodes, before their tuples one by one
    for bits, hulls in [*at_once, *((bits, False) for bits in PRECISIONS)]:
        with ctx.workprec(bits):
            tried = function(document, open_ones, hulls, kept)
        found |= {p: found[p].tighter(own) for p, own in zip(open_ones, tried, strict=True)}
        open_ones = [p for p in open_ones if not document.claim_follows(p, found[p])]
        if not open_ones:
            break
    return list(found.values())


def any_hulls(document: Document) -> bool:
    """Whether some node of the witness has more than one tuple."""
    sizes = {name: len(tensor) for name, tensor in document.witness.items() if tensor.ndim == 1}
    return any(
        name.endswith("nodes.components")
        and size + 1 > sizes.get(name.removesuffix("components") + "offsets", 0)
        for name, size in sizes.items()
    )


def _direct(document: Document, properties: Sequence[int], hulls: bool, kept: Kept) -> list[Proved]:
    """L and U under the deployed law."""
    laws, count = [client.law for client in document.clients], len(document.properties)
    attacks = Witness(document, "upper.", None if has_nodes(document, "upper.") else count)

    chosen = Witness(document, "", None if has_nodes(document) else count)

    def safe(stack: Stack, p: int, row: int) -> float:
        return _complement_of(deployed_violation, chosen, stack, region(document, p), row)

    def not_unsafe(stack: Stack, p: int, row: int) -> float:
        return _upper(document, stack, p, attacks, row)

    entries = read_entries(document, "", laws)
    sides = [Side({p: entries[p] for p in properties if document.lower[p] > 0}, safe)]
    claimed = [] if document.upper is None else [p for p in properties if document.upper[p] < 1]
    if claimed:
        entries = read_entries(document, "upper.", laws)
        sides.append(Side({p: entries[p] for p in claimed}, not_unsafe))
    lowers, *uppers = bounded(laws, partial(deployed, document), sides, hulls, kept)
    highest = {p: above(parts) for found in uppers for p, parts in found.items()}
    return [Proved(below(lowers[p]) if p in lowers else 0.0, highest.get(p, 1.0)) for p in properties]


def deployed_violation(witness: Witness, stack: Stack, asked: Region, row: int) -> Violated:
    """The tails and the events of the method that a row of the witness names, under the deployed law."""
    method = witness.method(row)
    if method == EXACT:
        return _exactly(stack, asked, witness.choices(row))
    if method == PIECES:
        return _over_pieces(witness.document, stack, asked, row)
    chosen = witness.under("chain.").chain(row, method)
    return _chained(stack, [stack], asked, chosen, Projections(0))


def _over_pieces(document: Document, stack: Stack, asked: Region, p: int) -> Violated:
    """The tails and the events of all pieces of a region."""
    require(not has_nodes(document), "regions of a mixture are not cut into pieces")
    witness, first = Witness(document, "pieces.", None), int(first_rows(document)[p])
    tails, events = list[arb](), ZERO
    for place, piece in enumerate(pieces(document, p, asked)):
        own, price = _exactly(stack, piece, witness.choices(first + place))
        tails, events = [*tails, *own], events + price
    return tails, events


def _upper(document: Document, stack: Stack, p: int, witness: Witness, row: int) -> float:
    """U: the network is unsafe if it violates one constraint at one point of the region."""
    point, r, own = witness.point(row), witness.constraint(row), document.properties
    require(
        bool(((own.lower[p] <= point) & (point <= own.upper[p])).all()),
        "an attack point is outside its region",
    )
    if not own.C[p, r].any():
        return 1.0 if own.d[p, r] >= 0 else 0.0
    try:
        negated = stack.region(Region.of(point, point, -own.C[p], -own.d[p]))
        if stack.dependent:
            chosen = witness.under("chain.").chain(row, witness.method(row))
            tails, events = chained_violation(
                stack.layers, [stack.layers], negated, chosen, Projections(0), stack.rectified
            )
            unsafe = tails[r] + events
        else:
            tails, events = violation(stack.layers, negated, witness.choices(row), only=r)
            unsafe = tails[0] + events
    except Unproven:
        return 1.0
    return min(1.0, float_up(unsafe)) if unsafe.is_finite() else 1.0


def _local(document: Document, properties: Sequence[int], hulls: bool, kept: Kept) -> list[Proved]:
    """The mean over the clients of the bounds of their own models."""
    totals = dict.fromkeys(properties, ZERO)
    for i, client in enumerate(document.clients):
        prefix = f"client.{i}."
        witness = Witness(document, prefix, None if has_nodes(document, prefix) else len(document.properties))
        entries = read_entries(document, prefix, [client.law])

        def safe(stack: Stack, p: int, row: int, witness: Witness = witness) -> float:
            if stack.dependent:
                chosen = witness.under("chain.").chain(row, witness.method(row))
                return _complement_of(_chained, stack, [stack], region(document, p), chosen, Projections(0))
            return _complement_of(_exactly, stack, region(document, p), witness.choices(row))

        side = Side({p: entries[p] for p in properties}, safe)
        (found,) = bounded([client.law], lambda laws: own(document, laws[0]), [side], hulls, kept, prefix)
        for p, parts in found.items():
            totals[p] += arb(below(parts))
    return [Proved(max(0.0, float_down(total / len(document.clients)))) for total in totals.values()]


def _transported(document: Document, properties: Sequence[int], hulls: bool, kept: Kept) -> list[Proved]:
    """L from boxes of the clients' parameters, or from cells of their projections."""
    laws = [client.law for client in document.clients]
    witness = Witness(document, "", None if has_nodes(document) else len(document.properties))
    entries = read_entries(document, "", laws)
    of_boxes = "boxes" in document.witness
    build, safe = (_of_boxes if of_boxes else _of_cells)(document, witness)
    (found,) = bounded(laws, build, [Side({p: entries[p] for p in properties}, safe)], hulls, kept)
    return [Proved(below(found[p])) for p in properties]


def _of_boxes(document: Document, witness: Witness) -> tuple[Callable[..., Any], Callable[..., float]]:
    """What is built of each tuple of laws, and what is then proved: boxes."""
    linear(document.rule)  # only a linear rule has images of boxes; any other is refused
    bits = int(document.tensor("boxes", np.int32, 1)[0])
    require(LEAST_BITS <= bits <= MOST_BITS, f"boxes of {bits} bits, not from {LEAST_BITS} to {MOST_BITS}")

    def build(drawn: Sequence[AnyGaussian]) -> tuple[Stack, Grid]:
        stack = deployed(document, drawn)
        return stack, Grid.of(stack.layers, bits)

    def safe(built: tuple[Stack, Grid], p: int, row: int) -> float:
        return _complement_of(_of_images, witness, *built, region(document, p), row)

    return build, safe


def _of_images(witness: Witness, stack: Stack, grid: Grid, asked: Region, row: int) -> Violated:
    """The tails and the events of margins that all networks of an image share."""
    lowered = grid.tightened(stack.region(asked)).d
    tails, events = deployed_violation(witness, stack, replace(asked, d=lowered), row)
    return tails, events + grid.missed


def _of_cells(document: Document, witness: Witness) -> tuple[Callable[..., Any], Callable[..., float]]:
    """What is built of each tuple of laws, and what is then proved: cells."""
    projections = Projections(int(document.tensor("cells", np.int32, 1)[0]))
    require(
        0 <= projections.cells <= MAX_CELLS,
        f"{projections.cells} cells for each client, not from 0 to {MAX_CELLS}",
    )

    def build(drawn: Sequence[AnyGaussian]) -> tuple[Stack, list[Stack]]:
        return deployed(document, drawn), shares(document, drawn)

    def safe(built: tuple[Stack, list[Stack]], p: int, row: int) -> float:
        chain = witness.chain(row, witness.method(row))
        return _complement_of(_chained, *built, region(document, p), chain, projections)

    return build, safe


def region(document: Document, p: int) -> Region:
    """One property."""
    own = document.properties
    return Region.of(own.lower[p], own.upper[p], own.C[p], own.d[p])


def _chained(
    stack: Stack,
    clients: Sequence[Stack],
    asked: Region,
    choices: ChainChoices,
    projections: Projections,
) -> Violated:
    """The tails and the events with every ReLU a line, less what the tails count twice."""
    shares, asked = [own.layers for own in clients], stack.region(asked)
    tails, events = chained_violation(stack.layers, shares, asked, choices, projections, stack.rectified)
    if choices.shared is None:
        return tails, events
    return tails, events - counted_twice(stack.layers, asked, stack.rectified, choices.shared)


def _exactly(stack: Stack, asked: Region, choices: Choices) -> Violated:
    """Those with the first layer's law exact; nothing is proven where its neurons are not independent."""
    if stack.dependent:
        raise Unproven("the first layer's law is not that of independent neurons")
    return violation(stack.layers, stack.region(asked), choices)


def _complement_of(violated: Callable[..., Violated], *given: object) -> float:
    """1 − Σ tails − events, rounded down; 0 where something could not be proven."""
    try:
        tails, events = violated(*given)
    except Unproven:
        return 0.0
    safe = ONE - sum(tails, events)
    return max(0.0, float_down(safe)) if safe.is_finite() else 0.0
