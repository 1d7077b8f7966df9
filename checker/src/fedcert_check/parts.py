"""Claims that are made of claims about single clients, each of which is a document of its own."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from flint import arb

from fedcert_check.balls import ZERO, float_down, float_up
from fedcert_check.document import Document, Proved
from fedcert_check.rules import LinearRule
from fedcert_check.validation import Array, require


def alone(document: Document, client: int, prefix: str) -> Document:
    """The same claim about one client's own model, with one block of the witness.

    Args:
        document: the certificate.
        client: whose model.
        prefix: of the block's names.
    """
    witness = {n.removeprefix(prefix): t for n, t in document.witness.items() if n.startswith(prefix)}
    return replace(
        document,
        kind="transported" if document.kind == "local" else document.kind,
        rule=LinearRule(document.rule.name, np.ones((1, 1))),
        clients=(document.clients[client],),
        witness=witness,
    )


def pooled(document: Document) -> list[Document]:
    """For each client the claim about its own model that a claim under pooling was made from.

    The bounds that are claimed of a client say how far its proof is to go; what counts is what it proves.

    Args:
        document: a direct or a transported claim under pooling.
    """
    found = []
    joint = "+".join(sorted({client.events for client in document.clients}))
    for i, client in enumerate(document.clients):
        part = alone(document, i, f"client.{i}.")
        upper = None if document.upper is None else claimed(part, "claim.upper")
        cells = document.kind == "transported" and document.events == joint
        events = client.events if cells else document.events
        found.append(replace(part, lower=claimed(part, "claim.lower"), upper=upper, events=events))
    return found


def claimed(part: Document, name: str) -> Array:
    """The bounds of one client, each in [0, 1]."""
    bounds = part.tensor(name, np.float64, len(part.properties))
    require(bool(((bounds >= 0) & (bounds <= 1)).all()), f"witness.{name}: a bound outside [0, 1]")
    return bounds


def mixed(shares: Sequence[arb], found: Sequence[Sequence[Proved]]) -> list[Proved]:
    """Σ_i w_i L^(i) and Σ_i w_i U^(i), property by property.

    Args:
        shares: w, which sum to one.
        found: what was proved of each client's own model.
    """
    bounds = []
    for own in zip(*found, strict=True):
        below, above = (
            sum((w * arb(proved[side]) for w, proved in zip(shares, own, strict=True)), ZERO)
            for side in (0, 1)
        )
        bounds.append(Proved(max(0.0, float_down(below)), min(1.0, float_up(above))))
    return bounds
