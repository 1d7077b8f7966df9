"""A figure as data: what it shows in words, as vector and as pixels."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fedcert.wire import atomic


@dataclass(frozen=True)
class Picture:
    """A drawn figure.

    Attributes:
        name: a file's stem.
        title: a heading.
        caption: what is to be seen.
        svg: the figure as an <svg> element.
        png: the figure in pixels.
        pdf: the figure for LaTeX.
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
        folder: where they go, as NAME.svg, NAME.png and NAME.pdf.
    """
    for picture in pictures:
        for suffix, content in (("svg", picture.svg), ("png", picture.png), ("pdf", picture.pdf)):
            atomic.write(folder / f"{picture.name}.{suffix}", content)
