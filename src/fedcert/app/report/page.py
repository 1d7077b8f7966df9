"""Reports as one self-contained HTML page each: pure functions of the contents of files."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fedcert.app.console import participants
from fedcert.app.report import grid_sheets, run_tables
from fedcert.app.report.formats import item, raised
from fedcert.app.report.gallery import grid_cards, run_cards
from fedcert.app.report.job import (
    Bounds,
    Job,
    bounds,
    distinct,
    duration,
    estimate,
    hidden,
    scale,
    strongest,
)
from fedcert.app.report.picture import Picture
from fedcert.app.report.table import Item, Table
from fedcert.app.result import Property, Summary


def run_page(summary: Summary, properties: Sequence[Property]) -> str:
    """The report of a run.

    Args:
        summary: the content of result.json.
        properties: the content of properties.json.
    """
    survival = estimate(summary, "attack-survival")
    best = strongest(summary)
    return _render(
        "run.html",
        summary=summary,
        properties=properties,
        clients=participants(summary),
        best=None if best is None else bounds(best, survival),
        hierarchy=[
            (bounds(row, survival), [entry["bounds"][i]["lower"] for entry in properties])
            for i, row in enumerate(summary["summary"])
        ],
        tables=run_tables,
        cards=run_cards(summary, properties),
        command="run" if summary["histograms"] is not None else "certify --messages messages",
        config=json.dumps(summary["config"], indent=2),
    )


def grid_page(jobs: Sequence[Job], tables: Sequence[Table], pictures: Sequence[Picture], command: str) -> str:
    """The report of a grid.

    Args:
        jobs: its runs, at least one.
        tables: what they say together.
        pictures: what is to be seen of it.
        command: the command line that makes the grid again.
    """
    typical = grid_sheets.typical(jobs)
    overview = grid_sheets.overview(jobs)
    common, varying = grid_sheets.settings(jobs)
    return _render(
        "grid.html",
        jobs=jobs,
        overview=overview,
        strongest=grid_sheets.strongest(overview),
        seconds=grid_sheets.seconds(jobs),
        federations=grid_sheets.federations(jobs),
        properties=sum(len(job.properties) for job in jobs),
        datasets=distinct(job.summary["config"]["dataset"] for job in jobs),
        versions=distinct(job.summary["fedcert"] for job in jobs),
        partitions=grid_sheets.partitions(jobs),
        job_table=grid_sheets.job_table(jobs),
        tables=tables,
        pictures=[(picture, inline_svg(picture)) for picture in pictures],
        typical=len(typical),
        cards=grid_cards(typical),
        command=command,
        common=json.dumps(common, indent=2),
        varying=varying,
    )


def inline_svg(picture: Picture) -> Markup:
    """The picture as a part of a page, with identifiers that no other picture has."""
    own = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{picture.name}-", picture.svg)
    return Markup(own)  # drawn by this package


def symbols(text: str) -> Markup:
    """Text with its symbols raised: L^tr."""
    return Markup(raised(str(escape(text))))


def compact(each: Sequence[Bounds]) -> str:
    """Bounds for the page's script: lower, upper, survival and text."""
    return json.dumps([(b.lower, b.upper, b.survival, b.text) for b in each], ensure_ascii=False)


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
        "duration": duration,
        "hidden": hidden,
        "scale": scale,
        "symbols": symbols,
    }
    return environment
