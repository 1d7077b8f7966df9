"""All tables of a grid."""

from collections.abc import Sequence

from fedcert.experiments.report.cells import Cell, order
from fedcert.experiments.report.table import Table
from fedcert.experiments.report.tables.beside_paper import aggregates, beside_paper, quoted_figures
from fedcert.experiments.report.tables.ceilings import ceilings
from fedcert.experiments.report.tables.heterogeneity import between, grouped_tables
from fedcert.experiments.report.tables.ratios import ratios
from fedcert.experiments.report.tables.screening import screening
from fedcert.experiments.report.tables.sweeps import against_clients, against_scale
from fedcert.experiments.report.tables.times import times

__all__ = ["all_tables"]


def all_tables(cells: Sequence[Cell]) -> list[Table]:
    """Every table for which there are data.

    Args:
        cells: of one grid or several.
    """
    makers = (
        grouped_tables,
        beside_paper,
        aggregates,
        ratios,
        screening,
        ceilings,
        between,
        against_scale,
        against_clients,
        times,
        quoted_figures,
    )
    ordered = sorted(cells, key=order)
    return [table for make in makers for table in make(ordered)]
