"""Sweeps: runs that differ in one setting, whichever it is, and otherwise only in the seed."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from fedcert.app.report.grouping import (
    ARCHITECTURE,
    CLIENTS,
    CONCENTRATION,
    DATASET,
    SCALE,
    Key,
    flat_settings,
    grouped,
    spread_table,
)
from fedcert.app.report.measures import Measure, accuracy, bound, estimate, families, upper
from fedcert.app.report.overview import about
from fedcert.app.report.runs import FinishedRun, order
from fedcert.app.report.table import Column, Item, Table
from fedcert.app.report.words import RULE_NAMES, distinct

MIN_VALUES = 3  # minimum number of values of a setting in a sweep
MAX_NUMBER = 1e300  # values of this magnitude or more are not drawn
KEYS = {
    "hidden": ARCHITECTURE,
    "dataset": DATASET,
    "scale": SCALE,
    "clients": CLIENTS,
    "concentration": CONCENTRATION,
}
STUDY = "Certified probability against a setting"
WORDS = {"scale": "posterior scale", "clients": "the number of clients"}


def swept_settings(runs: Sequence[FinishedRun]) -> list[str]:
    """The settings that some runs sweep over."""
    names = distinct(name for run in runs for name in flat_settings(run) if name != "seed")
    return [name for name in names if sweeps(runs, name)]


def sweeps(
    runs: Sequence[FinishedRun], setting: str, min_values: int = MIN_VALUES
) -> list[list[FinishedRun]]:
    """Groups of runs that differ in one setting, and otherwise only in the seed.

    Args:
        runs: the runs of a grid.
        setting: the setting that differs.
        min_values: the minimum number of values of the setting.
    """

    def rest(run: FinishedRun) -> str:
        others = {k: v for k, v in flat_settings(run).items() if k not in {setting, "seed"}}
        return json.dumps(others, sort_keys=True)

    numbered = [run for run in runs if not math.isnan(place(run, setting))]
    if len({place(run, setting) for run in numbered}) < min_values:
        return []
    found = grouped(sorted(numbered, key=lambda run: (order(run), place(run, setting))), rest).values()
    return [group for group in found if len({place(run, setting) for run in group}) >= min_values]


def place(run: FinishedRun, setting: str) -> float:
    """A run's value of a setting as a coordinate: infinity if it is learned, NaN if it is not a number."""
    value: Any = flat_settings(run).get(setting)
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_NUMBER:
        return float(value)
    return math.inf if value == "learned" else math.nan


def words(setting: str) -> str:
    """A setting in words, for the middle of a sentence."""
    return WORDS.get(setting, setting.replace("_", " "))


def sweep_name(setting: str) -> str:
    """The stem of the files that a sweep is written to.

    >>> sweep_name("clients"), sweep_name("scale"), sweep_name("server_rate")
    ('clients', 'scales', 'server-rates')
    """
    return f"{setting.removesuffix('s')}s".replace("_", "-")


def rule_names(runs: Iterable[FinishedRun]) -> str:
    """The deployed rules in words, for the middle of a sentence."""
    return " and ".join(distinct(RULE_NAMES.get(run.config["rule"], run.config["rule"]) for run in runs))


def certified(runs: Sequence[FinishedRun]) -> list[Measure]:
    """The measures of the deployed rule: accuracy, bounds by events, then estimates."""
    bounds = [
        make(claim, None, events).under(events).shown_in(events)
        for events in families(runs)
        for claim in ("transported", "direct")
        for make in (bound, upper)
    ]
    return [accuracy(), *bounds, estimate("mc-ibp", None), estimate("attack-survival", None)]


def sweep_table(
    runs: Sequence[FinishedRun],
    setting: str,
    min_values: int = MIN_VALUES,
    costs: Sequence[Measure] = (),
) -> list[Table]:
    """A table of all sweeps over a setting, with one row per value.

    Args:
        runs: the runs of a grid.
        setting: the setting that differs.
        min_values: the minimum number of values of the setting.
        costs: further measures to show.
    """
    chosen = [run for group in sweeps(runs, setting, min_values) for run in group]
    swept = KEYS.get(setting, Key(Column(setting.replace("_", " ")), lambda run: _item(run, setting)))
    keys = [*(key for name, key in KEYS.items() if name != setting), swept]
    title = f"Certified probability{' and cost' if costs else ''} against {words(setting)}"
    if not chosen:
        return []
    caption = (
        f"{rule_names(chosen)}, all else equal; estimates are no bounds. Bounds are means over"
        f" {about(chosen)}. Acc.: of the mean model on all test inputs."
    )
    table = Table(sweep_name(setting), title, caption, study=STUDY, choice=words(setting))
    return spread_table(table, chosen, keys, [*certified(chosen), *costs], setting)


def sweep_tables(runs: Sequence[FinishedRun]) -> list[Table]:
    """One table for every setting that is swept over."""
    return [table for setting in swept_settings(runs) for table in sweep_table(runs, setting)]


def _item(run: FinishedRun, setting: str) -> Item:
    return Item(f"{place(run, setting):g}", place(run, setting))
