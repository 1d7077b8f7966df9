"""All tables of a grid."""

from collections.abc import Sequence

from fedcert.app.report import paper
from fedcert.app.report.cells import Cell, order
from fedcert.app.report.table import Table
from fedcert.app.report.tables.beside_paper import aggregates, beside_paper, quoted_figures
from fedcert.app.report.tables.ceilings import ceilings
from fedcert.app.report.tables.heterogeneity import between, grouped_tables
from fedcert.app.report.tables.ratios import ratios
from fedcert.app.report.tables.screening import screening
from fedcert.app.report.tables.sweeps import against_clients, against_scale
from fedcert.app.report.tables.times import times

__all__ = ["all_tables"]


def all_tables(cells: Sequence[Cell]) -> list[Table]:
    """Every table for which there are data.

    Where the paper's protocol was run, tables in the paper's form speak of that alone; other studies have
    tables of their own.

    Args:
        cells: of one grid or several.
    """
    ordered = sorted(cells, key=order)
    protocol = [cell for cell in ordered if paper.follows_protocol(cell)] or ordered
    studies = (
        (grouped_tables, protocol),
        (beside_paper, ordered),
        (aggregates, ordered),
        (ratios, protocol),
        (screening, ordered),
        (ceilings, ordered),
        (between, protocol),
        (against_scale, ordered),
        (against_clients, ordered),
        (times, protocol),
        (quoted_figures, ordered),
    )
    return [table for make, chosen in studies for table in make(chosen)]
