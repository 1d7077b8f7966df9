"""What is safe: batches of regions and linear constraints on the outputs."""

from dataclasses import dataclass

from fedcert_check.validation import Array


@dataclass(frozen=True)
class Properties:
    """C f(x) + d ≥ 0 for all x in [lower, upper], for each of P properties.

    Attributes:
        lower: of shape (P, p).
        upper: of shape (P, p).
        C: of shape (P, R, K).
        d: of shape (P, R).
    """

    lower: Array
    upper: Array
    C: Array
    d: Array

    def __len__(self) -> int:
        return len(self.d)
