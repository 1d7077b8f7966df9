"""The directive `commands`: usage, words and options of every command of a Typer application."""

from importlib import import_module
from typing import Any

import typer
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from typer.main import get_command

from fedcert.app.defaults import CommandOfSettings, with_default


def options_of(command: Any) -> list[tuple[list[str], str, str]]:
    """Names, meaning and default of each option and argument, as its help shows them.

    Args:
        command: of Typer, with its defaults filled in.
    """
    context = typer.Context(command)
    rows = []
    for param in command.get_params(context):
        shown = param.make_metavar(context)
        default = getattr(param, "show_default", None)
        if not isinstance(default, str):
            value = param.get_default(context, call=False)
            default = "" if value is None or default is False else _typed(value)
        names = param.opts + param.secondary_opts
        if param.param_type_name == "argument":
            names = [shown]
        rows.append((names, getattr(param, "help", None) or "", default.strip("()")))
    return rows


def _typed(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


class Commands(Directive):
    """`commands:: module:app program`, a section for each command."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """The sections."""
        module, name = self.arguments[0].split(":")
        command = get_command(getattr(import_module(module), name))
        own = getattr(command, "commands", None)
        if own is None:
            return self._parts(self.arguments[1], command)
        return [self._section(f"{self.arguments[1]} {key}", one) for key, one in own.items()]

    def _section(self, usage: str, command: Any) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(usage)])
        section += nodes.title(text=usage)
        section += self._parts(usage, command)
        return section

    def _parts(self, usage: str, command: Any) -> list[nodes.Node]:
        if isinstance(command, CommandOfSettings):
            command.params = [with_default(param) for param in command.params]
        rows = options_of(command)
        words = [
            nodes.paragraph(text=part) for part in (command.help or "").replace("\b\n", "").split("\n\n")
        ]
        return [*words, *_examples(command.epilog or ""), _table(rows)]


def _examples(epilog: str) -> list[nodes.Node]:
    lines = [line.strip(" $") for line in epilog.split("\n\n")[1:]]
    return [nodes.literal_block("\n".join(lines), "\n".join(lines), language="sh")] if lines else []


def _table(rows: list[tuple[list[str], str, str]]) -> nodes.table:
    table, group = nodes.table(), nodes.tgroup(cols=3)
    table += group
    for width in (3, 5, 2):
        group += nodes.colspec(colwidth=width)
    head, body = nodes.thead(), nodes.tbody()
    head += _row([nodes.Text("option"), nodes.Text("meaning"), nodes.Text("default")])
    for names, meaning, default in rows:
        named = [nodes.inline("", "", *_separated(names)), nodes.Text(meaning), nodes.Text(default)]
        body += _row(named)
    group += [head, body]
    return table


def _separated(names: list[str]) -> list[nodes.Node]:
    """Each name by itself, so that a narrow table breaks lines between names."""
    parts = [part for name in names for part in (nodes.Text(", "), nodes.literal(text=name))]
    return parts[1:]


def _row(cells: list[nodes.Node]) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        entry, paragraph = nodes.entry(), nodes.paragraph()
        paragraph += cell
        entry += paragraph
        row += entry
    return row


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
