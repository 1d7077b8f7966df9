"""Every tampering with report.html is refused with a line that names it."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from refused_runs import evidence, lines, refused
from run_folders import write_page

from fedcert_check.run_folder import RunReport
from fedcert_check.run_folder.compare import compare
from fedcert_check.run_folder.entries import parse
from fedcert_check.run_folder.sentences import compare_sentences
from fedcert_check.run_folder.stated import read_stated
from fedcert_check.run_folder.words import last_line

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


FORGED = "On average over the draw, the model that fedavg deploys classifies at least 99.99 % of all inputs."
HEADLINE = re.compile(r'(?<=<p class="sentence">)[^<]*')
CONCLUSION = re.compile(r"(?<=<dd>)[^<]*")
PAGES |= {
    "a forged headline": (lambda page: HEADLINE.sub(FORGED, page), ("headline", "99.99", "follows from")),
    "a forged conclusion": (
        lambda page: CONCLUSION.sub(FORGED, page, count=1),
        ("conclusion", "99.99", "follows from"),
    ),
    "a conclusion too many": (
        lambda page: page.replace("</dl></section>", f"<dd>{FORGED}</dd></dl></section>"),
        ("conclusion", "does not have"),
    ),
    "a conclusion too few": (lambda page: CONCLUSION.sub("", page, count=1), ("conclusion",)),
    "a forged assumption": (
        lambda page: page.replace("<li>", "<li>Nothing. ", 1),
        ("assumption", "does not have"),
    ),
    "two headlines": (
        lambda page: HEADLINE.sub(lambda own: f'{own[0]}</p><p class="sentence">{FORGED}', page),
        ("headline", "2 of them"),
    ),
    "no headline": (lambda page: page.replace('class="sentence"', ""), ("headline", "0 of them")),
    "a hidden headline": (
        lambda page: page.replace('class="sentence"', 'class="sentence" hidden'),
        ("headline", "other attributes"),
    ),
    "a bound in other words": (
        lambda page: page.replace("<p>Proven", f"<h1>{FORGED}</h1><p>Proven"),
        ("a bound in words", "at least 99.99 %"),
    ),
    "a bound in parts": (
        lambda page: page.replace(
            "<p>Proven", "<p>At <b>least</b>\n<i>99</i>.99&nbsp;% of all inputs<p>Proven"
        ),
        ("a bound in words", "At least 99.99 %"),
    ),
    "a bound among the assumptions": (
        lambda page: page.replace("<details>", f"<details><summary>{FORGED}</summary>", 1),
        ("a bound in words", "at least 99.99 %"),
    ),
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


def test_what_else_a_page_says_is_not_checked_and_the_last_line_says_so(folder: Path) -> None:
    """Words that state no bound, and pictures."""
    result = json.loads((folder / "result.json").read_text())
    write_page(folder, result, lambda page: page.replace("<p>Proven", "<p>The best of all models.<p>Proven"))
    report = RunReport(folder, (), compare(folder, *evidence()))
    assert lines(report) == []
    assert last_line(report).endswith(
        "all claims of result.json, properties.csv and properties.json follow from them; report.html: its"
        " marked bounds and sentences follow; its pictures and other words are not checked"
    )


def test_where_nothing_is_concluded_the_headline_says_that(folder: Path) -> None:
    stated = read_stated(parse("result.json", (folder / "result.json").read_bytes()).object())
    content = b'<p class="sentence">Nothing is proven of the model that fedavg deploys with these events.</p>'
    assert not [*compare_sentences(content, replace(stated, conclusions=()))]
    (first, *missing) = compare_sentences(content, stated)
    assert "'Nothing is proven" in first.line
    assert all("missing" in own.line for own in missing)
    assert len(missing) == len(stated.conclusions)
