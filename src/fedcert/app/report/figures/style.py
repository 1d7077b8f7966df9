"""One style for all figures: a journal's sizes, and colours and shapes that differ even in grey print."""

import io
import re
from collections.abc import Callable, Iterable
from functools import wraps
from itertools import cycle
from typing import Any, ParamSpec, TypeVar
from xml.sax.saxutils import escape, quoteattr

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedcert.app.report.picture import Picture
from fedcert.families.registry import families

ONE_COLUMN, TWO_COLUMNS = 3.5, 7.16  # widths of a figure, in inches
BLACK, ORANGE, SKY, GREEN = "#000000", "#e69f00", "#56b4e9", "#009e73"  # Okabe and Ito's palette
BLUE, VERMILION, PURPLE, GREY = "#0072b2", "#d55e00", "#cc79a7", "#808080"
FAMILY_LOOKS = [(VERMILION, "o"), (BLUE, "s"), (GREEN, "D"), (PURPLE, "^"), (ORANGE, "v"), (SKY, "P")]
SERIES = [(BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (PURPLE, "D"), (ORANGE, "v"), (SKY, "P"), (BLACK, "X")]
SETTINGS: Any = {
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "fedcert",
    "savefig.facecolor": "white",
}
P = ParamSpec("P")
T = TypeVar("T")


def family_looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each family of events; registered families always look the same.

    Args:
        names: the names of the families that are drawn.
    """
    drawn = list(names)
    known = dict.fromkeys([*(family.name for family in families()), *drawn])
    looks = dict(zip(known, cycle(FAMILY_LOOKS), strict=False))
    return {name: looks[name] for name in drawn}


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that it draws in this style."""

    @wraps(draw)
    def within(*args: P.args, **kwargs: P.kwargs) -> T:
        with rc_context(SETTINGS):
            return draw(*args, **kwargs)

    return within


def canvas(width: float, height: float) -> Figure:
    """An empty figure.

    Args:
        width: in inches; `ONE_COLUMN` or `TWO_COLUMNS`.
        height: in inches.
    """
    return Figure(figsize=(width, height), layout="constrained")


def picture(figure: Figure, name: str, title: str, caption: str) -> Picture:
    """A figure in every format; the same figure gives the same bytes.

    Args:
        figure: the figure.
        name: the stem of the figure's file names.
        title: the heading, and the text for readers who cannot see the figure.
        caption: what the figure shows.
    """
    png = _saved(figure, "png", {"Software": None}, dpi=200)
    figure.set_layout_engine(None)  # the layout is final now
    pdf = _saved(figure, "pdf", {"CreationDate": None, "Creator": None, "Producer": None})
    with rc_context({"svg.hashsalt": name}):
        svg = slim(_saved(figure, "svg", {"Date": None}).decode())
    opening = f'<svg role="img" aria-label={quoteattr(title)} '
    head, body = svg.replace("<svg ", opening, 1).split(">", 1)
    return Picture(name, title, caption, f"{head}><title>{escape(title)}</title>{body}", png, pdf)


def slim(svg: str) -> str:
    """An <svg> element without metadata, comments and unused identifiers.

    Args:
        svg: the content of an SVG file.
    """
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    used = set(re.findall(r"#([\w.-]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", svg)
    return re.sub(r"\n\s*", "\n", svg.replace("'DejaVu Sans'", "'DejaVu Sans',sans-serif"))


def percent_axis(axes: Axes, most: float = 100.0) -> None:
    """Set a vertical axis for probabilities from 0 to 100 %, with a light grid.

    Args:
        axes: the panel.
        most: the largest value to show, if above 100.
    """
    axes.set_ylim(0, max(100.0, most) + 2)
    axes.grid(axis="y")


def letter(axes: Axes, i: int, text: str) -> None:
    """Set a panel's title with its letter: (a) text."""
    axes.set_title(f"({chr(ord('a') + i)}) {text}", loc="left")


def _saved(figure: Figure, form: str, metadata: dict[str, Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=form, metadata=metadata, **options)
    return buffer.getvalue()
