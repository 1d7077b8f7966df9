"""What all figures of the documentation share: one look, and their numbers beside the picture."""

import json
import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

HERE = Path(__file__).parent
SAFE, UNSAFE, PROVEN, UPPER, ESTIMATE = "#d9efe4", "#f6dcd7", "#0b6e4f", "#c1443c", "#5b6770"
mpl.rcParams |= {
    "svg.hashsalt": "fedcert",  # the same figure is the same file
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def write(figure: Figure, numbers: dict[str, Any], name: str, out: Path) -> None:
    """Write NAME.svg and the numbers that it shows, NAME.json.

    Args:
        figure: the picture.
        numbers: what pages may quote.
        name: of both files.
        out: their folder.
    """
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
    text = json.dumps(numbers, indent=2)
    (out / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def at_least(value: float) -> float:
    """A lower bound in %, rounded down to two digits."""
    return math.floor(1e4 * value) / 100


def at_most(value: float) -> float:
    """An upper bound in %, rounded up to two digits."""
    return math.ceil(1e4 * value) / 100
