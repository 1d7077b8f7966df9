"""Which properties to prove where all of them would take too long: some, drawn at random."""

import secrets
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Sample:
    """A number of properties of each certificate, drawn at random without replacement.

    A seed that the certificate's maker knew in advance would tell which properties are never looked at: the
    default comes from the operating system.

    Attributes:
        size: of properties of each certificate.
        seed: the same seed draws the same properties of a file of the same name.
    """

    size: int
    seed: int

    @staticmethod
    def of(size: int, seed: int | None = None) -> "Sample":
        """A sample with this seed, or with one from the operating system.

        Args:
            size: the number of properties of each certificate.
            seed: None for one that nobody knows in advance.
        """
        return Sample(size, secrets.randbits(64) if seed is None else seed)

    def choose(self, count: int, name: str) -> tuple[int, ...] | None:
        """The properties to look at, in order; None where that is all of them.

        Args:
            count: the number of properties.
            name: of the certificate's file.

        >>> Sample(2, 7).choose(2, "a") is None, len(Sample(2, 7).choose(9, "a"))
        (True, 2)
        """
        if count <= self.size:
            return None
        return tuple(sorted(Random(f"{self.seed} {name}").sample(range(count), self.size)))
