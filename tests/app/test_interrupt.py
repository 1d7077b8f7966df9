"""Ctrl-C ends a command with one line that says how to go on."""

from pathlib import Path

import pytest
from hostile import corrupt_neighbour
from interrupts import interrupted
from small_runs import SMALL_RUN, as_toml
from terminal import exit_code

from fedcert.app import cli
from fedcert_check.command import Command, ResumableCommand

pytestmark = pytest.mark.slow
ENDLESS = SMALL_RUN | {"training": {"epochs": 10**7}}
FEDCERT = ["-m", "fedcert.app.cli"]
IMPORTING = 10.0  # seconds that workers may take to begin


def test_an_interrupted_run_says_how_to_resume_and_keeps_its_parts(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(as_toml(ENDLESS), encoding="utf-8")
    command = ["run", "--config", "run.toml", "--out", "my run"]
    begun = tmp_path / "my run/unfinished/config.json"
    code, lines = interrupted([*FEDCERT, *command], begun.exists, tmp_path)
    assert code == 130
    assert lines == ["fedcert: interrupted; to resume: fedcert run --config run.toml --out 'my run'"]
    assert begun.exists()


def test_an_interrupted_server_says_how_to_resume_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(as_toml(SMALL_RUN), encoding="utf-8")
    assert exit_code(monkeypatch, cli.main, "fedcert", "run", "--config", "run.toml", "--out", "run") == 0
    command = ["certify", "--messages", "run/messages", "--config", "run/result.json", "--out", "out"]
    begun = tmp_path / "out/unfinished/messages/client-0.safetensors"
    slowly = (
        "import fedcert.app.serve as serve, time\n"
        "serve.pose = lambda *_: time.sleep(600)\n"  # the step that follows the first parts
        "from fedcert.app.cli import main; main()"
    )
    code, lines = interrupted(["-c", slowly, *command], begun.exists, tmp_path, pause=0.2)
    assert code == 130
    assert lines == [f"fedcert: interrupted; to resume: fedcert {' '.join(command)}"]
    capsys.readouterr()
    assert exit_code(monkeypatch, cli.main, "fedcert", *command) == 0
    assert "fedcert: resuming the unfinished run in out" in capsys.readouterr().err
    assert Path("out/result.json").exists()


@pytest.mark.parametrize("terminal", [True, False], ids=["from a terminal", "to the first process"])
def test_an_interrupted_grid_says_how_to_resume(tmp_path: Path, terminal: bool) -> None:
    settings = "[settings.training]\nepochs = 10000000\n[[study]]\nhidden = [4]\nover.seed = [0, 1]\n"
    (tmp_path / "mine.toml").write_text(settings, encoding="utf-8")
    command = ["grid", "--preset", "mine.toml", "--jobs", "2", "--out", "out"]
    ready = (tmp_path / "out/grid.json").exists
    code, lines = interrupted([*FEDCERT, *command], ready, tmp_path, terminal, IMPORTING)
    assert code == 130
    assert lines == ["fedcert: interrupted; to resume: fedcert grid --preset mine.toml --jobs 2 --out out"]


@pytest.mark.parametrize(
    ("module", "command"),
    [("fedcert.app.cli", ["fedcert", "check"]), ("fedcert_check.cli", ["fedcert-check"])],
)
def test_an_interrupted_check_says_how_to_start_again(
    tmp_path: Path, module: str, command: list[str]
) -> None:
    path, begun = corrupt_neighbour(tmp_path), tmp_path / "begun"
    slowly = (
        "import fedcert_check.boxes as boxes, pathlib, time\n"
        f"boxes.over_properties = lambda *_: (pathlib.Path({str(begun)!r}).touch(), time.sleep(600))\n"
        f"from {module} import main; main()"
    )
    arguments = [*command[1:], str(path), "--jobs", "1"]
    code, lines = interrupted(["-c", slowly, *arguments], begun.exists, tmp_path)
    assert code == 130
    assert lines[-1] == f"{command[0]}: interrupted; to start again: {command[0]} {' '.join(arguments)}"
    assert all(line.startswith(f"{command[0]}: proving ") for line in lines[:-1])  # what it began with


def test_only_commands_that_keep_their_parts_speak_of_resuming() -> None:
    kinds = {command.callback.__name__: command.cls for command in cli.app.registered_commands}
    assert {name for name, kind in kinds.items() if issubclass(kind, ResumableCommand)} == {
        "run",
        "certify",
        "grid",
    }
    assert all(issubclass(kind, Command) for kind in kinds.values())
