"""A result is used, looked at and saved; what is saved is proved by the checker."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import fedcert
from fedcert.errors import InvalidCertificate, MissingLibrary, OutputExists
from fedcert_check import certificates, check

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
    assert float(rows[1].split(",")[4]) == result.certificates[0].lower[0].item()
    with pytest.raises(OutputExists):
        result.save(folder)


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
        " mean over 2 inputs as given, ℓ∞ balls of radius 0.01"
        " (3 clients, fedavg, paper-box + box + projected)"
    )
    html = result._repr_html_()
    assert html.count("<tr>") == 10
    assert "witness" not in repr(result) + html


def test_a_picture_shows_every_property(result: fedcert.Certification) -> None:
    (axes,) = result.plot().axes
    lower = axes.lines[0].get_ydata()
    assert lower.tolist() == (100 * np.sort(result.lower)).tolist()
    assert axes.get_xlabel()
    assert axes.get_ylabel()


def test_a_frame_has_a_row_for_each_property_and_claim(
    result: fedcert.Certification, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = result.rows()
    assert [row["claim"] for row in rows[::2]] == 3 * list(KINDS)
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
