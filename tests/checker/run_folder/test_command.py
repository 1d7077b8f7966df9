"""What `fedcert check RUN` prints and how it ends: in words, for machines, of a sample."""

import json
import shutil
from pathlib import Path

import pytest
from hostile import corrupt_neighbour
from refused_runs import evidence
from run_folders import RADII, edit_result
from terminal import exit_code

from fedcert_check import cli
from fedcert_check.percent import bounds, percent_down, percent_up
from fedcert_check.run_folder.compare import compare

pytestmark = pytest.mark.slow


def run(monkeypatch: pytest.MonkeyPatch, capsys, *arguments: str) -> tuple[int, str, str]:
    """The exit code, standard output and standard error of the command."""
    code = exit_code(monkeypatch, cli.main, "fedcert-check", "--jobs", "1", *arguments)
    return code, *capsys.readouterr()


def stated(folder: Path) -> tuple[float, float]:
    """What result.json says of the direct claim at the smaller radius."""
    rows = json.loads((folder / "result.json").read_text())["summary"]
    (row,) = [own for own in rows if (own["claim"], own["epsilon"]) == ("direct", RADII[0])]
    return row["lower"], row["upper"]


def test_the_output_says_in_words_what_was_proved(monkeypatch, capsys, pristine: Path) -> None:
    code, out, err = run(monkeypatch, capsys, str(pristine))
    lower, upper = stated(pristine)
    assert code == 0
    lines = out.splitlines()
    (direct,) = [line for line in lines if line.startswith("proved: ") and "radius 0.001 within" in line and
                 "at most" in line and "margin" not in line]  # fmt: skip
    for words in (
        f"with probability at least {percent_down(lower)} and at most {percent_up(upper)}, for the",
        "proved: on average over 4 inputs, the label wins on the whole ℓ∞ ball of radius 0.001 within [0, 1]"
        " around the input with",
        "for the model that fedavg makes of a draw from the posterior of each of 2 clients",
    ):
        assert words in direct
    assert "stated by its maker, not proved: these are the first 4 of 90 of digits, as they come" in lines
    assert any(line.startswith("digest of inputs and labels: 299fc8e65de9") for line in lines)
    assert any(line.startswith("clients, by name and message: client-0 ") for line in lines)
    assert any("inputs with a radius above 0" in line for line in lines)
    assert any(
        line.startswith("not proved, as recorded: accuracy of the mean model on these inputs ")
        for line in lines
    )
    assert any(line.startswith("not checked: the pictures and other words of report.html") for line in lines)
    assert lines[-1].startswith("proved: 8 certificates; 1 confidence bound found again; all claims")
    said = err.splitlines()
    assert said[0].startswith(
        "fedcert-check: proving 8 certificates and drawing 1 confidence bound again: up"
    )
    assert said[1].startswith(
        "fedcert-check: certificate 1 of 8, direct-fedavg-projected-eps-0.001-margin-0.25"
    )
    assert all(line.startswith("fedcert-check: ") for line in said)


def test_a_run_that_claims_too_much_ends_with_1_and_a_line(monkeypatch, capsys, folder: Path) -> None:
    edit_result(folder, lambda result: result["summary"][0].update(lower=0.9999))
    code, out, _ = run(monkeypatch, capsys, str(folder))
    assert code == 1
    assert "DISAGREES: result.json: summary.0.lower: 0.9999 is more than" in out
    assert out.splitlines()[-1].startswith(
        "NOT PROVED: 8 certificates proved; 1 confidence bound found again"
    )


def test_a_file_that_cannot_be_read_ends_with_2(monkeypatch, capsys, folder: Path) -> None:
    (folder / "result.json").write_text("{")
    code, out, _ = run(monkeypatch, capsys, str(folder))
    assert code == 2
    assert "NOT READABLE: result.json: not readable as JSON" in out
    assert out.splitlines()[-1].startswith("NOT CHECKED: ")


def test_a_sample_says_that_it_is_one_everywhere(monkeypatch, capsys, folder: Path) -> None:
    code, out, err = run(monkeypatch, capsys, str(folder), "--sample", "3", "--seed", "5")
    assert code == 0
    assert out.count("not refuted (sampled: 3 of 4 properties): the claim is: ") == 8
    assert out.count("not refuted, sampled: 3 of 4") == 8
    last = out.splitlines()[-1]
    assert last.startswith("not refuted: 8 certificates (sampled: 24 of 32 properties, seed 5);")
    assert "1 confidence bound not drawn again" in last
    assert not any(line.startswith("proved") for line in out.splitlines())
    assert "NOT" not in err
    ended = [line for line in err.splitlines() if ": certificate " in line]
    assert len(ended) == 8
    assert all("not refuted in" in line for line in ended)


def test_a_sample_of_all_properties_proves_certificates_but_draws_nothing_again(
    monkeypatch, capsys, folder: Path
) -> None:
    code, out, _ = run(monkeypatch, capsys, str(folder), "--sample", "4")
    assert code == 0
    assert out.count("proved: ") == 9
    last = "not refuted: 8 certificates; 1 confidence bound not drawn again; "
    assert out.splitlines()[-1].startswith(last)


@pytest.mark.parametrize("options", [[], ["--sample", "1"]])
def test_machines_get_one_object_and_nothing_else(
    options: list[str], monkeypatch, capsys, folder: Path
) -> None:
    shutil.copy(folder / "result.json", folder / "certificates" / "torn.safetensors")
    edit_result(folder, lambda result: result["clients"][0].update(examples=99))
    code, out, _ = run(monkeypatch, capsys, str(folder), "--json", *options)
    said = json.loads(out)
    assert (code, said["exit_code"], said["verdict"]) == (2, 2, "NOT CHECKED")
    good = [own for own in said["certificates"] if own["file"] != "torn.safetensors"]
    (torn,) = [own for own in said["certificates"] if own not in good]
    assert "not a safetensors" in torn["reason"]
    assert {own["verdict"] for own in good} == {"not refuted" if options else "proved"}
    assert {own["checked"] for own in good} == {1 if options else 4}
    first = good[1]
    assert first["claim"] == {"kind": "direct", "rule": "fedavg", "events": "projected"}
    assert first["subject"]["radius"] == 0.001
    assert first["subject"]["source"] == "digits"
    assert first["claimed"]["lower"] <= first["claimed"]["upper"]
    assert (said["sample"] is None) == (not options)
    files = {(own["file"], own["place"]) for own in said["run"]["findings"]}
    assert ("result.json", "clients.0.examples") in files
    assert ("certificates/torn.safetensors", "") in files
    (drawn,) = said["confidence"]
    assert drawn["verdict"] == ("not drawn again" if options else "found again")
    assert drawn["claimed"]["lower"] < first["claimed"]["lower"]
    assert said["versions"]["fedcert-check"]


def test_names_of_files_reach_the_terminal_harmless(monkeypatch, capsys, folder: Path) -> None:
    (folder / "certificates" / "a\x1b[2K\nproved: all.safetensors").write_bytes(b"")
    code, out, err = run(monkeypatch, capsys, str(folder))
    assert code == 2
    assert "\x1b" not in out + err
    assert not any(line.startswith("proved: all") for line in out.splitlines())
    assert "\\x1b[2K\\nproved: all.safetensors: additional" in out


def earlier(folder: Path) -> Path:
    """A folder as an earlier version wrote it: certificates that do not say what they speak about."""
    corrupt_neighbour(folder)
    rows = [{"claim": "transported", "rule": "fedavg", "events": "paper-box", "lower": 0.5, "upper": None}]
    (folder / "result.json").write_text(json.dumps({"fedcert": "0.1.0", "summary": rows}))
    return folder


@pytest.mark.parametrize("certificates", [True, False])
def test_figures_of_an_earlier_version_are_not_called_proved(
    certificates: bool, monkeypatch, capsys, tmp_path: Path
) -> None:
    """They name no certificates: whoever rewrites result.json in that form must not pass."""
    folder = earlier(tmp_path)
    if not certificates:
        shutil.rmtree(folder / "certificates")
    code, out, _ = run(monkeypatch, capsys, str(folder))
    assert code == 2
    assert "NOT READABLE: result.json: written by an earlier version: it names no certificates" in out
    assert out.splitlines()[-1].startswith(f"NOT CHECKED: {int(certificates)} certificate")


def test_certificates_alone_are_proved_and_said_to_be_alone(monkeypatch, capsys, tmp_path: Path) -> None:
    (earlier(tmp_path) / "result.json").unlink()
    code, out, _ = run(monkeypatch, capsys, str(tmp_path))
    assert code == 0
    assert "no result.json: the certificates stand alone, and nothing was compared with them" in out


def test_a_confidence_bound_alone_is_found_again_and_not_proved(monkeypatch, capsys, pristine: Path) -> None:
    code, out, err = run(monkeypatch, capsys, str(pristine / "confidence" / "fedavg-eps-0.001.safetensors"))
    assert code == 0
    assert out.splitlines()[0].startswith("found again: at a confidence of 95 %, from 40 drawn models, on")
    assert out.splitlines()[-1] == "found again: 1 confidence bound found again"
    assert "proved" not in out + err


def test_other_files_are_named_in_one_line(folder: Path) -> None:
    (folder / "summary.html").write_text("")
    (folder / "a\nb").write_text("")
    assert compare(folder, *evidence()).notes[-1] == r"other files, not looked at: a\nb, summary.html"


def test_narrow_terminals_show_bounds_whole(monkeypatch, capsys, pristine: Path) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    _, out, _ = run(monkeypatch, capsys, str(pristine))
    assert out.count(bounds(*stated(pristine))) == 2
    assert "…" not in out
