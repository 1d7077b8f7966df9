"""Small folders of runs, as `fedcert run` writes them, made in a fraction of a second."""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any, Literal

import torch
from problems import normal, uniform

from fedcert.certificate import Certificate
from fedcert.confidence import ConfidenceBound, bound
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.federation.server import server
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties, linf_robustness
from fedcert.model.robustness import Origin
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.confidence_file import save_confidence
from fedcert.wire.message import Message
from fedcert.wire.subject import as_checked
from fedcert_check.balls import mean_down, median_down
from fedcert_check.conclusions import Bounds, Conclusion, Sampled, conclude
from fedcert_check.files import read
from fedcert_check.percent import percent_down, percent_up
from fedcert_check.run_folder.page import page_digest
from fedcert_check.run_folder.table import COLUMNS

RADII = (0.001, 0.01)
THRESHOLD = 0.5
MARGIN = 0.25
DRAWS = 40
INPUTS = 4
Edit = Callable[[dict[str, Any]], object]


@dataclass(frozen=True)
class SmallRun:
    """Two clients, four inputs, and what is certified of them."""

    network: Network
    messages: list[Message]
    rule: LinearRule
    found: list["Found"]
    drawn: list["Drawn"]


@dataclass(frozen=True)
class Found:
    """A certificate, what it is about, and the setting that tells it from others of its kind."""

    part: Literal["summary", "margins", "radii"]
    properties: Properties
    certificate: Certificate
    detail: str

    @property
    def name(self) -> str:
        claim = self.certificate.claim
        return f"{claim.kind}-{claim.rule}-{claim.events}-{self.detail}.safetensors"

    @property
    def radius(self) -> list[float]:
        return self.properties.subject.radius.tolist()


@dataclass(frozen=True)
class Drawn:
    """A confidence bound and what it is about."""

    problem: Problem
    bound: ConfidenceBound
    epsilon: float

    @property
    def name(self) -> str:
        return f"fedavg-eps-{self.epsilon}.safetensors"


@cache
def small_run(seed: int = 0, input_seed: int = 0) -> SmallRun:
    """The run; another seed gives other clients, another `input_seed` other inputs."""
    generator, network = stream(seed, "small run"), mlp(2, 2)
    shared = torch.tensor([3.0, 0, 0, 3.0, 0, 0], dtype=torch.float64)
    laws = [
        DiagonalGaussian(shared + 0.1 * normal(generator, 6), 0.1 + 0.1 * uniform(generator, 6)) for _ in "ab"
    ]
    messages = [Message(f"client-{i}", law, Cells.none(6), 10 + i) for i, law in enumerate(laws)]
    x = uniform(stream(input_seed, "inputs"), INPUTS, 2)
    label = x.argmax(-1)
    origin = Origin("digits", "first", available=90, indices=torch.arange(INPUTS))
    rule = LinearRule.fedavg([1, 1])
    ask = partial(linf_robustness, x, label, classes=2, origin=origin)
    found = []
    for epsilon in RADII:
        asked = ask(epsilon)
        own = server(messages, rule, network, asked)
        found += [Found("summary", asked, one, f"eps-{epsilon}") for one in own]
    radii = ask(torch.tensor([0.02, 0.0, 0.01, 0.001], dtype=torch.float64))
    margin = ask(RADII[0], margin=MARGIN)
    for part, asked, detail in (
        ("margins", margin, f"eps-{RADII[0]}-margin-{MARGIN}"),
        ("radii", radii, f"radius-{THRESHOLD}"),
    ):
        own = server(messages, rule, network, asked)
        found += [Found(part, asked, one, detail) for one in own if one.claim.kind == "direct"]
    digests, drawn = [message.digest for message in messages], []
    for epsilon in RADII[:1]:
        problem = Problem(network, ask(epsilon), tuple(laws), rule)
        drawn.append(Drawn(problem, bound(problem, DRAWS, 0.05, digests), epsilon))
    return SmallRun(network, messages, rule, found, drawn)


def write_run(folder: Path, seed: int = 0, input_seed: int = 0) -> Path:
    """The folder of a run: messages, certificates, result.json, properties.csv and report.html."""
    run = small_run(seed, input_seed)
    for message in run.messages:
        message.save(folder / "messages" / f"{message.client}.safetensors")
    for own in run.found:
        path = folder / "certificates" / own.name
        save_certificate(path, own.certificate, run.network, own.properties, run.rule, run.messages)
    for one in run.drawn:
        save_confidence(folder / "confidence" / one.name, one.bound, one.problem, run.messages)
    (folder / "properties.csv").write_text(_table(run))
    (folder / "properties.json").write_text(json.dumps(_gallery(run)))
    write_result(folder, _result(run, folder))
    return folder


def write_result(folder: Path, result: dict[str, Any]) -> None:
    """Write result.json, and a page with the bounds that it states."""
    text = json.dumps(result, indent=2) + "\n"
    (folder / "result.json").write_text(text)
    write_page(folder, result)


def edit_result(folder: Path, edit: Edit, whole: bool = True) -> None:
    """Change result.json as somebody would who also makes the page anew; or, not `whole`, it alone."""
    result = json.loads((folder / "result.json").read_text())
    edit(result)
    if whole:
        write_result(folder, result)
    else:
        (folder / "result.json").write_text(json.dumps(result))


def write_page(folder: Path, result: dict[str, Any], edit: Callable[[str], str] = str) -> None:
    """Write a page with the bounds of the summary, sealed after the edit."""
    stated = hashlib.sha256((folder / "result.json").read_bytes()).hexdigest()
    lines = [*_bounds(result), *_sentences(result)]
    page = edit(
        "<!doctype html>\n<html><head>\n"
        f'<meta name="fedcert-result" content="{stated}">\n'
        f'<meta name="fedcert-page" content="{"0" * 64}">\n'
        "</head><body>\n<p>Proven &ge;</p>\n" + "\n".join(lines) + "\n</body></html>\n"
    )
    own = page_digest(page.encode(), "0" * 64)
    place = page.index("0" * 64)
    (folder / "report.html").write_text(page[:place] + own + page[place + 64 :])


def _bounds(result: dict[str, Any]) -> Iterator[str]:
    for row in result["summary"]:
        claim = f"{row['claim']} {row['rule']} {row['events']} {row['epsilon']}"
        for side in ("lower", "upper"):
            if (value := row[side]) is not None:
                shown = (percent_down if side == "lower" else percent_up)(value).removesuffix(" %")
                named = f'value="{value!r}" data-claim="{claim}" data-side="{side}"'
                yield f'<data class="bound" {named}>{shown}</data>'


def _sentences(result: dict[str, Any]) -> Iterator[str]:
    """The headline and the conclusions, as a page holds them."""
    rows = [own for own in result["conclusions"] if isinstance(own, dict)]
    said = [own for epsilon in result["config"]["epsilon"] for own in rows if own["epsilon"] == epsilon]
    if said:
        yield f'<p class="sentence">{escape(said[0]["sentence"])}</p>'
    yield '<section id="conclusions"><dl>'
    for own in said:
        assumed = "".join(f"<li>{escape(text)}</li>" for text in own["assumptions"])
        yield f"<dd>{escape(own['sentence'])}\n<details><ul>{assumed}</ul></details></dd>"
    yield "</dl></section>"


def _row(own: Found) -> dict[str, Any]:
    claim, lower, upper = own.certificate.claim, own.certificate.mean_lower, own.certificate.mean_upper
    row = {"claim": claim.kind, "rule": claim.rule, "events": claim.events, "properties": INPUTS,
           "seconds": 0.1, "certificate": own.name, "reproved": False}  # fmt: skip
    if own.part == "radii":
        means = {"mean": mean_down(own.radius), "median": median_down(own.radius)}
        return row | {"threshold": THRESHOLD} | means
    row |= {"epsilon": own.radius[0], "lower": lower, "upper": upper}
    return row | ({"margin": MARGIN} if own.part == "margins" else {})


def _confidence_row(own: Drawn) -> dict[str, Any]:
    found = own.bound
    shares = {name: getattr(found, name).double().mean().item() / DRAWS for name in ("proven", "broken")}
    return {"rule": "fedavg", "epsilon": own.epsilon, "lower": found.mean_lower, "upper": found.mean_upper,
            "properties": INPUTS, "draws": DRAWS, "confidence": found.confidence, "seconds": 0.1,
            "certificate": own.name, "reproved": False, **shares}  # fmt: skip


def _result(run: SmallRun, folder: Path) -> dict[str, Any]:
    parts = ("summary", "margins", "radii")
    rows = {part: [_row(own) for own in run.found if own.part == part] for part in parts}
    subject = run.found[0].properties.subject
    return {
        "fedcert": "0.1.0",
        "config": {"dataset": "digits", "inputs": "first", "epsilon": list(RADII), "radius": [THRESHOLD],
                   "hidden": [], "margin": 0.0, "softmax_margins": [MARGIN], "rule": "fedavg",
                   "weights": "uniform", "confidence": 0.95, "confidence_draws": DRAWS, "seed": 0},
        "clients": [{"client": m.client, "examples": m.examples, "digest": m.digest} for m in run.messages],
        "refused": {},
        "accuracy": 0.9,
        "accuracy_by_rule": {"fedavg": 0.9},
        "inputs": {"dataset": "digits", "chosen": "first", "count": INPUTS, "available": 90, "seed": None,
                   "digest": as_checked(subject).digest, "accuracy": 1.0},
        "norm": "linf",
        **rows,
        "confidence": [_confidence_row(own) for own in run.drawn],
        "conclusions": [own.entry() for own in _conclusions(run, folder)],
        "estimates": [{"name": "mc-ibp", "rule": "fedavg", "epsilon": 0.001, "value": 0.9, "samples": 10,
                       "confidence_interval": [0.8, 1.0]}],
        "timings": {"training": 1.5},
        "histograms": [[5, 5], [6, 5]],
    }  # fmt: skip


def _conclusions(run: SmallRun, folder: Path) -> Iterator[Conclusion]:
    for epsilon in RADII:
        own = [
            one for one in run.found
            if one.part != "radii" and one.radius[0] == epsilon and one.certificate.claim.kind != "local"
        ]  # fmt: skip
        usual = [one.certificate for one in own if one.part == "summary"]
        margins = [tuple(one.certificate.lower.tolist()) for one in own if one.part == "margins"]
        yield from conclude(
            Bounds(
                read(folder / "certificates" / own[0].name, folder / "messages").subject,
                "fedavg",
                tuple(torch.stack([one.lower for one in usual]).amax(0).tolist()),
                tuple(torch.stack([one.upper for one in usual if one.upper is not None]).amin(0).tolist()),
                tuple((MARGIN, lower) for lower in margins),
                2,
                *(_sampled(one.bound) for one in run.drawn if one.epsilon == epsilon),
            )
        )


def _sampled(own: ConfidenceBound) -> Sampled:
    return Sampled(tuple(own.lower.tolist()), tuple(own.upper.tolist()), own.confidence, own.draws)


def _upper(own: Found, p: int) -> float | None:
    return None if own.certificate.upper is None else own.certificate.upper[p].item()


def _gallery(run: SmallRun) -> list[dict[str, Any]]:
    labels = run.found[0].properties.subject.labels.tolist()
    return [
        {"label": labels[p], "index": p, "image": "data:", "survival": {}, "attacked": False,
         "bounds": [
             {"claim": own.certificate.claim.kind, "rule": "fedavg", "events": "projected",
              "epsilon": own.radius[p], "lower": own.certificate.lower[p].item(), "upper": _upper(own, p)}
             for own in run.found if own.part == "summary"],
         "radii": [own.radius[p] for own in run.found if own.part == "radii"]}
        for p in range(INPUTS)
    ]  # fmt: skip


def _table(run: SmallRun) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for own in run.found:
        claim, labels = own.certificate.claim, own.properties.subject.labels.tolist()
        for p in range(INPUTS if own.part != "margins" else 0):
            upper, threshold = _upper(own, p), repr(THRESHOLD) if own.part == "radii" else ""
            about = [p, p, labels[p], repr(own.radius[p]), threshold, claim.kind, claim.rule, claim.events]
            lower = own.certificate.lower[p].item()
            writer.writerow([*about, repr(lower), "" if upper is None else repr(upper), "linf", "first"])
    for one in run.drawn:
        labels = one.problem.properties.subject.labels.tolist()
        for p in range(INPUTS):
            bounds = [repr(one.bound.lower[p].item()), repr(one.bound.upper[p].item())]
            about = [p, p, labels[p], repr(one.epsilon), "", "confidence", "fedavg", ""]
            writer.writerow([*about, *bounds, "linf", "first"])
    return text.getvalue()
