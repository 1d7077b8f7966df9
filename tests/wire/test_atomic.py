import os
from pathlib import Path

import pytest

from fedcert.errors import CannotWrite
from fedcert.wire import atomic


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_and_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        atomic.write(tmp_path / "deep" / "file", content)
        assert (tmp_path / "deep" / "file").read_bytes() == content
    atomic.write(tmp_path / "deep" / "file", "dritter Inhalt, ü")
    assert (tmp_path / "deep" / "file").read_text(encoding="utf-8") == "dritter Inhalt, ü"
    assert names(tmp_path / "deep") == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_on_the_way_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    atomic.write(tmp_path / "file", b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*(("os.fsync", fail) if step == "fsync" else (Path, "replace", fail)))
    with pytest.raises(CannotWrite, match="No space left") as caught:
        atomic.write(tmp_path / "file", b"new")
    assert str(tmp_path / "file") in str(caught.value)
    assert (tmp_path / "file").read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_the_content_is_on_the_disk_before_it_has_its_name_and_the_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    fsync, replace = os.fsync, Path.replace

    def watched_fsync(handle: int) -> None:
        steps.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    def watched_replace(self: Path, target: Path) -> Path:
        steps.append(f"rename to {target}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(Path, "replace", watched_replace)
    atomic.write(tmp_path / "file", b"content")
    partial, rename, folder = steps
    assert partial.endswith(atomic.PARTIAL)
    assert rename == f"rename to {tmp_path / 'file'}"
    assert folder == str(tmp_path)


def test_a_place_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match="file/below"):
        atomic.write(tmp_path / "file" / "below", b"")
