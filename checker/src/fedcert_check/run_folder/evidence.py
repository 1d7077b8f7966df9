"""What the certificates and confidence bounds of a run's folder say, against which all else is held."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fedcert_check.document import Client, Document
from fedcert_check.layers import Network
from fedcert_check.rules import Rule
from fedcert_check.run_folder.stated import Row
from fedcert_check.subject import Subject
from fedcert_check.validation import Array

CERTIFICATES = "certificates"
CONFIDENCE = "confidence"
SUFFIX = ".safetensors"


@dataclass(frozen=True)
class PerProperty:
    """The bounds of one file, property by property.

    Attributes:
        subject: what the properties are.
        lower: bounds from below.
        upper: bounds from above; None where there are none.
    """

    subject: Subject
    lower: Array
    upper: Array | None


@dataclass(frozen=True)
class Source:
    """What one file speaks about, whether it is a certificate or a confidence bound.

    Attributes:
        rule: A.
        network: f.
        clients: in the order of the rule's weights; None where the file states their laws itself.
        subject: what the properties are; None where the file does not say.
        lower: bounds from below, one for each property.
        upper: bounds from above; None where there are none.
    """

    rule: Rule
    network: Network
    clients: Sequence[Client] | None
    subject: Subject | None
    lower: Array
    upper: Array | None


@dataclass(frozen=True)
class Evidence:
    """The certificates and confidence bounds of a run.

    Attributes:
        certificates: those that could be read, by file name.
        files: the names of all files in the folder of certificates, also of those that could not be read.
        confidence: the confidence bounds that could be read, by file name.
        confidence_files: the names of all files in their folder.
    """

    certificates: dict[str, Document]
    files: frozenset[str] = field(default_factory=frozenset)
    confidence: dict[str, Source] = field(default_factory=dict)
    confidence_files: frozenset[str] = field(default_factory=frozenset)

    @property
    def unread(self) -> list[str]:
        """The certificates that could not be read: each of them is refused, and so is the run."""
        return sorted(name for name in self.files - self.certificates.keys() if name.endswith(SUFFIX))

    def of(self, row: Row) -> PerProperty | None:
        """The bounds of the file that a claim names; None where it is missing or says too little.

        Args:
            row: the claim.
        """
        if row.claim == CONFIDENCE:
            own = self.confidence.get(row.certificate)
        else:
            document = self.certificates.get(row.certificate)
            own = None if document is None else _source(document)
        if own is None or own.subject is None:
            return None
        return PerProperty(own.subject, own.lower, own.upper)

    def sources(self) -> Iterator[tuple[str, Source]]:
        """All files with their paths in the folder."""
        for name, document in self.certificates.items():
            yield f"{CERTIFICATES}/{name}", _source(document)
        for name, own in self.confidence.items():
            yield f"{CONFIDENCE}/{name}", own


def _source(own: Document) -> Source:
    return Source(own.rule, own.network, own.clients, own.subject, own.lower, own.upper)


def names_in(folder: Path) -> frozenset[str]:
    """The names of all that is in a folder; none where there is no such folder.

    Names that begin with a dot are left out: systems keep notes of their own under them.

    Args:
        folder: of certificates.
    """
    if not folder.is_dir():
        return frozenset()
    return frozenset(path.name for path in folder.iterdir() if not path.name.startswith("."))
