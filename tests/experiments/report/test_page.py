import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

from fedcert.box import Box
from fedcert.certificate import Certificate, Claim, Estimate
from fedcert.data.dataset import Split
from fedcert.events.cells import Cells
from fedcert.experiments.config import RunConfig
from fedcert.experiments.console import percent_down
from fedcert.experiments.output import summarise
from fedcert.experiments.report.page import render
from fedcert.experiments.run import RunResult
from fedcert.laws import DiagonalGaussian
from fedcert.message import Message

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>--><b>&amp;\"'</b>"


def message(client: str) -> Message:
    law = DiagonalGaussian(torch.zeros(1).double(), torch.ones(1).double())
    cell = Box(torch.zeros(1, 1).double(), torch.ones(1, 1).double())
    return Message(client, law, Cells.shared(cell, law.log_mass(cell)), 30)


def result(refused: dict[str, str] | None = None, **config: object) -> RunResult:
    """A run by hand: two clients, two properties."""
    bounds = {("local", "fedavg"): 0.9, ("direct", "fedavg"): 0.123456, ("direct", "pog"): 0.654321}
    certificates = [
        (Certificate(Claim(kind, rule, "projected"), torch.full((2,), bound).double()), 0.5)  # type: ignore[arg-type]
        for (kind, rule), bound in bounds.items()
    ]
    estimates = [
        Estimate("mc-ibp", "fedavg", torch.tensor([300, 150]), 300),
        Estimate("mc-ibp", "pog", torch.tensor([200, 250]), 300),
        Estimate("attack-survival", "fedavg", torch.tensor([271, 182]), 300),
        Estimate("aggregated-sampling", "fedavg", torch.tensor([2777, 1111]), 3000),
    ]
    return RunResult(
        RunConfig(clients=2, properties=2, **config),  # type: ignore[arg-type]
        {"fedavg": 0.8125, "pog": 0.75},
        certificates,
        estimates,
        {"training": 1.0},
        [message("client-0"), message("client-1")],
        Split(torch.zeros(2, 4).double(), torch.tensor([3, 7])),
        (2, 2),
        torch.tensor([[11, 19] + [0] * 8, [23, 7] + [0] * 8]),
        refused or {},
    )


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


def rendered(result: RunResult) -> str:
    return render(result, summarise(result))


def test_the_page_loads_nothing_from_elsewhere() -> None:
    html = rendered(result())
    page = Page(html)
    loads = {"src", "srcset", "href", "xlink:href", "data", "action", "poster"}
    assert all(value.startswith(("#", "data:")) for name, value in page.attributes if name in loads)
    assert not {"script", "link", "iframe", "object", "embed", "base", "img"} & set(page.tags)
    assert "@import" not in html
    assert re.findall(r"url\(\s*['\"]?[^#'\"\s]", html) == []


def test_the_page_draws_both_figures() -> None:
    assert Page(rendered(result())).tags.count("svg") == 2


def test_the_page_shows_the_bounds_the_estimates_and_the_accuracy() -> None:
    run, page = result(), Page(rendered(result()))
    for certificate, _ in run.certificates:
        assert percent_down(certificate.mean_lower) in page.text
    for estimate in run.estimates:
        assert f"{100 * estimate.value:.2f}" in page.text
        assert all(f"{100 * limit:.2f}" in page.text for limit in estimate.confidence_interval())
    assert f"{100 * run.accuracy['fedavg']:.1f} %" in page.text


def test_the_figures_follow_the_results() -> None:
    def figures(run: RunResult) -> list[str]:
        # without the identifiers, which matplotlib draws at random
        svgs = re.findall(r"<svg.*?</svg>", rendered(run), re.DOTALL)
        return [re.sub(r'(id|href|clip-path)="[^"]*"', "", svg) for svg in svgs]

    run = result()
    claim = run.certificates[0][0].claim
    other_bound = [(Certificate(claim, torch.tensor([0.1, 0.2]).double()), 0.5), *run.certificates[1:]]
    bounds, federation = figures(run)
    assert figures(replace(run, certificates=other_bound))[0] != bounds
    assert figures(replace(run, histograms=run.histograms.flip(0)))[1] != federation
    assert figures(run) == [bounds, federation]


def test_hostile_text_stays_text() -> None:
    calm = result(refused={"file": "reason"})
    attacked = result(data_dir=Path(HOSTILE), refused={HOSTILE: HOSTILE})
    html = rendered(attacked)
    page = Page(html)
    assert "<script" not in html
    assert sorted(set(page.tags)) == sorted(set(Page(rendered(calm)).tags))
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert "<script>alert(1)" in page.text


@pytest.mark.parametrize("rule", ["fedavg", "pog"])
def test_the_page_holds_the_configuration_that_repeats_the_run(rule: str) -> None:
    page = Page(rendered(result(rule=rule, seed=12345)))
    assert '"seed": 12345' in page.text
    assert f'"rule": "{rule}"' in page.text
    assert "--config result.json" in page.text
