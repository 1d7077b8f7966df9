"""What is wrong with a run: one line each, which names file and field."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from fedcert_check.visible import visible


@dataclass(frozen=True)
class Finding:
    """A claim of a run's files that does not follow from its certificates.

    Attributes:
        file: that makes the claim, relative to the run's folder.
        place: the field, row or element; empty for the whole file.
        says: what is wrong with it.
        where: the file that it does not agree with, if `says` does not end with it.
    """

    file: str
    place: str
    says: str
    where: str = ""

    @property
    def complaint(self) -> str:
        """What is wrong, and where that can be seen."""
        return f"{self.says} in {self.where}" if self.where else self.says

    @property
    def line(self) -> str:
        """File, place and complaint, safe to print."""
        where = f"{self.file}: {self.place}" if self.place else self.file
        return visible(f"{where}: {self.complaint}")


def merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The same findings, those that differ only in where they can be seen as one.

    Args:
        findings: of any number of files.
    """
    groups: dict[Finding, list[str]] = {}
    for own in findings:
        groups.setdefault(replace(own, where=""), []).append(own.where)
    for own, places in groups.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 and places[0] else ""
        yield replace(own, where=f"{places[0]}{more}")
