"""`fedcert grid` and `python -m reproduction` offer the same options."""

import inspect

from fedcert.app import cli
from fedcert.app.grid.command import GridOptions
from reproduction import __main__ as reproduction


def test_both_commands_have_the_options_of_a_grid() -> None:
    ours, papers = (inspect.signature(command).parameters for command in (cli.grid, reproduction.reproduce))
    for name in GridOptions.__dataclass_fields__:
        assert ours[name].annotation is papers[name].annotation
        assert ours[name].default == papers[name].default == getattr(GridOptions(), name)
