"""Errors that say what to do. Every error a user can cause derives from `FedcertError`."""

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from typing import ClassVar

FOLDER = "docs"
"""The documentation in the repository."""


class FedcertError(ValueError):
    """Bad input; the message says what is wrong and what to do about it.

    Attributes:
        page: of the documentation, which explains it.

    Examples:
        >>> TooCostly("too many cells").explained_in
        'docs/how-to/check.md'
    """

    page: ClassVar[str] = "reference/errors.md"

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.add_note(f"explained in {self.explained_in}")

    @property
    def explained_in(self) -> str:
        """Where to read on: a page of the site where the project has one, else of the repository."""
        address = site()
        return (
            f"{FOLDER}/{self.page}" if address is None else f"{address}/{self.page.removesuffix('.md')}.html"
        )


@cache
def site() -> str | None:
    """The address of the documentation that this distribution states, if it does."""
    try:
        stated = metadata("fedcert-check").get_all("Project-URL") or []
    except PackageNotFoundError:  # not installed: run from its sources
        return None
    named = dict(entry.split(", ", 1) for entry in stated)
    return named["Documentation"].rstrip("/") if "Documentation" in named else None


class UnreadableFile(FedcertError):
    """A file that is truncated, of another format, or larger than the reader allows."""

    page = "reference/result-json.md"


class InvalidCertificate(FedcertError):
    """A certificate file that is truncated, of another format, tampered with, or without its messages."""

    page = "certificate-format.md"


class TooCostly(FedcertError):
    """A certificate whose proof would take more memory or time than is allowed."""

    page = "how-to/check.md"


class InvalidRun(FedcertError):
    """A file of a run's folder that no run can have written: the message says file and field."""

    page = "reference/result-json.md"
