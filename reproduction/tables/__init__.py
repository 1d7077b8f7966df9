"""The tables of the reproduction: the paper's own, ours in its form, and ours beside it."""

from collections.abc import Sequence
from functools import partial

from fedcert.app.report.measures import proving
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.sweeps import sweep_table
from fedcert.app.report.table import Table
from fedcert.app.report.tables import MESSAGES
from fedcert.app.report.write import TableMaker
from reproduction import paper
from reproduction.tables.beside_paper import aggregates, beside_paper, quoted_figures
from reproduction.tables.ceilings import ceilings
from reproduction.tables.heterogeneity import between, grouped_tables
from reproduction.tables.overall import overall
from reproduction.tables.ratios import ratios
from reproduction.tables.screening import screening
from reproduction.tables.times import times


def of_protocol(make: TableMaker) -> TableMaker:
    """The same tables of the runs that follow the paper's protocol; other studies have tables of their own.

    Args:
        make: makes the tables.
    """
    return lambda runs: make([run for run in runs if paper.follows_protocol(run)])


def against_clients(runs: Sequence[FinishedRun]) -> list[Table]:
    """Federations with more numbers of clients than the paper has, and what they cost."""
    costs = [cost.under("Cost") for cost in (MESSAGES, *map(proving, paper.EVENTS))]
    return sweep_table(runs, "clients", paper.MIN_CLIENT_COUNTS, costs)


TABLES: tuple[TableMaker, ...] = (
    of_protocol(grouped_tables),
    overall,
    beside_paper,
    aggregates,
    of_protocol(ratios),
    screening,
    ceilings,
    of_protocol(between),
    partial(sweep_table, setting="scale"),
    against_clients,
    of_protocol(times),
    quoted_figures,
)
