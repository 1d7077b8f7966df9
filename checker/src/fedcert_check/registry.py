"""What this checker knows, by name: whatever else a file names is refused by that name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from fedcert_check.validation import quoted, require

T = TypeVar("T")


@dataclass(frozen=True)
class Registry(Generic[T]):
    """The things of one kind that this checker knows.

    Attributes:
        kind: what is looked up, for the error.
        known: the things, by name.
    """

    kind: str
    known: Mapping[str, T]

    def __getitem__(self, name: object) -> T:
        require(
            isinstance(name, str) and name in self.known,
            f"{self.kind} {quoted(name)}: this checker knows {' and '.join(self.known)}",
        )
        return self.known[str(name)]
