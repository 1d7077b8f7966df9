import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from folders import tree
from report_samples import result
from small_runs import SMALL_RUN, as_toml
from terminal import exit_code

from fedcert.app.cli import main
from fedcert.app.output import write_summary
from fedcert.app.presets import PRESETS

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a small configuration, no data and no way to download any."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FEDCERT_DATA", raising=False)
    for least in ("LINE_SECONDS", "STAGE_SECONDS"):  # however slow the machine, no progress between errors
        monkeypatch.setattr(f"fedcert_check.console.{least}", float("inf"))
    Path("tiny.toml").write_text(as_toml(SMALL_RUN), encoding="utf-8")
    Path("mnist.toml").write_text("[settings]\ndataset = 'mnist'\n", encoding="utf-8")
    return tmp_path


def fedcert(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    return exit_code(monkeypatch, main, "fedcert", *arguments)


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, as a user starts it."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "fedcert.app.cli", *arguments]
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", env=environment, timeout=300, check=False
    )


def test_help_is_quick_since_it_does_not_load_torch() -> None:
    program = (
        "import sys; from fedcert.app.cli import main; sys.argv = ['fedcert', 'run', '--help']\n"
        "try: main()\n"
        "except SystemExit as leave: assert not leave.code\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "--dataset" in done.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["certify", "--help"]], ids=" ".join)
def test_help_exits_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert fedcert(monkeypatch, *arguments) == 0
    assert "Usage" in capsys.readouterr().out


def test_a_run_prints_the_table_and_where_the_report_is(workplace: Path) -> None:
    done = process("run", "--config", "tiny.toml", "--out", "somewhere/new", "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert all(line.startswith("fedcert: ") for line in done.stderr.splitlines())
    for word in ("local", "transported", "direct", "fedavg", "pog", "paper-box", "projected"):
        assert word in done.stdout
    for word in ("certified", "survive", "accuracy", "proven bounds"):
        assert word in done.stdout
    *_, report, unproved = done.stdout.splitlines()
    assert unproved == "not re-proved yet: fedcert check somewhere/new"
    report = report.removeprefix("report: ")
    assert (workplace / report).is_file()
    assert json.loads((workplace / "somewhere/new/result.json").read_text())["config"]["seed"] == 1


def test_a_run_without_a_terminal_says_how_far_it_is_in_plain_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fedcert_check.console.STAGE_SECONDS", 0.0)
    assert fedcert(monkeypatch, "run", "--config", "tiny.toml", "--out", "out") == 0
    lines = capsys.readouterr().err.splitlines()
    assert all(re.fullmatch(r"fedcert: .+: \d+( of \d+)? in [0-9.a-z ]+", line) for line in lines)
    for stage in ("training clients: 2 of 2 in", "projected: 1 of 1 in", "attack survival: 1 of 1 in"):
        assert any(line.startswith(f"fedcert: {stage} ") for line in lines)


def test_bad_input_to_the_process_is_one_line_and_exit_code_2(workplace: Path) -> None:
    before = tree(workplace)
    done = process("run", "--clients", "0")
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert tree(workplace) == before


def test_the_default_folder_names_the_run(monkeypatch: pytest.MonkeyPatch, workplace: Path) -> None:
    assert fedcert(monkeypatch, "run", "--config", "tiny.toml", "--seed", "5") == 0
    assert (workplace / "runs" / "digits-2-clients-seed-5" / "result.json").is_file()


def test_options_override_the_file(monkeypatch: pytest.MonkeyPatch, workplace: Path) -> None:
    options = ["--rule", "pog", "--properties", "2", "--hidden", "5,4", "--gamma", "4.5", "--no-screen"]
    assert fedcert(monkeypatch, "run", "--config", "tiny.toml", "--out", "out", *options) == 0
    config = json.loads((workplace / "out/result.json").read_text())["config"]
    assert (config["rule"], config["properties"], config["centers"]) == ("pog", 2, 4)
    assert (config["hidden"], config["gamma"], config["screen"]) == ([5, 4], [4.5], False)


def test_the_papers_preset_runs_its_protocol(monkeypatch: pytest.MonkeyPatch, workplace: Path) -> None:
    sizes = {name: value for name, value in SMALL_RUN.items() if name not in PRESETS["paper"]}
    few = {"test_examples": 80, "properties": 3}
    Path("few.toml").write_text(as_toml(sizes | few), encoding="utf-8")
    options = ["--preset", "paper", "--config", "few.toml", "--out", "out"]
    assert fedcert(monkeypatch, "run", *options) == 0
    result = json.loads((workplace / "out/result.json").read_text())
    assert (result["config"]["scale"], result["config"]["events"]) == (1e-5, ["paper-box"])
    assert [(row["claim"], row["rule"], row["events"], row["epsilon"]) for row in result["summary"]] == [
        (*claim, "paper-box", 0.001)
        for claim in (("local", "fedavg"), ("transported", "fedavg"), ("direct", "fedavg"), ("direct", "pog"))
    ]
    assert {(row["name"], row["rule"]) for row in result["estimates"]} == {
        *(("mc-ibp", "fedavg"), ("mc-ibp", "pog"), ("attack-survival", "fedavg")),
        *(("attack-survival", "pog"), ("aggregated-sampling", "fedavg")),
    }
    assert (result["inputs"]["chosen"], result["inputs"]["accuracy"]) == ("correct", 1.0)
    assert result["radii"] == result["margins"] == result["confidence"] == []
    assert all(row["lower"] > 0 for row in result["summary"])


def refusal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workplace: Path, *arguments: str
) -> str:
    """The one line that a command ends with when it does nothing, exit code 2."""
    before = tree(workplace)
    assert fedcert(monkeypatch, *arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("fedcert: ")
    assert tree(workplace) == before
    return line


BAD_INPUT = [
    pytest.param(["--clients", "0"], "clients", id="no clients"),
    pytest.param(["--dataset", "cifar"], "cifar", id="unknown data set"),
    pytest.param(["--rule", "mode"], "median", id="unknown rule"),
    pytest.param(["--events", "balls"], "balls", id="unknown events"),
    pytest.param(["--preset", "draft"], "draft", id="unknown preset"),
    pytest.param(["--weights", "random"], "random", id="unknown weights"),
    pytest.param(["--device", "abacus"], "abacus", id="unknown device"),
    pytest.param(["--gamma", "3,-1"], "gamma", id="negative radius"),
    pytest.param(["--gamma", ","], "gamma", id="no radius"),
    pytest.param(["--scale", "nan"], "nan", id="scale that is no number"),
    pytest.param(["--scale", "0"], "scale", id="zero scale"),
    pytest.param(["--epsilon", "-0.1"], "epsilon", id="negative input radius"),
    pytest.param(["--margin", "inf"], "margin", id="infinite margin"),
    pytest.param(["--concentration", "0"], "concentration", id="zero concentration"),
    pytest.param(["--hidden", "8,wide"], "wide", id="width in words"),
    pytest.param(["--seed", "-1"], "seed", id="negative seed"),
    pytest.param(["--config", "absent.toml"], "absent.toml", id="no such configuration"),
    pytest.param(["--out", "tiny.toml"], "tiny.toml", id="output folder is a file"),
    pytest.param(["--dataset", "mnist", "--data-dir", "absent"], "absent/mnist", id="no such data"),
    pytest.param(["--properties", "81"], "81 asked for", id="too many properties"),
    pytest.param(["--clients", "400"], "fewer clients", id="too many clients"),
]


@pytest.mark.parametrize(("options", "named"), BAD_INPUT)
def test_bad_input_is_one_line_that_names_it_exit_code_2_and_nothing_written(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    workplace: Path,
    options: list[str],
    named: str,
) -> None:
    assert named in refusal(monkeypatch, capsys, workplace, "run", "--config", "tiny.toml", *options)


@pytest.mark.parametrize("options", [["--clients", "many"], ["--colour", "red"], ["--out"]], ids=" ".join)
def test_a_misspelt_command_line_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workplace: Path, options: list[str]
) -> None:
    before = tree(workplace)
    assert fedcert(monkeypatch, "run", *options) == 2
    error = capsys.readouterr().err
    assert options[0] in error
    assert "Traceback" not in error
    assert tree(workplace) == before


def test_a_finished_run_is_refused_then_replaced_and_kept_when_its_successor_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workplace: Path
) -> None:
    command = ["run", "--config", "tiny.toml", "--out", "out"]
    assert fedcert(monkeypatch, *command) == 0
    first = tree(workplace)
    capsys.readouterr()

    assert fedcert(monkeypatch, *command) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert tree(workplace) == first

    assert fedcert(monkeypatch, *command, "--overwrite", "--properties", "81") == 2
    assert tree(workplace) == first

    assert fedcert(monkeypatch, *command, "--overwrite", "--seed", "1") == 0
    assert tree(workplace).keys() == first.keys()
    assert json.loads((workplace / "out/result.json").read_text())["config"]["seed"] == 1


@pytest.fixture
def inbox(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workplace: Path) -> Path:
    """The messages of a finished run of three clients, one of them cut short on its way."""
    command = ["run", "--config", "tiny.toml", "--clients", "3", "--events", "box", "--out", "run"]
    assert fedcert(monkeypatch, *command) == 0
    hostile = workplace / "run/messages/client-1.safetensors"
    hostile.write_bytes(hostile.read_bytes()[:-1])
    capsys.readouterr()
    return workplace / "run/messages"


@pytest.mark.parametrize("options", [[], ["--min-clients", "3"]], ids=" ".join)
def test_a_hostile_message_is_one_line_exit_code_2_and_nothing_written(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    workplace: Path,
    inbox: Path,
    options: list[str],
) -> None:
    before = tree(workplace)
    command = ["certify", "--messages", str(inbox), "--config", "run/result.json", "--out", "out", *options]
    assert fedcert(monkeypatch, *command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("fedcert: ")
    assert "client-1.safetensors" in line
    assert tree(workplace) == before


def test_the_server_goes_on_with_the_rest_if_told_how_many_will_do_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workplace: Path, inbox: Path
) -> None:
    command = ["certify", "--messages", str(inbox), "--config", "run/result.json", "--min-clients", "2"]
    assert fedcert(monkeypatch, *command, "--out", "out") == 0
    shown = capsys.readouterr()
    (line,) = shown.err.splitlines()
    assert line.startswith("fedcert: refused: ")
    assert "client-1.safetensors" in line
    assert "2 of 3 clients" in shown.out
    result = json.loads((workplace / "out/result.json").read_text())
    assert [client["client"] for client in result["clients"]] == ["client-0", "client-2"]
    assert list(result["refused"]) == ["client-1.safetensors"]


def test_an_unfinished_run_of_another_configuration_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workplace: Path
) -> None:
    (workplace / "out/unfinished").mkdir(parents=True)
    (workplace / "out/unfinished/config.json").write_text("{}")
    before = tree(workplace)
    command = ["run", "--config", "tiny.toml", "--out", "out", "--events", "box"]
    assert fedcert(monkeypatch, *command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "unfinished run of another configuration" in line
    assert "--overwrite" in line
    assert tree(workplace) == before
    assert fedcert(monkeypatch, *command, "--overwrite") == 0
    assert "out/unfinished" not in tree(workplace)


BAD_GRIDS = [
    pytest.param(["--preset", "draft"], "miniature", id="unknown preset"),
    pytest.param(["--preset", "paper"], "reproduction/paper.toml", id="the paper's grid"),
    pytest.param(["--preset", "absent.toml"], "absent.toml", id="no such file"),
    pytest.param(["--only", "clients=7"], "one of 2, 3, 5", id="no such job"),
    pytest.param(["--only", "colour=red"], "colour", id="no such setting"),
    pytest.param(["--shard", "3/2"], "shard", id="no such shard"),
    pytest.param(["--events", "balls"], "balls", id="unknown events"),
    pytest.param(["--engine", "abacus"], "abacus", id="unknown engine"),
    pytest.param(["--address", "auto"], "address", id="address without a cluster"),
    pytest.param(["--preset", "mnist.toml", "--data-dir", "absent"], "absent", id="no such data"),
]


@pytest.mark.parametrize(("options", "named"), BAD_GRIDS)
def test_a_grid_that_makes_no_sense_is_one_line_exit_code_2_and_nothing_written(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    workplace: Path,
    options: list[str],
    named: str,
) -> None:
    assert named in refusal(monkeypatch, capsys, workplace, "grid", "--preset", "miniature", *options)


def test_a_failed_job_is_told_at_the_end_and_the_others_are_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workplace: Path
) -> None:
    settings = as_toml({name: value for name, value in SMALL_RUN.items() if name != "properties"})
    study = "[[study]]\nevents = ['projected']\nover.properties = [3, 81]\n"
    Path("mine.toml").write_text(f"[settings]\n{settings}\n{study}", encoding="utf-8")
    assert fedcert(monkeypatch, "grid", "--preset", "mine.toml", "--jobs", "1") == 1
    said = capsys.readouterr()
    assert "1 of 2 jobs failed: the same command tries them again" in said.err
    assert "81 asked for, but digits has 80 test inputs" in said.err
    assert "1 jobs, 1 federations" in said.out
    assert (workplace / "runs" / "mine" / "report.html").exists()


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (
            "result.json",
            '"lower": ',
            '"lower": 7',
            "summary.0.lower: Input should be less than or equal to 1",
        ),
        ("properties.json", '"label": ', '"label": -', "0.label: Input should be"),
        ("properties.json", "[", "", "not readable as JSON"),
    ],
)
def test_a_damaged_result_is_one_line_that_names_file_and_field(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    old: str,
    new: str,
    said: str,
) -> None:
    write_summary(result(), Path(), {})
    text = Path(name).read_text(encoding="utf-8")
    Path(name).write_text(text.replace(old, new, 1), encoding="utf-8")
    assert fedcert(monkeypatch, "report", ".") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"fedcert: {name}: {said}")


def test_a_report_needs_results(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workplace: Path
) -> None:
    assert fedcert(monkeypatch, "report", str(workplace)) == 2
    assert "no results" in capsys.readouterr().err
