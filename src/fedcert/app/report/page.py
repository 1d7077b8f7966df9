"""Reports as one self-contained HTML page each: pure functions of the contents of files."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fedcert.app.report import overview, run_tables
from fedcert.app.report.bounds import Bounds
from fedcert.app.report.formats import item, raised
from fedcert.app.report.gallery import grid_cards, run_cards
from fedcert.app.report.picture import Picture
from fedcert.app.report.runs import FinishedRun, federations, merged
from fedcert.app.report.table import Item, Table
from fedcert.app.report.tables import job_table
from fedcert.app.report.words import distinct, hidden, participants, scale_name
from fedcert.app.stopwatch import duration


def run_page(run: FinishedRun) -> str:
    """The report of a run."""
    survival, best = run.estimate("attack-survival"), run.strongest
    return _render(
        "run.html",
        run=run,
        summary=run.summary,
        clients=participants(run.summary),
        best=None if best is None else Bounds.of(best, survival),
        hierarchy=[
            (Bounds.of(row, survival), [entry["bounds"][i]["lower"] for entry in run.properties])
            for i, row in enumerate(run.summary["summary"])
        ],
        tables=run_tables,
        cards=run_cards(run),
        command="run" if run.summary["histograms"] is not None else "certify --messages messages",
        config=json.dumps(run.config, indent=2),
    )


def grid_page(
    runs: Sequence[FinishedRun], tables: Sequence[Table], pictures: Sequence[Picture], command: str
) -> str:
    """The report of a grid.

    Args:
        runs: its runs, at least one.
        tables: what they say together.
        pictures: what is to be seen of it.
        command: the command line that makes the grid again.
    """
    whole = merged(runs)
    typical, means = overview.typical(whole), overview.means_by_scale(whole)
    common, varying = overview.settings(runs)
    return _render(
        "grid.html",
        runs=runs,
        overview=means,
        strongest={name: max(each, key=lambda b: b.lower) for name, each in means.items() if each},
        seconds=overview.seconds(runs),
        federations=len(federations(runs)),
        properties=sum(len(run.properties) for run in runs),
        datasets=distinct(run.dataset for run in runs),
        versions=distinct(run.summary["fedcert"] for run in runs),
        partitions=overview.partitions(runs),
        job_table=job_table(runs),
        tables=tables,
        pictures=[(picture, inline_svg(picture)) for picture in pictures],
        whole=whole,
        typical=len(typical),
        cards=grid_cards(typical),
        command=command,
        common=json.dumps(common, indent=2),
        varying=varying,
    )


def inline_svg(picture: Picture) -> Markup:
    """The picture as a part of a page, with identifiers that no other picture has."""
    own = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{picture.name}-", picture.svg)
    return Markup(own)  # drawn by the program that writes the report, not read from results


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
        "scale": scale_name,
        "symbols": symbols,
    }
    return environment
