"""The seals of a page: the digest of the results it was made from, and its own.

`fedcert check` holds both against the files; anyone who edits a page by hand breaks its own digest.
"""

import hashlib

OPEN = "0" * 64
"""Stands for the page's own digest while the page is hashed."""


def digest(text: str) -> str:
    """SHA-256 of a text as it is written to a file.

    Args:
        text: the content of the file.
    """
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(page: str) -> str:
    """The page with its own digest in the place of the first 64 zeros, which are its `fedcert-page`.

    Args:
        page: rendered with `OPEN` as its digest, before any other text that could hold it.
    """
    return page.replace(OPEN, digest(page), 1)
