"""What a folder holds."""

from pathlib import Path


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file with its content, every folder with None."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file with its content."""
    return {name: content for name, content in tree(folder).items() if content is not None}
