"""One style for all figures: sizes of a journal, colours and shapes that grey print keeps apart."""

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

from fedcert.app.config import RunConfig
from fedcert.app.report.picture import Picture

ONE_COLUMN, TWO_COLUMNS = 3.5, 7.16  # inches
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
    """Colour and marker of each family of events; those of every run by default always look the same.

    Args:
        names: of the families that are drawn.
    """
    drawn = list(names)
    known = dict.fromkeys([*RunConfig().events, *drawn])
    return {name: look for name, look in zip(known, cycle(FAMILY_LOOKS), strict=False) if name in drawn}


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """A function that draws in this style."""

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
        figure: what was drawn.
        name: a file's stem.
        title: what a reader who cannot see the figure is told.
        caption: what is to be seen.
    """
    png = _saved(figure, "png", {"Software": None}, dpi=200)
    figure.set_layout_engine(None)  # all is in its place now
    pdf = _saved(figure, "pdf", {"CreationDate": None, "Creator": None, "Producer": None})
    with rc_context({"svg.hashsalt": name}):
        svg = slim(_saved(figure, "svg", {"Date": None}).decode())
    opening = f'<svg role="img" aria-label={quoteattr(title)} '
    head, body = svg.replace("<svg ", opening, 1).split(">", 1)
    return Picture(name, title, caption, f"{head}><title>{escape(title)}</title>{body}", png, pdf)


def slim(svg: str) -> str:
    """An <svg> element without what nobody reads; names stay unique in a page of several figures.

    Args:
        svg: a whole SVG file.
    """
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    used = set(re.findall(r"#([\w.-]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", svg)
    return re.sub(r"\n\s*", "\n", svg.replace("'DejaVu Sans'", "'DejaVu Sans',sans-serif"))


def percent_axis(axes: Axes, most: float = 100.0) -> None:
    """Probabilities from 0 to 100 % on the vertical axis, with a light grid.

    Args:
        axes: where.
        most: what is to be seen, where that is beyond 100.
    """
    axes.set_ylim(0, max(100.0, most) + 2)
    axes.grid(axis="y")


def letter(axes: Axes, i: int, text: str) -> None:
    """A panel's title with its letter: (a) text."""
    axes.set_title(f"({chr(ord('a') + i)}) {text}", loc="left")


def _saved(figure: Figure, form: str, metadata: dict[str, Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=form, metadata=metadata, **options)
    return buffer.getvalue()
