"""A figure as data: its caption, and its drawing as vectors and as pixels."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fedcert.wire import atomic


@dataclass(frozen=True)
class Picture:
    """A drawn figure.

    Attributes:
        name: the stem of the figure's file names.
        title: the heading.
        caption: what the figure shows.
        svg: the figure as an <svg> element.
        png: the figure as a PNG file.
        pdf: the figure as a PDF file, for LaTeX.
    """

    name: str
    title: str
    caption: str
    svg: str
    png: bytes
    pdf: bytes


def write_pictures(pictures: Iterable[Picture], folder: Path) -> None:
    """Write every figure in every format.

    Args:
        pictures: the figures.
        folder: the folder to write to, as NAME.svg, NAME.png and NAME.pdf.
    """
    for picture in pictures:
        for suffix, content in (("svg", picture.svg), ("png", picture.png), ("pdf", picture.pdf)):
            atomic.write(folder / f"{picture.name}.{suffix}", content)
