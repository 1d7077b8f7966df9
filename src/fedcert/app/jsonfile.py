"""Reading of untrusted JSON files: once, within a size limit, and only if their meaning is unambiguous."""

import json
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from fedcert.errors import UnreadableFile
from fedcert_check.tensorfile import bytes_of, without_duplicates

MOST_BYTES = 2**28  # maximum size of a JSON file


def read_json(path: Path) -> Any:
    """The content of a JSON file; raises `UnreadableFile`, which names the file and what is wrong.

    Texts that JSON readers disagree on are refused (NaN, a duplicate name, half a surrogate pair), as are
    objects nested so deeply that code that walks through them runs out of stack.

    Args:
        path: the file.
    """
    try:
        content = bytes_of(path, MOST_BYTES)
        from_json(content, allow_inf_nan=False)  # UTF-8 throughout, no NaN, not nested too deeply
        return json.loads(content, object_pairs_hook=without_duplicates)
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UnreadableFile(f"{path}: not readable as JSON ({error})") from error
