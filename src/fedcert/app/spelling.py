"""Names of settings as users write them: with hyphens, and sometimes misspelt."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from fedcert.errors import InvalidConfig

Names = Mapping[str, Collection[str]]
MOST_CHARACTERS = 80  # of a name that is quoted


def require_known(table: Mapping[str, Any], known: Names, table_name: str = "") -> None:
    """Refuse a table that holds a name that does not exist, and say which name was probably meant.

    Args:
        table: settings by name, with hyphens or underscores.
        known: the names that exist; those of a table inside the table, for a name that has one.
        table_name: the name of the table, if it stands inside another.
    """
    for name, value in table.items():
        meant = name.replace("-", "_")
        if meant not in known:
            place = f"in [{table_name}]" if table_name else ""
            given = f"no setting {name[:MOST_CHARACTERS]!r} {place}".rstrip()
            raise InvalidConfig(f"{given}: {suggestion(name, known)}")
        if known[meant] and isinstance(value, dict):
            inside = f"{table_name}.{meant}" if table_name else meant
            require_known(value, dict.fromkeys(known[meant], ()), inside)


def suggestion(name: str, known: Collection[str]) -> str:
    """What was probably meant by a name that does not exist, or everything that may be meant.

    >>> suggestion("epsilom", ["clients", "epsilon"])
    "did you mean 'epsilon'?"
    >>> suggestion("colour", ["clients", "train_examples"])
    'must be one of clients, train-examples'

    Args:
        name: what the user wrote.
        known: the names that exist, with underscores.
    """
    near = get_close_matches(name[:MOST_CHARACTERS].replace("-", "_").lower(), known, 1)
    if near:
        return f"did you mean {near[0].replace('_', '-')!r}?"
    return f"must be one of {', '.join(each.replace('_', '-') for each in known)}"


def underscored(table: dict[str, Any]) -> dict[str, Any]:
    """The table with its keys as Python names (hyphens become underscores), at every level."""
    return {
        key.replace("-", "_"): underscored(value) if isinstance(value, dict) else value
        for key, value in table.items()
    }
