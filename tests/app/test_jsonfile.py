import os
from pathlib import Path

import pytest

from fedcert.app import jsonfile
from fedcert.app.jsonfile import read_json
from fedcert.errors import UnreadableFile


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text('{"a": [1, 2.5, null, true, "é"]}', encoding="utf-8")
    assert read_json(path) == {"a": [1, 2.5, None, True, "é"]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1] 2",
        b"[NaN]",
        b"[-Infinity]",
        b'{"a": 1, "a": 1}',
        b'{"b": [{"a": 1, "a": 2}]}',
        b'["\\ud800"]',
        b'["\xff"]',
        b"\xef\xbb\xbf[]",
        "[]".encode("utf-16"),
        b"[" * 100_000 + b"]" * 100_000,
        b"[" * 300 + b"]" * 300,
        b"9" * 5000,
    ],
    ids=lambda content: repr(content[:20]),
)
def test_a_file_without_one_meaning_is_refused_by_its_path(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"file\.json: not readable as JSON \(") as caught:
        read_json(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonfile, "MOST_BYTES", 8)
    (tmp_path / "file.json").write_text('"123456789"', encoding="utf-8")
    with pytest.raises(UnreadableFile, match="11 bytes, more than 8"):
        read_json(tmp_path / "file.json")


def test_what_is_no_file_is_refused_by_its_path(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "pipe"):
        with pytest.raises(UnreadableFile, match=f"^{path}: "):
            read_json(path)
