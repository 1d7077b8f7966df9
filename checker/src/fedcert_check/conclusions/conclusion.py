"""One conclusion: a sentence, the number in it, and what it assumes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fedcert_check.validation import differing, quoted


@dataclass(frozen=True)
class Conclusion:
    """A statement that follows from proven bounds.

    Attributes:
        name: which statement it is, a plain name.
        rule: the name of the rule that is deployed.
        epsilon: the radius of the balls.
        value: the least probability or share, rounded down, or the number of inputs that the sentence
            states; 0 where the bounds are too small, None where such a statement is refused.
        upper: the most that it can be, rounded up; None where nothing is known.
        sentence: in words, every number rounded so that it holds.
        assumptions: what must hold beside the certificate.
    """

    name: str
    rule: str
    epsilon: float
    value: float | None
    upper: float | None
    sentence: str
    assumptions: tuple[str, ...]

    def entry(self) -> dict[str, Any]:
        """The conclusion as it is written to a JSON file."""
        return {
            "name": self.name,
            "rule": self.rule,
            "epsilon": self.epsilon,
            "value": self.value,
            "upper": self.upper,
            "sentence": self.sentence,
            "assumptions": list(self.assumptions),
        }


def verify(claimed: Mapping[str, Any], recomputed: Conclusion) -> str | None:
    """What a claimed conclusion says otherwise than the certificate; None if nothing.

    Nothing is tolerated. Balls of 128 bits give the same float and the same sentence on every machine,
    unless a bound lies within about 1e-37 of one that rounds otherwise.

    Args:
        claimed: an entry of a JSON file, as `Conclusion.entry` makes it.
        recomputed: from the bounds in the certificate.
    """
    expected = recomputed.entry()
    what = f"conclusion {recomputed.name} ({recomputed.rule}, radius {recomputed.epsilon!r})"
    if set(claimed) != set(expected):
        return f"{what} has the fields {quoted(sorted(map(str, claimed)))}, not {sorted(expected)}"
    for field, value in expected.items():
        said = claimed[field]
        if isinstance(said, bool) or said != value:
            ours, theirs = _apart(said, value)
            return f"{what}: {field} is {ours}, but {theirs} follows from the certificate"
    return None


def _apart(said: Any, value: Any) -> tuple[str, str]:
    """Two values of a field; of two lists of as many texts the first that differ."""
    if isinstance(said, list) and isinstance(value, list) and len(said) == len(value):
        pairs = (pair for pair in zip(said, value, strict=True) if pair[0] != pair[1])
        return differing(*next(pairs))
    return differing(said, value)
