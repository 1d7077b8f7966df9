"""What is checked, as plain arrays: clients, rule, network, properties, bounds and witness."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from fedcert_check.laws import DiagonalGaussian, Law, diagonal
from fedcert_check.layers import Network
from fedcert_check.properties import Properties
from fedcert_check.rules import Rule
from fedcert_check.subject import Subject
from fedcert_check.validation import Array, require, shaped


@dataclass(frozen=True)
class Client:
    """A client's law and its cells.

    Attributes:
        name: the client's name.
        events: the family that its cells come from.
        law: of its parameters.
        lower: ℓ of each cell, of shape (M, n_w).
        upper: u ≥ ℓ of each cell.
        digest: of its message.
        examples: the number of examples that its message states, as it is written there.
    """

    name: str
    events: str
    law: Law
    lower: Array
    upper: Array
    digest: str = ""
    examples: str = ""


class Proved(NamedTuple):
    """What was proven of one property: lower ≤ Pr(safe) ≤ upper.

    Attributes:
        lower: rounded down.
        upper: rounded up; 1 where nothing is proven.
    """

    lower: float
    upper: float = 1.0

    def tighter(self, other: "Proved") -> "Proved":
        """The better of two bounds, on either side."""
        return Proved(max(self.lower, other.lower), min(self.upper, other.upper))


@dataclass(frozen=True)
class Document:
    """A certificate and all that it speaks about.

    Attributes:
        kind: local, transported or direct.
        events: the family of events.
        rule: A.
        network: f.
        clients: in the order of the rule's weights.
        properties: what is safe.
        lower: the claimed lower bounds, one for each property.
        upper: the claimed upper bounds, or None.
        witness: by name.
        skipped: a line for each file beside the messages that is not a message.
        subject: what the properties mean, where the certificate says so.
        only: the properties to prove, in order; None for all of them.
    """

    kind: str
    events: str
    rule: Rule
    network: Network
    clients: tuple[Client, ...]
    properties: Properties
    lower: Array
    upper: Array | None
    witness: dict[str, Array]
    skipped: tuple[str, ...] = ()
    subject: Subject | None = None
    only: tuple[int, ...] | None = None

    @property
    def dimension(self) -> int:
        """n_w, the number of parameters."""
        return self.network.dimension

    @property
    def laws(self) -> list[DiagonalGaussian]:
        """Of the clients, each one Gaussian with independent parameters; any other is refused."""
        for client in self.clients:
            count = len(client.law.components)
            require(
                count == 1,
                f"the law of {client.name!r} is a mixture of {count} Gaussians: this claim, as it was saved,"
                " has no proof for mixtures",
            )
        return [diagonal(client.law.components[0]) for client in self.clients]

    @property
    def asked(self) -> tuple[int, ...]:
        """The properties to prove, in order."""
        return tuple(range(len(self.properties))) if self.only is None else self.only

    def claim_follows(self, p: int, proved: Proved) -> bool:
        """Whether what is claimed of property p follows from what was proved of it."""
        below = bool(proved.lower >= self.lower[p])
        return below and (self.upper is None or bool(proved.upper <= self.upper[p]))

    def tensor(self, name: str, dtype: Any, *shape: int | None) -> Array:
        """A tensor of the witness, of this type and shape (None for any length)."""
        return shaped(f"witness.{name}", self.witness.get(name), dtype, *shape)
