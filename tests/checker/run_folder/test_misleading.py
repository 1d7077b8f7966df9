"""Run folders of proved certificates whose maker says what does not follow from them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import run_folders
from refused_runs import lines
from run_folders import DRAWS, INPUTS, RADII, Drawn, Found, SmallRun, edit_result, small_run, write_run

from fedcert.confidence import bound
from fedcert.families.problem import Problem
from fedcert.federation.server import server
from fedcert.model.layers import ReLU
from fedcert.model.network import Network
from fedcert.model.properties import Properties, linf_robustness
from fedcert_check import check_run
from fedcert_check.run_folder import RunReport


def asked(run: SmallRun, margin: float) -> Properties:
    """The properties of the run at the first radius, with another margin."""
    subject = run.found[0].properties.subject
    assert subject is not None
    assert subject.labels is not None
    return linf_robustness(
        subject.inputs, subject.labels, RADII[0], classes=2, margin=margin, origin=subject.origin
    )


def claim(run: SmallRun, kind: str, properties: Properties, detail: str) -> Found:
    found = server(run.messages, run.rule, run.network, properties)
    return Found("margins", properties, next(own for own in found if own.claim.kind == kind), detail)


def written(run: SmallRun, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_folders, "small_run", lambda *_: run)
    return write_run(folder)


def looked_at(folder: Path) -> RunReport:
    report = check_run(folder)
    assert report.exit_code in (0, 1)
    return report


def test_a_confidence_bound_of_another_margin_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run()
    problem = Problem(run.network, asked(run, -1000.0), tuple(m.law for m in run.messages), run.rule)
    drawn = bound(problem, DRAWS, 0.05, [message.digest for message in run.messages])
    other = replace(run, drawn=[Drawn(problem, drawn, RADII[0])])
    report = looked_at(written(other, tmp_path, monkeypatch))
    assert report.exit_code == 1
    assert any("config.margin: 0.0, but -1000.0 in fedavg-eps-0.001" in line for line in lines(report))


def test_local_margins_say_nothing_of_the_deployed_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The maker of this folder left them out of the conclusions, and so does the checker."""
    run = small_run()
    local = claim(run, "local", asked(run, run_folders.MARGIN), f"eps-{RADII[0]}-margin-{run_folders.MARGIN}")
    other = replace(run, found=[*(own for own in run.found if own.part != "margins"), local])
    report = looked_at(written(other, tmp_path, monkeypatch))
    assert lines(report) == []


def test_certificates_of_two_networks_are_not_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, save = small_run(), run_folders.save_certificate

    def saved(path: Path, certificate: Any, network: Network, *rest: Any) -> None:
        other = Network((ReLU(), *network.layers)) if "transported" in path.name else network
        save(path, certificate, other, *rest)

    monkeypatch.setattr(run_folders, "save_certificate", saved)
    report = looked_at(written(run, tmp_path, monkeypatch))
    assert any("network: another network than in certificates/" in line for line in lines(report))


def test_the_table_of_properties_has_no_lines_of_another_margin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its columns do not say the margin."""
    run = small_run()
    monkeypatch.setattr(run_folders, "MARGIN", -1000.0)
    own = claim(run, "transported", asked(run, -1000.0), f"eps-{RADII[0]}-margin")
    kept = [one for one in run.found if one.part != "margins" and one.certificate.claim.kind != "transported"]
    folder = written(replace(run, found=[*kept, own]), tmp_path, monkeypatch)
    labels = own.properties.subject.labels.tolist()  # type: ignore[union-attr]
    lower = own.certificate.lower.tolist()
    table = folder / "properties.csv"
    table.write_text(
        table.read_text()
        + "".join(
            f"{i},{i},{labels[i]},{RADII[0]!r},,transported,fedavg,projected,{lower[i]!r},,linf,first\n"
            for i in range(INPUTS)
        )
    )
    edit_result(folder, lambda result: result["config"].update(softmax_margins=[-1000.0]))
    report = looked_at(folder)
    assert report.exit_code == 1
    assert any("a claim that result.json does not make: transported" in line for line in lines(report))
