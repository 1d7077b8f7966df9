"""One command under two names: the same output and exit codes, and nothing heavy for its help."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hostile import certificate, corrupt_neighbour, doubles, message
from terminal import exit_code

import fedcert
import fedcert_check
from fedcert.app import cli as fedcert_cli
from fedcert_check import cli
from fedcert_check.errors import InvalidCertificate

COMMANDS = {
    "fedcert": (fedcert_cli.main, ["fedcert", "check"]),
    "fedcert-check": (cli.main, ["fedcert-check"]),
}


def run(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: str) -> int:
    """The exit code of the command, run in this process."""
    main, command = COMMANDS[name]
    return exit_code(monkeypatch, main, *command, "--jobs", "1", *arguments)


def outputs(monkeypatch, capsys, name: str, *arguments: str) -> tuple[int, str, str]:
    code = run(monkeypatch, name, *arguments)
    out, err = capsys.readouterr()
    assert all(line.startswith(f"{name}: ") for line in err.splitlines())
    return code, out, re.sub(r" in [0-9.]+ s$", "", err.replace(f"{name}: ", ""), flags=re.MULTILINE)


def test_both_names_say_the_same_and_end_alike(monkeypatch, capsys, tmp_path: Path) -> None:
    path = corrupt_neighbour(tmp_path)
    torn = path.with_name("torn.safetensors")
    torn.write_bytes(path.read_bytes()[:-1])
    codes = []
    for arguments in ([str(path)], [str(torn)], [str(tmp_path)], [str(path), "--max-work", "0"], ["nowhere"]):
        first, second = (outputs(monkeypatch, capsys, name, *arguments) for name in COMMANDS)
        assert first == second
        codes.append(first[0])
    assert codes == [0, 2, 2, 2, 2]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_the_checker_does_not_know_is_one_line_and_exit_code_2(
    name: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    own = [message(tmp_path / "messages", 0, 2)]
    path = certificate(tmp_path, "direct", "ellipsoids", (1, 1), {"radius": doubles(1)}, own)
    assert run(monkeypatch, name, str(path)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "family of events 'ellipsoids'" in line
    assert line.endswith("(see docs/certificate-format.md)")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_without_certificates_is_one_line(name: str, monkeypatch, capsys, tmp_path: Path) -> None:
    assert run(monkeypatch, name, str(tmp_path)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{name}: {tmp_path}: this folder has no certificates")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_of_messages_that_does_not_exist_is_called_that_once(
    name: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    corrupt_neighbour(tmp_path)
    for messages, problem in (("nowhere", "this folder does not exist"), (__file__, "this is not a folder")):
        assert run(monkeypatch, name, str(tmp_path), "--messages", messages) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"{name}: {messages}: {problem}: --messages ")


def test_an_error_of_the_system_is_one_line(monkeypatch, capsys, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise ChildProcessError("no worker process could start")

    monkeypatch.setattr("fedcert_check.boxes.over_properties", fail)
    assert run(monkeypatch, "fedcert-check", str(corrupt_neighbour(tmp_path))) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "fedcert-check: no worker process could start"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_version_is_that_of_the_checker(name: str, monkeypatch, capsys) -> None:
    assert run(monkeypatch, name, "--version") == 0
    assert capsys.readouterr().out == f"fedcert-check {fedcert_check.__version__}\n"


def test_fedcert_says_its_version_and_that_of_the_checker(monkeypatch, capsys) -> None:
    assert exit_code(monkeypatch, fedcert_cli.main, "fedcert", "--version") == 0
    versions = f"fedcert {fedcert.__version__} (fedcert-check {fedcert_check.__version__})\n"
    assert capsys.readouterr().out == versions


@pytest.mark.parametrize(
    ("module", "arguments", "usage"),
    [
        ("fedcert.app.cli", ["--version"], "fedcert "),
        ("fedcert.app.cli", ["run", "--help"], "Usage: fedcert run [OPTIONS]"),
        ("fedcert.app.cli", ["--help"], "Usage: fedcert [OPTIONS]"),
        ("fedcert.app.cli", ["check", "--help"], "Usage: fedcert check [OPTIONS]"),
        ("fedcert_check.cli", ["--help"], "Usage: fedcert-check [OPTIONS]"),
    ],
)
def test_help_and_version_load_neither_torch_nor_what_proofs_need(
    module: str, arguments: list[str], usage: str
) -> None:
    program = (
        f"import sys; from {module} import main; sys.argv = ['x', *{arguments}]\n"
        "try: main()\n"
        "except SystemExit as leave: assert not leave.code\n"
        "loaded = {'torch', 'numpy', 'flint'} & sys.modules.keys()\n"
        "assert not loaded, loaded"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert usage in done.stdout


@pytest.mark.slow
def test_the_module_runs_as_a_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fedcert_check", str(corrupt_neighbour(tmp_path))],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "proved" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_digest_of_a_message_is_the_one_in_certificates(
    name: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    named = message(tmp_path / "messages", 0, 2)
    path = tmp_path / "messages" / "0.safetensors"
    assert run(monkeypatch, name, "--digest", str(path)) == 0
    assert capsys.readouterr().out == f"{named['digest']}\n"


def test_only_a_sound_message_has_a_digest(monkeypatch, capsys, tmp_path: Path) -> None:
    path = corrupt_neighbour(tmp_path)
    for file, complaint in ((path, "not a fedcert message"), (tmp_path, "is a folder"), (Path("no"), "no")):
        assert run(monkeypatch, "fedcert-check", "--digest", str(file)) == 2
        said = capsys.readouterr()
        assert (said.out, complaint in said.err) == ("", True)
    message(tmp_path / "own", 0, 2)
    changed = tmp_path / "own" / "0.safetensors"
    changed.write_bytes(changed.read_bytes()[:-1] + b"\1")
    assert run(monkeypatch, "fedcert-check", "--digest", str(changed)) == 2
    assert "was changed" in capsys.readouterr().err


def test_a_folder_is_no_certificate(tmp_path: Path) -> None:
    with pytest.raises(InvalidCertificate, match="is a folder: check one certificate"):
        fedcert_check.check(tmp_path)


def test_a_message_that_is_missing_is_not_called_changed(tmp_path: Path) -> None:
    path = corrupt_neighbour(tmp_path)
    with pytest.raises(InvalidCertificate, match="by --messages") as missing:
        fedcert_check.check(path, messages=tmp_path / "nowhere")
    assert "changed" not in str(missing.value)
