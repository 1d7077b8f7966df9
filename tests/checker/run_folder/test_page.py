"""Every tampering with report.html is refused with a line that names it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from refused_runs import refused
from run_folders import write_page

SHOWN = re.compile(r"(?<=side=\"lower\")>(?P<number>\d\d\.\d\d)<")


def _more(shown: re.Match[str]) -> str:
    """A lower bound with one hundredth more than is proven."""
    return f">{float(shown['number']) + 0.01:.2f}<"


PAGES: dict[str, tuple[Callable[[str], str], tuple[str, ...]]] = {
    "the number that is shown": (lambda page: SHOWN.sub(">99.99<", page), ("bound", "'99.99'")),
    "rounded up": (lambda page: SHOWN.sub(_more, page, count=1), ("bound", "rounded down")),
    "its value": (lambda page: page.replace('value="0.9', 'value="0.99', 1), ("bound", "of result.json is")),
    "its claim": (lambda page: page.replace("projected 0.001", "projected 0.1", 1), ("does not make",)),
    "its side": (lambda page: page.replace('side="lower"', 'side="best"', 1), ("neither lower nor upper",)),
    "a bound that is not proven": (
        lambda page: page.replace('side="lower"', 'side="upper"', 1),
        ("of result.json is None",),
    ),
    "the digest of the result": (
        lambda page: re.sub(r'(?<=result" content=")..', "??", page),
        ("fedcert-result",),
    ),
    "two digests": (
        lambda page: page.replace("<body>", '<body><meta name="fedcert-result" content="">'),
        ("fedcert-result", "2 digests"),
    ),
    "no digest": (lambda page: page.replace("fedcert-result", "result"), ("fedcert-result", "0 digests")),
}


@pytest.mark.parametrize("what", PAGES)
def test_an_edited_page_that_was_sealed_again_is_named(what: str, folder: Path) -> None:
    edit, words = PAGES[what]
    write_page(folder, json.loads((folder / "result.json").read_text()), edit)
    refused(folder, "report.html", *words)


@pytest.mark.parametrize(
    "edit",
    [
        lambda page: SHOWN.sub(r"><b>\g<number></b><", page),
        lambda page: page.replace("</data>", "", 1),
        lambda page: page[: page.rindex("</data>")],
        lambda page: page.replace('class="bound"', 'class="bound" value="1"', 1),
    ],
)
def test_a_bound_that_browsers_may_show_otherwise_is_not_readable(
    edit: Callable[[str], str], folder: Path
) -> None:
    write_page(folder, json.loads((folder / "result.json").read_text()), edit)
    refused(folder, "report.html", "line", code=2)


def test_any_other_edit_of_the_page_is_noticed_by_its_digest(folder: Path) -> None:
    path = folder / "report.html"
    path.write_text(path.read_text().replace("Proven", "Certain"))
    refused(folder, "report.html", "fedcert-page", "changed since it was written")
