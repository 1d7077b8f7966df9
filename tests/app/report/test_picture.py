from pathlib import Path

from fedcert.app.report.picture import Picture, write_pictures


def test_figures_are_written_in_every_format(tmp_path: Path) -> None:
    write_pictures([Picture("a", "A", "C.", "<svg/>", b"png", b"pdf")], tmp_path / "figures")
    found = {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    assert found == {"a.svg": b"<svg/>", "a.png": b"png", "a.pdf": b"pdf"}
