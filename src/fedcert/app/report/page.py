"""Reports, each one self-contained HTML page: pure functions of the contents of files."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fedcert.app.report import measurement_tables, overview, run_tables
from fedcert.app.report.charts import accuracy_chart, radius_chart
from fedcert.app.report.formats import item, raised
from fedcert.app.report.gallery import Shown, grid_cards, run_cards
from fedcert.app.report.given_table import given_inputs
from fedcert.app.report.picture import Picture
from fedcert.app.report.run_content import by_radius, empty_families, headline, headline_radius, reproved
from fedcert.app.report.runs import FinishedRun, federations, merged
from fedcert.app.report.seal import OPEN, sealed
from fedcert.app.report.table import Item, Table
from fedcert.app.report.tables import job_table
from fedcert.app.report.words import (
    asked,
    chosen_inputs,
    distinct,
    is_accuracy,
    network_words,
    noun,
    participants,
    posterior_scale,
    scale_name,
)
from fedcert.app.stopwatch import duration
from fedcert_check.confidence.level import confidence_words


def run_page(run: FinishedRun, result: str = OPEN) -> str:
    """The report of a run, with its own digest.

    Args:
        run: the run.
        result: the digest of the result.json that it is made from.
    """
    left_out = empty_families(run.summary)
    known = by_radius(run, left_out)
    proven_again, certificates = reproved(run.summary)
    main = next(each for each in known if each.radius == headline_radius(run.summary))
    page = _render(
        "run.html",
        run=run,
        result_digest=result,
        own_digest=OPEN,
        summary=run.summary,
        sentence=next(headline(run.summary), ""),
        clients=participants(run.summary),
        inputs=chosen_inputs(run.summary["inputs"], noun(run.summary)),
        noun=noun(run.summary),
        asked=asked(run.summary),
        is_accuracy=is_accuracy(run.summary),
        boxed=run.summary["norm"] == "box",
        known=known,
        main=main,
        weighted=run.summary["norm"] == "weighted-linf",
        rows=measurement_tables.inputs(run) or given_inputs(run),
        by_client=measurement_tables.by_client(run),
        left_out=left_out,
        reproved=proven_again,
        certificates=certificates,
        accuracy_chart=accuracy_chart(run),
        radius_chart=radius_chart(run),
        tables=run_tables,
        cards=run_cards(run, left_out),
        command="run" if run.summary["histograms"] is not None else "certify --messages messages",
        domain=(run.config.get("given") or {"domain": (0, 1)})["domain"],
        config=json.dumps(run.config, indent=2),
    )
    return sealed(page)


def grid_page(
    runs: Sequence[FinishedRun], tables: Sequence[Table], pictures: Sequence[Picture], command: str
) -> str:
    """The report of a grid.

    Args:
        runs: the runs of the grid, at least one.
        tables: the tables to show.
        pictures: the figures to show.
        command: the command line that reproduces the grid.
    """
    whole = merged(runs)
    typical, means = overview.typical(whole), overview.means_by_scale(whole)
    common, varying = overview.settings(runs)
    return _render(
        "grid.html",
        runs=runs,
        overview=means,
        strongest=overview.strongest_by_scale(whole),
        survival={name: [b.survival for b in each if b.survival is not None] for name, each in means.items()},
        accuracy=overview.accuracy_by_scale(whole),
        about=overview.about(typical),
        selected=any(run.selected for run in typical),
        seconds=overview.seconds(runs),
        federations=len(federations(runs)),
        properties=sum(len(run.properties) for run in runs),
        datasets=distinct(run.dataset for run in runs),
        versions=distinct(run.summary["fedcert"] for run in runs),
        partitions=overview.partitions(runs),
        job_table=job_table(runs),
        studies=studies(tables),
        pictures=[(picture, inline_svg(picture)) for picture in pictures],
        whole=whole,
        typical=len(typical),
        cards=grid_cards(typical),
        command=command,
        common=json.dumps(common, indent=2),
        varying=varying,
    )


def studies(tables: Sequence[Table]) -> list[list[Table]]:
    """Tables that are alike together, in the order of the first of each."""
    found: dict[str, list[Table]] = {}
    for table in tables:
        found.setdefault(table.study or f"table {table.name}", []).append(table)
    return list(found.values())


def inline_svg(picture: Picture) -> Markup:
    """The picture as a part of a page, with identifiers that are unique to it."""
    own = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{picture.name}-", picture.svg)
    own = re.sub(r"(fill|stroke): #([0-9a-f]{6})\b", r"\1: var(--c-\2, #\2)", own)  # dark pages have others
    return Markup(own)  # drawn by the program that writes the report, not read from results


def symbols(text: str) -> Markup:
    """Text with superscripts in its symbols, such as L^tr."""
    return Markup(raised(str(escape(text))))


def compact(claims: Sequence[Shown]) -> str:
    """What each claim proves at each radius, for the page's script: lower, upper, survival and text."""
    each = [[(b.lower, b.upper, b.survival, b.text) for _, b in claim.at] for claim in claims]
    return json.dumps(each, ensure_ascii=False)


def as_items(table: Table) -> list[list[Item]]:
    """The rows of a table as a page shows and sorts them."""
    return [
        [item(value, column) for value, column in zip(row, table.columns, strict=True)] for row in table.rows
    ]


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("fedcert.app.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = environment.get_template("script.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals |= {"script": Markup(script), "script_digest": digest}
    environment.globals["compact"] = compact
    environment.filters |= {
        "as_items": as_items,
        "confidence_words": confidence_words,
        "duration": duration,
        "network": network_words,
        "scale": scale_name,
        "posterior_scale": posterior_scale,
        "symbols": symbols,
    }
    return environment
