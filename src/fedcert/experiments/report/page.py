"""The report of a run: one self-contained HTML page."""

import json
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fedcert.certificate import percent_down, percent_up
from fedcert.experiments.console import participants
from fedcert.experiments.report.run_figures import bounds_figure, federation_figure
from fedcert.experiments.run import RunResult


def render(result: RunResult, summary: dict[str, Any]) -> str:
    """The page.

    Args:
        result: what the figures show.
        summary: the content of result.json, which the tables show.
    """
    environment = Environment(
        loader=PackageLoader("fedcert.experiments.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    federation = federation_figure(result)
    return environment.get_template("report.html").render(
        summary=summary,
        clients=participants(summary),
        command="run" if result.histograms is not None else "certify --messages messages",
        percent_down=percent_down,
        percent_up=percent_up,
        config=json.dumps(summary["config"], indent=2),
        bounds=Markup(bounds_figure(result)),
        federation=None if federation is None else Markup(federation),
    )
