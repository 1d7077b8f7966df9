"""Certificates of `projected` events, proven again in balls from the witness's choices."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from flint import arb, ctx

from fedcert_check.balls import ONE, ZERO, float_down, float_up
from fedcert_check.document import Document, Proved
from fedcert_check.parallel import over_properties
from fedcert_check.progress import Tracker
from fedcert_check.projected.chain import ChainChoices, chained_violation
from fedcert_check.projected.exact import Choices, Region, TailChoice, violation
from fedcert_check.projected.inversion import MAX_TERMS
from fedcert_check.projected.layers import RandomLayer, Unproven, deployed, own, shares
from fedcert_check.projected.tails import MAX_CELLS, Projections
from fedcert_check.validation import Array, require

PRECISIONS = (64, 128, 256)
"""Bits: what is not proved is tried again with more."""
EXACT, CONDITIONAL, STATIC = 0, 1, 2
"""The methods that a witness may choose for a property, by the numbers of its tensor `method`."""


def prove(document: Document, jobs: int, track: Tracker) -> list[Proved]:
    """What holds of each property.

    Args:
        document: a certificate of projected events.
        jobs: number of processes.
        track: shows progress.
    """
    kinds: dict[str, Callable[[Document, Sequence[int]], list[Proved]]] = {
        "local": _local,
        "direct": _direct,
        "transported": _transported,
    }
    require(document.kind != "local" or document.upper is None, "a local claim has no upper bound")
    return over_properties(partial(_precisely, kinds[document.kind], document), document, jobs, track)


def _precisely(
    function: Callable[[Document, Sequence[int]], list[Proved]], document: Document, properties: Sequence[int]
) -> list[Proved]:
    """The best of what is proved with ever more bits, until all that is claimed is proved."""
    found = dict.fromkeys(properties, Proved(0.0, 1.0))
    open_ones = list(properties)
    for bits in PRECISIONS:
        with ctx.workprec(bits):
            tried = function(document, open_ones)
        found |= {p: found[p].tighter(own) for p, own in zip(open_ones, tried, strict=True)}
        open_ones = [p for p in open_ones if not document.claim_follows(p, found[p])]
        if not open_ones:
            break
    return list(found.values())


def _direct(document: Document, properties: Sequence[int]) -> list[Proved]:
    """L and U under the deployed law."""
    layers, witness = deployed(document), _Witness(document, "")
    method = document.tensor("method", np.uint8, len(document.properties))
    found = []
    for p in properties:
        if document.lower[p] == 0:
            safe = 0.0  # claims nothing
        elif method[p] == EXACT:
            safe = _safe(violation, layers, region(document, p), witness.choices(p))
        else:
            chain = _Witness(document, "chain.").chain(p, int(method[p]))
            safe = _safe(chained_violation, layers, [layers], region(document, p), chain, Projections(0))
        trivial = document.upper is None or document.upper[p] == 1
        found.append(Proved(safe, 1.0 if trivial else _upper(document, layers, p)))
    return found


def _upper(document: Document, layers: Sequence[RandomLayer], p: int) -> float:
    """U: the network is unsafe if it violates one constraint at one point of the region."""
    count, inputs = document.properties.lower.shape
    point = document.tensor("upper.point", np.float64, count, inputs)[p]
    r = int(document.tensor("upper.constraint", np.int32, count)[p])
    own = document.properties
    require(
        bool(((own.lower[p] <= point) & (point <= own.upper[p])).all()),
        "an attack point is outside its region",
    )
    require(0 <= r < own.d.shape[1], f"upper.constraint is {r}: no constraint has this index")
    if not own.C[p, r].any():
        return 1.0 if own.d[p, r] >= 0 else 0.0
    negated = Region.of(point, point, -own.C[p], -own.d[p])
    try:
        tails, events = violation(layers, negated, _Witness(document, "upper.").choices(p), only=r)
    except Unproven:
        return 1.0
    unsafe = tails[0] + events
    return min(1.0, float_up(unsafe)) if unsafe.is_finite() else 1.0


def _local(document: Document, properties: Sequence[int]) -> list[Proved]:
    """The mean over the clients of the bounds of their own models."""
    totals = [ZERO for _ in properties]
    for i in range(len(document.clients)):
        layers, witness = own(document, i), _Witness(document, f"client.{i}.")
        for k, p in enumerate(properties):
            totals[k] += arb(_safe(violation, layers, region(document, p), witness.choices(p)))
    return [Proved(max(0.0, float_down(total / len(document.clients)))) for total in totals]


def _transported(document: Document, properties: Sequence[int]) -> list[Proved]:
    """L from cells of the clients' projections."""
    layers, clients, witness = deployed(document), shares(document), _Witness(document, "")
    count = len(document.properties)
    method = document.tensor("method", np.uint8, count)
    projections = Projections(int(document.tensor("cells", np.int32, 1)[0]))
    require(
        0 <= projections.cells <= MAX_CELLS,
        f"{projections.cells} cells for each client, not from 0 to {MAX_CELLS}",
    )
    found = []
    for p in properties:
        chain = witness.chain(p, int(method[p]))
        found.append(
            Proved(_safe(chained_violation, layers, clients, region(document, p), chain, projections))
        )
    return found


def region(document: Document, p: int) -> Region:
    """One property."""
    own = document.properties
    return Region.of(own.lower[p], own.upper[p], own.C[p], own.d[p])


def _safe(violated: Callable[..., tuple[list[arb], arb]], *given: object) -> float:
    """1 − Σ tails − events, rounded down; 0 where something could not be proven."""
    try:
        tails, events = violated(*given)
    except Unproven:
        return 0.0
    safe = ONE - sum(tails, events)
    return max(0.0, float_down(safe)) if safe.is_finite() else 0.0


class _Witness:
    """The choices of each property, read by name."""

    def __init__(self, document: Document, prefix: str) -> None:
        self.document, self.prefix = document, prefix
        self.widths = document.network.widths[1:]

    def _floats(self, name: str, p: int, columns: int) -> Array:
        count = len(self.document.properties)
        return self.document.tensor(self.prefix + name, np.float64, count, columns)[p]

    def _float(self, name: str, p: int) -> float:
        return float(self.document.tensor(self.prefix + name, np.float64, len(self.document.properties))[p])

    def _signs(self, p: int) -> list[Array]:
        count = len(self.document.properties)
        signs = [
            self.document.tensor(f"{self.prefix}sign.{place}", np.int8, count, width)[p]
            for place, width in enumerate(self.widths[:-1])
        ]
        require(all(bool(np.isin(sign, (-1, 0, 1)).all()) for sign in signs), "a sign is not −1, 0 or 1")
        return signs

    def _slopes(self, name: str, p: int, start: int) -> list[Array]:
        slopes = [
            self._floats(f"{name}.{place}", p, self.widths[place])
            for place in range(start, len(self.widths) - 1)
        ]
        require(all(bool(((s >= 0) & (s <= 1)).all()) for s in slopes), "a slope is outside [0, 1]")
        return slopes

    def choices(self, p: int) -> Choices:
        """Those of the method with the first layer's law exact."""
        layers, hidden = len(self.widths), max(1, len(self.widths) - 1)
        ranges = self._floats("ranges", p, hidden)
        movement, deviation = (self._floats(name, p, layers) for name in ("movement", "deviation"))
        for failures in (ranges, movement, deviation):
            require(bool(((failures > 0) & (failures < 1)).all()), "a failure probability outside (0, 1)")
        deep = range(1, layers - 1)
        return Choices(
            ranges,
            movement,
            deviation,
            self._signs(p),
            self._slopes("below", p, 1),
            self._slopes("slope", p, 1),
            [self._floats(f"rate.{place}", p, 2 * self.widths[place]) for place in deep],
            [self._floats(f"mean_rate.{place}", p, self.widths[place]) for place in deep],
            self._tails(p),
        )

    def _tails(self, p: int) -> list[TailChoice]:
        """How each constraint's tail is bounded; a network of one layer needs no choice."""
        count, constraints = self.document.properties.d.shape
        if len(self.widths) == 1:
            return [TailChoice(0.0, 0.0, 0.0, 0)] * constraints
        names = ("tail.rate", "tail.centre", "tail.spread")
        numbers = [self._floats(name, p, constraints).tolist() for name in names]
        terms = self.document.tensor(f"{self.prefix}tail.terms", np.int32, count, constraints)[p]
        require(
            bool(((terms >= 0) & (terms <= MAX_TERMS)).all()), f"tail.terms is not between 0 and {MAX_TERMS}"
        )
        return [TailChoice(*own) for own in zip(*numbers, terms.tolist(), strict=True)]

    def chain(self, p: int, method: int) -> ChainChoices:
        """Those of the methods in which every ReLU is a line."""
        require(method in (CONDITIONAL, STATIC), f"method is {method}, not {CONDITIONAL} or {STATIC}")
        failure = self._float("failure", p)
        require(0 < failure < 1, "a failure probability outside (0, 1)")
        hidden = range(len(self.widths) - 1)
        return ChainChoices(
            method == STATIC,
            self._float("kappa", p),
            failure,
            self._signs(p),
            self._slopes("below", p, 0),
            self._slopes("slope", p, 0),
            self._floats("step", p, self.document.properties.d.shape[1]),
            [self._floats(f"reference.{place}", p, self.widths[place]) for place in hidden],
        )
