import matplotlib as mpl
import pytest

from fedcert.app.report.figures.style import canvas, picture, slim, styled
from fedcert.app.report.picture import Picture


@styled
def drawn(title: str = "A title") -> Picture:
    figure = canvas(3.5, 2.0)
    axes = figure.subplots()
    axes.plot([1, 2, 3], [3, 1, 2], marker="o")
    return picture(figure, "line", title, "A caption.")


@pytest.mark.slow
def test_the_same_figure_gives_the_same_bytes() -> None:
    assert drawn() == drawn()


def test_titles_cannot_break_the_markup() -> None:
    svg = drawn('<b> & "quotes"').svg
    assert "<b>" not in svg
    assert "&lt;b&gt; &amp;" in svg


def test_the_style_ends_with_the_figure() -> None:
    before = mpl.rcParams["font.size"]
    drawn()
    assert mpl.rcParams["font.size"] == before


def test_slim_keeps_what_is_referred_to() -> None:
    svg = (
        '<?xml?><svg><!-- no --><metadata>no</metadata><g id="axes_1"/><path id="p1"/><use href="#p1"/></svg>'
    )
    assert slim(svg) == '<svg><g/><path id="p1"/><use href="#p1"/></svg>'
