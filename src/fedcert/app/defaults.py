"""The defaults of settings in the help of a command, read from `RunConfig`, their one source."""

import ast
from copy import copy
from functools import cache
from importlib.abc import InspectLoader
from importlib.util import find_spec
from typing import Any

from fedcert_check.command import ResumableCommand

SOURCE, MODEL = "fedcert.app.config", "RunConfig"


class CommandOfSettings(ResumableCommand):
    """A command whose options are settings of a run; its help shows the default of each setting.

    Options without a value are None, since a file or a preset may set them. An option whose setting has no
    plain default says in words what happens (`show_default="…"`).
    """

    def format_help(self, *arguments: Any, **named: Any) -> None:
        """Write the help, with the default of each setting."""
        self.params = [with_default(param) for param in self.params]
        super().format_help(*arguments, **named)


def with_default(param: Any) -> Any:
    """The option as its help should show it.

    Args:
        param: an option of a command of settings.
    """
    value = settings().get(param.name)
    if value in (None, ()) or isinstance(getattr(param, "show_default", False), str):
        return param
    shown = copy(param)
    shown.default, shown.show_default = value if isinstance(value, bool) else as_typed(value), True
    return shown


def as_typed(value: object) -> str:
    """A value as a user types it.

    >>> as_typed((64, 32)), as_typed(1e-3), as_typed("digits")
    ('64,32', '0.001', 'digits')
    """
    if isinstance(value, tuple | list):
        return ",".join(map(as_typed, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


@cache
def settings() -> dict[str, Any]:
    """The plain defaults of `RunConfig`, by setting.

    They are read from its source: importing it would load torch, and help has to be quick.
    """
    spec = find_spec(SOURCE)
    source = spec.loader.get_source(SOURCE) if spec and isinstance(spec.loader, InspectLoader) else None
    return defaults_in(source or "", MODEL)


def defaults_in(source: str, model: str) -> dict[str, Any]:
    r"""The defaults of a class that are literals, or names of literals in the same module.

    >>> defaults_in("FEW = 3\nclass A:\n    n: int = FEW\n    p: str = Field('x', max_length=2)", "A")
    {'n': 3, 'p': 'x'}

    Args:
        source: of the module.
        model: the name of the class.
    """
    constants: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            _note(node, constants, constants)
        elif isinstance(node, ast.ClassDef) and node.name == model:
            for field in node.body:
                if isinstance(field, ast.AnnAssign):
                    _note(field, constants, found)
    return found


def _note(node: ast.Assign | ast.AnnAssign, constants: dict[str, Any], found: dict[str, Any]) -> None:
    """Add what is assigned, if it is a literal, to what was found."""
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    value = node.value
    if isinstance(value, ast.Call) and getattr(value.func, "id", None) == "Field":
        named = [keyword.value for keyword in value.keywords if keyword.arg == "default"]
        value = next(iter([*value.args, *named]), None)
    if not isinstance(target, ast.Name) or value is None:
        return
    try:
        found[target.id] = constants[value.id] if isinstance(value, ast.Name) else ast.literal_eval(value)
    except (KeyError, ValueError):  # not a literal
        return
