"""Every claim names a certificate that exists, and every certificate is named by one claim."""

from collections.abc import Iterator, Sequence

from fedcert_check.run_folder.findings import Finding
from fedcert_check.run_folder.stated import RESULT, Row


def compare_names(rows: Sequence[Row], files: frozenset[str], folder: str) -> Iterator[Finding]:
    """Missing and additional certificates, and claims that are made twice.

    Args:
        rows: all claims that name a file of this folder.
        files: the names of all files in it.
        folder: its name.
    """
    owners: dict[str, Row] = {}
    keys: dict[tuple[object, ...], Row] = {}
    for row in rows:
        place = f"{row.place}.certificate"
        if row.certificate not in files:
            yield Finding(RESULT, place, f"{folder}/{row.certificate} is missing")
        elif row.certificate in owners:
            other = owners[row.certificate].place
            yield Finding(RESULT, place, f"{row.certificate} is that of {other} already")
        key = (*row.key, row.margin)
        if key in keys:
            yield Finding(RESULT, row.place, f"the same claim as {keys[key].place}")
        owners.setdefault(row.certificate, row)
        keys.setdefault(key, row)
    for name in sorted(files - owners.keys()):
        yield Finding(f"{folder}/{name}", "", f"additional: no claim of {RESULT} names it")
