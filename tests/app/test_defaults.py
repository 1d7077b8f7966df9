"""Help shows every default, and shows what a run really does."""

import inspect
import re

import pytest
from terminal import exit_code

from fedcert.app import cli
from fedcert.app.config import TRAINERS, RunConfig
from fedcert.app.defaults import as_typed, defaults_in, settings

DEPENDENT = ["properties", "network", "hidden", "weights", "epsilon"]  # on the data set
COMMANDS = ("run", "grid", "certify", "report", "check")


@pytest.fixture
def options(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, str]:
    """What the help of a command says of each option, without the frame."""
    monkeypatch.setenv("COLUMNS", "200")
    assert exit_code(monkeypatch, cli.main, "fedcert", request.param, "--help") == 0
    text = " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
    entries = re.split(r" (?=--(?!no-)[a-z-]+ (?:--no-[a-z-]+ )?(?:<|[A-Z]))", text)
    return {entry.split()[0].removeprefix("--"): entry for entry in entries[1:]}


@pytest.mark.parametrize("options", COMMANDS, indirect=True)
def test_every_option_shows_its_default(options: dict[str, str]) -> None:
    """An option whose setting has none in `RunConfig` says so in words: typer.Option(show_default="…")."""
    assert len(options) >= 2
    for name, said in options.items():
        if name not in ("help", "version"):
            assert "[default: " in said or "[required]" in said, said


@pytest.mark.parametrize("options", ["run"], indirect=True)
def test_the_defaults_of_a_run_are_those_of_its_configuration(options: dict[str, str]) -> None:
    config = RunConfig()
    shown = [name for name in inspect.signature(cli.run).parameters if name in RunConfig.model_fields]
    assert len(shown) > 20
    for name in shown:
        option, value = name.replace("_", "-"), RunConfig.model_fields[name].default
        text = re.search(r"\[default: (.*?)\]", options[option])
        assert text is not None, options[option]
        if value in (None, ()) or option in DEPENDENT:
            assert text.group(1).startswith("("), f"--{option} says in words what its default is"
        elif isinstance(value, bool):
            assert text.group(1) == (option if value else f"no-{option}")
        else:
            assert text.group(1) == as_typed(value)
            assert RunConfig.model_validate({name: text.group(1)}) == config, "typed by hand, it is the same"


@pytest.mark.parametrize("options", ["run"], indirect=True)
@pytest.mark.parametrize("name", DEPENDENT)
def test_a_default_that_depends_on_the_data_set_is_shown_for_each(options: dict[str, str], name: str) -> None:
    usual, other = (as_typed(getattr(RunConfig(dataset=own), name)) for own in ("mnist", "heart-disease"))
    assert f"[default: ({usual}; " in options[name]
    assert f"heart-disease and tables: {other})]" in options[name]


def test_the_source_is_read_as_python_reads_it() -> None:
    plain = {name: value for name, value in settings().items() if name != "model_config"}
    for name, value in plain.items():
        assert RunConfig.model_fields[name].default == value
    assert plain.keys() >= RunConfig.model_fields.keys() - TRAINERS.keys()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a: int = 3", {"a": 3}),
        ("a: tuple[int, ...] = (1, 2)", {"a": (1, 2)}),
        ("a: float = -1e-3", {"a": -1e-3}),
        ("a: str | None = None", {"a": None}),
        ("a: int = FEW", {"a": 7}),
        ("a: int = Field(default=3, ge=1)", {"a": 3}),
        ("a: int = Field(ge=1)", {}),
        ("a: int", {}),
        ("a: Thing = Thing()", {}),
        ("a: int = UNKNOWN", {}),
    ],
)
def test_only_what_is_plain_in_the_source_is_a_default(line: str, found: dict[str, object]) -> None:
    source = f"FEW: int = 7\nclass Other:\n    b: int = 1\nclass Model:\n    {line}\n"
    assert defaults_in(source, "Model") == found
