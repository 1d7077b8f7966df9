"""JSON files from anywhere: read once, within limits, and with one meaning only."""

import json
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from fedcert.errors import UnreadableFile
from fedcert_check.tensorfile import bytes_of, without_duplicates

MOST_BYTES = 2**28


def read_json(path: Path) -> Any:
    """The content of a JSON file, or `UnreadableFile` with the file and what is wrong.

    Refused are all texts that readers do not agree on (NaN, a name that stands twice, half a surrogate pair),
    and objects nested so deeply that whoever walks through them runs out of stack.

    Args:
        path: the file.
    """
    try:
        content = bytes_of(path, MOST_BYTES)
        from_json(content, allow_inf_nan=False)  # UTF-8 throughout, no NaN, and not too deep for what follows
        return json.loads(content, object_pairs_hook=without_duplicates)
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UnreadableFile(f"{path}: not readable as JSON ({error})") from error
