"""A result is used, looked at and saved; what is saved is proved by the checker."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import fedcert
from fedcert.certificate import Kind
from fedcert.errors import InvalidCertificate, MissingLibrary, OutputExists
from fedcert.model.layers import LeakyReLU
from fedcert.model.network import Network
from fedcert.model.robustness import Origin
from fedcert_check import certificates, check, check_run
from fedcert_check.run_folder.compare import Comparison
from fedcert_check.sampling import Sample

MEAN = np.array([2, 0, 0, 2, 1, 1, 1, -1, 0, 0, 0, 0, 1, -1, 0, 1, -1, 1, 0, -1, 0, 0], dtype=np.float64)
CLIENTS = [(MEAN + 0.02 * i, np.full(22, 1e-3)) for i in range(3)]
MODEL = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
KINDS = ("local", "transported", "direct")


@pytest.fixture(scope="module")
def result() -> fedcert.Certification:
    return fedcert.certify_classification(
        CLIENTS, MODEL, [[0.65, 0.35], [0.4, 0.6]], [0, 1], epsilon=0.01,
        events="paper-box,box,projected", claims=KINDS,
    )  # fmt: skip


def test_what_is_saved_is_a_run_that_the_checker_proves(
    result: fedcert.Certification, tmp_path: Path
) -> None:
    folder = result.save(str(tmp_path / "run"))
    found = certificates(folder)
    assert len(found) == len(result.certificates) == 9
    assert all(check(path).verdict for path in found)
    rows = (folder / "bounds.csv").read_text().splitlines()
    assert len(rows) == 1 + 9 * 2
    assert rows[1].startswith("0,0,0.01,linf,given,0.0,direct,fedavg,paper-box,")
    assert float(rows[1].split(",")[9]) == result.certificates[2].lower[0].item()
    with pytest.raises(OutputExists):
        result.save(folder)


@pytest.mark.slow
@pytest.mark.parametrize("edit", ["lower", "epsilon", "label", "chosen", "rule"])
def test_an_edited_table_of_bounds_is_named(edit: str, result: fedcert.Certification, tmp_path: Path) -> None:
    path = result.save(tmp_path / "run") / "bounds.csv"
    assert check_run(path.parent, sample=Sample(1, 0)).comparison == Comparison(("bounds.csv",))
    head, *lines = path.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if ",direct,fedavg,projected," in line)
    row = dict(zip(head.split(","), lines[place].split(","), strict=True))
    row[edit] = (
        "0.9999999" if edit in ("lower", "upper", "epsilon") else "7" if edit == "label" else "correct"
    )
    lines[place] = ",".join(row.values())
    path.write_text("\n".join([head, *lines]) + "\n")
    found = [own.line for own in check_run(path.parent, sample=Sample(1, 0)).comparison.findings]
    assert found[0].startswith(f"bounds.csv: line {place + 2}"), found
    assert edit in found[0] or edit == "rule"


@pytest.mark.slow
@pytest.mark.parametrize("change", ["a line less", "a line twice", "no table", "other columns"])
def test_a_table_of_bounds_has_each_bound_once(
    change: str, result: fedcert.Certification, tmp_path: Path
) -> None:
    path = result.save(tmp_path / "run") / "bounds.csv"
    lines = path.read_text().splitlines()
    edited = {"a line less": lines[:-1], "a line twice": [*lines, lines[1]], "no table": ["\0"],
              "other columns": [line.rpartition(",")[0] for line in lines]}[change]  # fmt: skip
    path.write_text("\n".join(edited) + "\n")
    report = check_run(path.parent, sample=Sample(1, 0))
    assert report.exit_code == (1 if "line" in change else 2)
    (line,) = [*(own.line for own in report.comparison.findings), *report.comparison.unreadable]
    assert line.startswith("bounds.csv")


@pytest.mark.parametrize("what", ["clients", "network", "properties", "rule"])
def test_a_table_does_not_put_certificates_of_two_problems_together(what: str, tmp_path: Path) -> None:
    """Each line follows from a certificate; the lines of one property would speak of two."""
    rule, x = fedcert.LinearRule.fedavg([1, 1, 1]), [[0.65, 0.35], [0.4, 0.6]]
    network = fedcert.mlp(2, 4, 2)

    def saved(kind: Kind, *other: str) -> Path:
        found = fedcert.certify(
            [(mean, deviation / 2) for mean, deviation in CLIENTS] if "clients" in other else CLIENTS,
            fedcert.LinearRule.fedavg([1, 1, 2]) if "rule" in other else rule,
            Network((*network.layers, LeakyReLU(1.0))) if "network" in other else network,
            fedcert.linf_robustness(x, [0, 1], 0.02 if "properties" in other else 0.01, classes=2),
            claims=[kind],
            events="box",
        )
        folder = found.save(tmp_path / kind / "-".join(other))
        for path in (folder / "messages").iterdir():
            path.rename(path.with_name(f"{kind}-{path.name}"))
        return folder

    direct, same, another = saved("direct"), saved("transported"), saved("transported", what)
    alone = (direct / "bounds.csv").read_text()
    for folder, differ in ((same, []), (another, [what])):
        shutil.copytree(folder, direct, dirs_exist_ok=True)
        _, rows = (folder / "bounds.csv").read_text().split("\n", 1)
        (direct / "bounds.csv").write_text(alone + rows)
        report = check_run(direct)
        assert all(own.verdict for own in report.reports)
        assert len(report.reports) == 2
        assert report.comparison is not None
        assert [own.place for own in report.comparison.findings] == differ
        assert report.exit_code == len(differ)


@pytest.mark.slow
def test_certificates_that_cannot_be_read_are_one_line(result: fedcert.Certification, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    for path in certificates(folder)[:2]:
        path.write_bytes(b"damaged")
    report = check_run(folder, sample=Sample(1, 0))
    assert (report.exit_code, report.comparison.findings) == (2, ())
    assert report.comparison.notes == (
        "bounds.csv: not compared with 2 certificates that could not be checked",
    )
    table = folder / "bounds.csv"
    (read, *_) = [own.document for own in report.reports]
    place = f",{read.kind},{read.rule.name},{read.events},"
    table.write_text(table.read_text().replace(place, f"{place}0", 1))
    (finding,) = check_run(folder, sample=Sample(1, 0)).comparison.findings
    assert "lower: '0" in finding.line


def test_selected_inputs_are_not_called_given() -> None:
    origin = Origin("digits", "correct")
    asked = fedcert.linf_robustness([[0.65, 0.35]], [0], 0.01, classes=2, origin=origin)
    laws = [fedcert.DiagonalGaussian(*map(torch.from_numpy, CLIENTS[0]))]
    found = fedcert.certify(laws, fedcert.LinearRule.fedavg([1]), MODEL, asked)
    assert "selected because the mean model classifies them correctly" in repr(found)


def test_a_law_without_a_message_cannot_be_saved(tmp_path: Path) -> None:
    stated = fedcert.DiagonalGaussian(*map(torch.from_numpy, CLIENTS[0]))

    class Unstated:
        """A law that is what it is, and says so to nobody."""

        dimension, loc, components, sample = stated.dimension, stated.loc, (stated,), stated.sample

    mixed = fedcert.certify(
        [Unstated()],
        fedcert.LinearRule.fedavg([1]),
        MODEL,
        fedcert.linf_robustness([[0.6, 0.4]], [0], 0.01, classes=2),
    )
    with pytest.raises(InvalidCertificate, match="no message can state"):
        mixed.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_line_says_what_was_found_and_no_witness(result: fedcert.Certification) -> None:
    assert repr(result) == (
        f"Certification: at least {100 * np.floor(result.mean_lower * 1e4) / 1e4:.2f} % and at most 100.00 %,"
        " mean over 2 inputs as given, ℓ∞ balls of radius 0.01; accuracy of the mean model on them 100.0 %"
        " (3 clients, fedavg, paper-box + box + projected)"
    )
    html = result._repr_html_()
    assert html.count("<tr>") == 10
    assert "witness" not in repr(result) + html


def test_a_result_that_decides_nothing_says_why() -> None:
    wide = [(MEAN, np.full(22, 5.0))]
    found = fedcert.certify_classification(wide, MODEL, [[0.65, 0.35]], [0], epsilon=0.3, events="box")
    assert found.mean_lower < 0.01 < 0.5 < found.mean_upper - found.mean_lower
    assert repr(found).endswith(
        "(1 client, fedavg, box). Nothing is decided: the posterior is too wide, or the radius too large,"
        " for these events (docs/how-to/laplace.md)"
    )


def test_a_picture_shows_every_property(result: fedcert.Certification) -> None:
    (axes,) = result.plot().axes
    lower = axes.lines[0].get_ydata()
    assert lower.tolist() == (100 * np.sort(result.lower)).tolist()
    assert axes.get_xlabel() == "inputs, sorted by L"
    assert axes.get_ylabel()
    first, second = axes.get_title().splitlines()
    assert first.startswith("ℓ∞ balls of radius 0.01, direct + transported + local: mean ")
    assert second == "3 clients, fedavg, paper-box + box + projected"


def test_a_frame_has_a_row_for_each_property_and_claim(
    result: fedcert.Certification, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = result.rows()
    assert [row["claim"] for row in rows[::2]] == [
        kind for kind in ("direct", "transported", "local") for _ in range(3)
    ]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingLibrary, match="pip install pandas"):
        result.to_frame()


def test_a_frame_is_a_data_frame_of_pandas(result: fedcert.Certification) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.loc[frame.claim == "direct", "lower"].max() == result.lower.max()


def test_local_claims_alone_bound_no_deployed_model() -> None:
    local = fedcert.certify_classification(
        CLIENTS, MODEL, [[0.65, 0.35]], [0], epsilon=0.01, claims=["local"]
    )
    assert "local claims alone" in repr(local)
    with pytest.raises(InvalidCertificate, match="nothing of the deployed model"):
        _ = local.lower
