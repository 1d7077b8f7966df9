"""A table as text: CSV for programs, Markdown for people, LaTeX for articles."""

import csv as csv_module
import io
import math
import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from fedcert.app.report.table import Column, Item, Spread, Table, Value
from fedcert.wire import atomic

DASH = "–"
LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": "$<$", ">": "$>$", "|": "$|$",
    "×": r"$\times$", "±": r"$\pm$", "≤": r"$\le$", "≥": r"$\ge$", "−": "$-$", "–": "--", "…": r"\dots{}",
    "ε": r"$\epsilon$", "σ": r"$\sigma$", "α": r"$\alpha$", "γ": r"$\gamma$", "·": r"$\cdot$",
    "ℓ": r"$\ell$", "∞": r"$\infty$",
}  # fmt: skip

SYMBOL = r"(\b[A-Z]\^[a-z]+)"  # a letter with a superscript, such as L^tr


def write_tables(tables: Iterable[Table], folder: Path) -> None:
    """Write every table in every format.

    Args:
        tables: the tables.
        folder: the folder to write to, as NAME.csv, NAME.md and NAME.tex.
    """
    for table in tables:
        for suffix, text in (("csv", csv(table)), ("md", markdown(table)), ("tex", latex(table))):
            atomic.write(folder / f"{table.name}.{suffix}", text)


def shown(value: Value, column: Column) -> str:
    """A value as readable text, rounded as its column says; a spread as mean ± sample standard deviation.

    Args:
        value: the value in the table.
        column: the value's column, which says how to round.
    """
    if isinstance(value, Spread):
        mean = _rounded(value.mean, column)
        return mean if value.deviation is None else f"{mean} ± {value.deviation:.{column.digits}f}"
    if isinstance(value, float | Fraction):
        return _rounded(value, column)
    if isinstance(value, Item):
        return value.text
    return DASH if value is None else str(value)


def item(value: Value, column: Column) -> Item:
    """A value as a page shows and sorts it; a spread is sorted by its mean.

    Args:
        value: the value in the table.
        column: the value's column, which says how to round.
    """
    match value:
        case Item():
            return value
        case Spread():
            return Item(shown(value, column), value.mean)
        case Fraction():
            return Item(shown(value, column), float(value))
        case _:
            return Item(shown(value, column), value)


def headings(table: Table) -> list[str]:
    """The columns' headings, each preceded by the heading of its group."""
    return [f"{column.group} {column.name}".strip() for column in table.columns]


def csv(table: Table) -> str:
    """The table as CSV, with all digits; a mean is followed by its deviation and its count.

    Args:
        table: the table to write.
    """
    spread = [any(isinstance(row[i], Spread) for row in table.rows) for i in range(len(table.columns))]
    text = io.StringIO()
    writer = csv_module.writer(text, lineterminator="\n")
    names = zip(headings(table), spread, strict=True)
    writer.writerow([name for heading, wide in names for name in _csv_names(heading, wide)])
    for row in table.rows:
        fields = zip(row, table.columns, spread, strict=True)
        writer.writerow([
            field for value, column, wide in fields for field in _csv_fields(value, column, wide)
        ])
    return text.getvalue()


def markdown(table: Table) -> str:
    """The table as Markdown: a heading, the table and its caption.

    Args:
        table: the table to write.
    """
    rules = ["---:" if number else ":---" for number in table.numeric]
    body = [
        [shown(value, column) for value, column in zip(row, table.columns, strict=True)] for row in table.rows
    ]
    lines = ["| " + " | ".join(map(_one_cell, row)) + " |" for row in [headings(table), rules, *body]]
    return raised(f"### {table.title}\n\n" + "\n".join(lines) + f"\n\n{table.caption}\n")


def latex(table: Table) -> str:
    r"""The table as LaTeX: a `table*` in the style of booktabs; needs \usepackage{booktabs,graphicx}.

    Args:
        table: the table to write.
    """
    kinds = "".join("r" if number else "l" for number in table.numeric)
    lines = [
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{escaped(table.title)}. {escaped(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        r"\scriptsize",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        *_group_headings(table),
        " & ".join(escaped(column.name) for column in table.columns) + r" \\",
        r"\midrule",
    ]
    for i, row in enumerate(table.rows):
        if i and row[0] != table.rows[i - 1][0]:
            lines.append(r"\addlinespace")
        lines.append(" & ".join(map(_latex_cell, row, table.columns)) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}%", "}", r"\end{table*}", ""]
    return "\n".join(lines)


def raised(text: str) -> str:
    """Text for HTML and Markdown; L^tr becomes a symbol with a superscript.

    Args:
        text: text that is already escaped.

    >>> raised("L^tr of 5 %")
    'L<sup>tr</sup> of 5 %'
    """
    return re.sub(SYMBOL, lambda found: f"{found[0][0]}<sup>{found[0][2:]}</sup>", text)


def escaped(text: str) -> str:
    r"""Text for LaTeX; L^tr becomes a symbol with a superscript.

    Args:
        text: plain text.

    >>> escaped("L^tr of 5 %")
    '$L^{\\mathrm{tr}}$ of 5 \\%'
    """
    symbols = re.split(SYMBOL, text)
    return "".join(
        rf"${part[0]}^{{\mathrm{{{part[2:]}}}}}$" if i % 2 else "".join(LATEX.get(c, c) for c in part)
        for i, part in enumerate(symbols)
    )


def _rounded(value: float | Fraction, column: Column) -> str:
    if column.rounding == "nearest" or not math.isfinite(value):
        return f"{float(value):.{column.digits}f}"
    towards, unit = (math.floor if column.rounding == "down" else math.ceil), 10**column.digits
    return f"{towards(Fraction(value) * unit) / unit:.{column.digits}f}"


def _csv_names(heading: str, spread: bool) -> list[str]:
    return [heading, f"{heading} sd", f"{heading} n"] if spread else [heading]


def _csv_fields(value: Value, column: Column, spread: bool) -> list[Value]:
    match value:
        case Spread():
            return [value.mean, value.deviation, value.count]
        case Fraction():
            field: Value = _float(value, column)
        case Item():
            field = value.text
        case _:
            field = value
    return [field, None, None] if spread else [field]


def _float(value: Fraction, column: Column) -> float:
    """The nearest float, rounded in the direction in which a bound stays a bound."""
    near = float(value)
    if column.rounding == "down" and near > value:
        return math.nextafter(near, -math.inf)
    return math.nextafter(near, math.inf) if column.rounding == "up" and near < value else near


def _one_cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


def _latex_cell(value: Value, column: Column) -> str:
    if isinstance(value, Spread | float | Fraction):
        return "$" + shown(value, column).replace(" ± ", r"\pm") + "$"
    return escaped(shown(value, column))


def _group_headings(table: Table) -> list[str]:
    """A row of the headings that neighbouring columns share, with a rule under each."""
    if not table.groups:
        return []
    names, rules, start = [], [], 1
    for group, width in table.groups:
        names.append(rf"\multicolumn{{{width}}}{{c}}{{{escaped(group)}}}" if group else "&" * (width - 1))
        rules += [rf"\cmidrule(lr){{{start}-{start + width - 1}}}"] if group else []
        start += width
    return [" & ".join(names) + r" \\", "".join(rules)]
