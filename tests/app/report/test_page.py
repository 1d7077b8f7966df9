import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch
from report_samples import HOSTILE, files, finished, picture, proven, result, searched, table

from fedcert.app.report.page import grid_page, inline_svg, run_page, studies
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.seal import digest
from fedcert.app.run import RunResult
from fedcert.app.summary import describe_properties, summarise
from fedcert.certificate import Certificate, percent_down, percent_up
from fedcert_check.run_folder.entries import Entry
from fedcert_check.run_folder.page import compare_page, read_page
from fedcert_check.run_folder.stated import read_stated

COMMAND = "fedcert grid --preset mine.toml --out grid"


class Page(HTMLParser):
    """The tags, attributes and visible text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attributes]

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(run: RunResult) -> str:
    return run_page(FinishedRun(*files(run)))


def grid() -> str:
    runs = [finished(seed=seed, scale=scale) for seed in (0, 1) for scale in ("learned", 1e-5)]
    return grid_page(runs, [table()], [picture("one"), picture("two")], COMMAND)


@pytest.mark.parametrize("html", [rendered(result()), grid()], ids=["run", "grid"])
def test_the_page_loads_nothing_from_elsewhere(html: str) -> None:
    page = Page(html)
    loads = {"src", "srcset", "href", "xlink:href", "data", "action", "poster"}
    assert all(value.startswith(("#", "data:")) for name, value in page.attributes if name in loads)
    assert not {"iframe", "object", "embed", "base"} & set(page.tags)
    assert "@import" not in html
    assert re.findall(r"url\(\s*['\"]?[^#'\"\s]", html) == []
    assert "default-src 'none'" in html


def test_the_page_shows_the_bounds_the_estimates_and_the_accuracy() -> None:
    run, page = result(), Page(rendered(result()))
    for certificate in (one.certificate for one in run.proven):
        assert percent_down(certificate.mean_lower).removesuffix(" %") in page.text
        if certificate.mean_upper is not None:
            assert percent_up(certificate.mean_upper) in page.text
    for _, estimate in run.estimates:
        assert f"{100 * estimate.value:.2f}" in page.text
        assert all(f"{100 * limit:.2f}" in page.text for limit in estimate.confidence_interval())
    assert f"{100 * run.accuracy_on_inputs:.1f} %" in page.text
    assert "1 of 2" in page.text  # attacks


def test_the_page_opens_with_the_sentence_and_what_it_is_about() -> None:
    page = Page(rendered(result(epsilon=(0.001, 0.25))))
    top = page.text[: page.text.index("What you may conclude")]
    assert "On average over the draw, the model that fedavg deploys classifies at least 56.17 %" in top
    for fact in ("the first 2 of 40 test inputs of digits, as they come", "0.001, 0.25", "2 clients"):
        assert fact in top
    assert "not an accuracy" not in top


def test_selected_inputs_give_no_accuracy() -> None:
    run = result(inputs="correct")
    chosen = replace(run.inputs, origin=replace(run.inputs.origin, chosen="correct"))
    text = Page(rendered(replace(run, inputs=chosen, proven=list(proven(chosen, 0.001))))).text
    top = text[: text.index("What you may conclude")]
    assert "Certified accuracy" not in text
    assert top.count("not an accuracy") >= 2  # in the sentence, and beside the number
    assert "81.2 %" in top  # the accuracy on inputs as they come


def test_the_page_says_whether_its_certificates_were_proved_again() -> None:
    run = result()
    for count, words in ((3, "every certificate was re-proved"), (1, "2 of 3"), (0, "not checked yet")):
        again = {one.file: i < count for i, one in enumerate(run.proven)}
        text = Page(run_page(FinishedRun(summarise(run, again), describe_properties(run)))).text
        assert words in text
        assert "Your own fedcert check is the word that counts" in text
        assert ("not checked" in text) == (count < 3)


def test_every_kind_of_claim_has_its_place() -> None:
    html = rendered(searched())
    text = Page(html).text
    for part in ("Confidence bound (95 %)", "Certified radii", "Certificates at other margins"):
        assert part in text
    assert 'id="figure-radii"' in html
    assert 'id="figure-radii"' not in rendered(result())


def test_a_checker_finds_every_bound_of_the_page_in_the_results() -> None:
    run = result(epsilon=(0.001, 0.25))
    summary = summarise(run, {})
    content = (json.dumps(summary, indent=2) + "\n").encode()
    html = run_page(FinishedRun(summary, describe_properties(run)), digest(content.decode()))
    stated = read_stated(Entry("result.json", "", json.loads(content)))
    assert list(compare_page(html.encode(), content, stated)) == []
    shown = {(bound.claim, bound.side) for bound in read_page(html.encode()).bounds}
    assert shown == {
        (f"{row['claim']} {row['rule']} {row['events']} {row['epsilon']}", side)
        for row in summary["summary"]
        for side in ("lower", "upper")
        if row[side] is not None
    }
    assert list(compare_page(html.encode(), content + b" ", stated))
    assert list(compare_page(html.replace("digits", "mnist").encode(), content, stated))


def test_the_page_follows_the_results() -> None:
    run = result()
    first = run.proven[0]
    other = Certificate(first.certificate.claim, torch.tensor([0.1, 0.2]).double())
    proven = [replace(first, certificate=other), *run.proven[1:]]
    assert rendered(replace(run, proven=proven)) != rendered(run)
    assert rendered(replace(run, histograms=run.histograms.flip(0))) != rendered(run)
    attacked = {radius: ~broken for radius, broken in run.attacked.items()}
    assert rendered(replace(run, attacked=attacked)) != rendered(run)
    assert rendered(run) == rendered(run)


def test_what_only_the_clients_know_is_left_out() -> None:
    page = Page(rendered(replace(result(), histograms=None)))
    assert "Label histogram" not in page.text
    assert "fedcert certify --messages messages --config result.json" in page.text


def test_a_rule_of_which_nothing_is_proven_is_reported_as_such() -> None:
    assert "Nothing is proven" in Page(rendered(unproven())).text


def test_a_run_without_claims_has_a_page_of_everything_else() -> None:
    run = replace(result(), proven=[])
    text = Page(rendered(run)).text
    assert "Nothing is proven" in text
    assert "1 of 2" in text  # attacks
    assert "</html>" in grid_page([FinishedRun(*files(run)), finished(seed=1)], [], [], "")


def unproven() -> RunResult:
    """A median has no projected events but local ones; its neighbours have."""
    run = result(rule="median")
    return replace(run, accuracy=run.accuracy | {"median": 0.5})


def poisoned(value: Any) -> Any:
    """What was read from a hostile file: every text in it does harm if it can."""
    if isinstance(value, dict):
        return {key: poisoned(each) for key, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each) for each in value]
    return f"{value}{HOSTILE}" if isinstance(value, str) and value != "local" else value


def test_hostile_text_stays_text() -> None:
    summary, properties = files(result(data_dir=Path("data"), refused={"file": "reason"}))
    calm = Page(run_page(FinishedRun(summary, properties)))
    html = run_page(FinishedRun(poisoned(summary), poisoned(properties)))
    page = Page(html)
    assert html.count("<script") == 1
    assert set(page.tags) == set(calm.tags)
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert "client-0<script>alert(1)" in page.text


def test_hostile_text_in_a_grid_stays_text() -> None:
    calm = finished("link", seed=1)
    hostile = FinishedRun(poisoned(calm.summary), poisoned(list(calm.properties)), HOSTILE)
    pages = [Page(grid_page([each], [], [], command)) for each, command in ((calm, ""), (hostile, HOSTILE))]
    assert set(pages[1].tags) <= set(pages[0].tags)
    assert not any(name.startswith("on") for name, _ in pages[1].attributes)


@pytest.mark.parametrize("rule", ["fedavg", "pog"])
def test_the_page_holds_the_configuration_that_repeats_the_run(rule: str) -> None:
    page = Page(rendered(result(rule=rule, seed=12345)))
    assert '"seed": 12345' in page.text
    assert f'"rule": "{rule}"' in page.text
    assert "fedcert run --config result.json" in page.text


def test_the_page_of_a_grid_shows_every_table_every_picture_and_the_command() -> None:
    page = Page(grid())
    assert all(text in page.text for text in ("A sample", "99.0 ± 0.5", "Figure one", "Figure two", COMMAND))
    assert page.tags.count("svg") == 2
    assert '"scale": ' not in page.text  # it varies


def test_alike_tables_are_one_with_a_selector() -> None:
    tables = [replace(table(), name=name, study="Alike", choice=name) for name in ("one", "two")]
    html = grid_page([finished()], [*tables, replace(table(), name="other")], [], COMMAND)
    assert html.count("data-study>") == 1
    assert '<option value="table-one">one</option><option value="table-two">two</option>' in html
    assert [len(group) for group in studies([*tables, table()])] == [2, 1]


def test_figures_take_the_colours_of_the_page() -> None:
    svg = inline_svg(picture("one"))
    assert "fill: var(--c-ffffff, #ffffff)" in svg
    assert re.findall(r"(?:fill|stroke): #", svg) == []


def test_pictures_do_not_share_identifiers() -> None:
    one, two = (set(re.findall(r'\bid="([^"]+)"', inline_svg(picture(name)))) for name in ("one", "two"))
    assert one
    assert not one & two
    svg = inline_svg(picture("one"))
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    assert used <= set(re.findall(r'\bid="([^"]+)"', svg))


@pytest.mark.slow
def test_a_page_of_many_jobs_stays_small() -> None:
    runs = [finished(f"jobs/{seed}/report.html", seed=seed) for seed in range(30)]
    few, many = (len(grid_page(each, [], [], COMMAND)) for each in (runs[:25], runs))
    assert (many - few) / 5 < 2_000
