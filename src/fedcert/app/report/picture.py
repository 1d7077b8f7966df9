"""A figure as data: what it shows in words, as vector and as pixels."""

from dataclasses import dataclass


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
