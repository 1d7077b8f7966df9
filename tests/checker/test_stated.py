"""Products of dense laws: proved again, and refused where a name is not deserved."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from dependent_problems import law as structured
from problems import normal
from terminal import exit_code

import fedcert
from fedcert.app.cli import main
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import DenseGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.randomness import stream
from fedcert.rules import StatedGaussian
from fedcert.rules.dense_product import dense_product
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.container import read_container, write_container
from fedcert.wire.message import Message
from fedcert_check import check
from fedcert_check import laws as checked_laws
from fedcert_check import stated as checked_stated
from fedcert_check.blocks import DENSE, Block, BlockGaussian
from fedcert_check.digest import digest
from fedcert_check.errors import InvalidCertificate

pytestmark = pytest.mark.slow

NETWORK = mlp(2, 2)
X = torch.tensor([[0.9, 0.1], [0.2, 0.7]]).double()
CENTRE = torch.tensor([2.0, -1.0, -1.0, 2.0, 0.0, 0.0]).double()


def laws() -> list[DenseGaussian]:
    generator = stream(0, "stated")
    return [
        structured(generator, NETWORK, "joined", CENTRE + 0.05 * normal(generator, 6), 0.2) for _ in range(3)
    ]  # type: ignore[misc]


def saved(folder: Path, rule: StatedGaussian, kind: Any = "direct") -> Path:
    """A certificate of what the rule deploys, whether or not it deserves its name."""
    clients = laws()
    properties = linf_robustness(X, [0, 1], 0.01, classes=2)
    certificate = ProjectedFamily().prove(Problem(NETWORK, properties, tuple(clients), rule), kind)
    messages = [Message(f"client-{i}", law, Cells.none(6), 1) for i, law in enumerate(clients)]
    for message in messages:
        message.save(folder / "messages" / f"{message.client}.safetensors")
    path = folder / "certificates" / "certificate.safetensors"
    save_certificate(path, certificate, NETWORK, properties, rule, messages)
    return path


def product(name: str) -> StatedGaussian:
    weights = torch.tensor([[0.5], [0.3], [0.2]], dtype=torch.float64) if name == "reverse-kl" else None
    return dense_product(laws(), name, weights, 3.0 if name == "prior-corrected" else None)


@pytest.mark.parametrize("name", ["pog", "conflation", "prior-corrected", "reverse-kl"])
def test_a_product_is_proved(name: str, tmp_path: Path) -> None:
    report = check(saved(tmp_path, product(name)))
    assert report.failures == ()
    assert min(own.lower for own in report.proved) > 0.5


def test_local_claims_are_proved_under_its_name(tmp_path: Path) -> None:
    assert check(saved(tmp_path, product("pog"), "local")).failures == ()


def wider(rule: StatedGaussian) -> StatedGaussian:
    return replace(rule, factor=rule.factor * (1 + 1e-7))


def moved(rule: StatedGaussian) -> StatedGaussian:
    loc = rule.loc.clone()
    loc[3] += 1e-4
    return replace(rule, loc=loc)


def reweighed(rule: StatedGaussian) -> StatedGaussian:
    return replace(rule, settings={"weights": [0.3, 0.5, 0.2]})


def another_prior(rule: StatedGaussian) -> StatedGaussian:
    return replace(rule, settings={"prior_scale": 2.9})


def with_a_column(rule: StatedGaussian) -> StatedGaussian:
    return replace(rule, factor=torch.cat([rule.factor, 0 * rule.factor[:, :1]], 1))


def partly_fixed(rule: StatedGaussian) -> StatedGaussian:
    factor = rule.factor.clone()
    factor[-1] = 0
    return replace(rule, factor=factor[:, :-1])


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("pog", wider, "called pog and does not deploy that law"),
        ("pog", moved, "called pog and does not deploy that law"),
        ("conflation", wider, "called conflation and does not"),
        ("reverse-kl", reweighed, "called reverse-kl and does not"),
        ("prior-corrected", another_prior, "called prior-corrected and does not"),
        ("pog", with_a_column, "a factor of 7 columns for 6 random parameters"),
        ("pog", partly_fixed, "leaves other parameters random than a client"),
        ("pog", lambda rule: replace(rule, name="fedavg"), "not a fedavg"),
        ("pog", lambda rule: replace(rule, name="wasserstein"), "has the fields|not a wasserstein"),
        ("reverse-kl", lambda rule: replace(rule, name="pog"), "has the fields"),
    ],
)
def test_a_name_must_be_deserved(name: str, change: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidCertificate, match=words):
        check(saved(tmp_path, change(product(name))))


def test_the_order_of_the_columns_does_not_matter(tmp_path: Path) -> None:
    rule = product("pog")
    assert check(saved(tmp_path, replace(rule, factor=-rule.factor.flip(1)))).failures == ()


def test_a_run_is_proved_and_says_what_the_model_is_drawn_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = fedcert.certify_classification(laws(), NETWORK, X, [0, 1], epsilon=0.01, rule="pog")
    result.save(tmp_path)
    assert exit_code(monkeypatch, main, "fedcert", "check", "--jobs", "1", str(tmp_path)) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "for a model drawn from the law that pog makes of the posteriors of 3 clients" in printed


@pytest.mark.parametrize("name", ["pog", "reverse-kl"])
def test_a_product_has_no_boxes_to_transport(name: str, tmp_path: Path) -> None:
    """A direct claim under a stated law, retold as a transported one by boxes: its bound would be true."""
    path = saved(tmp_path, product(name))
    claim, tensors = read_container(path)
    claim["kind"] = "transported"
    tensors = {n: t for n, t in tensors.items() if n != "upper" and not n.startswith("witness.upper.")}
    tensors["witness.boxes"] = torch.tensor([64], dtype=torch.int32)
    own = {n.removeprefix("witness."): t for n, t in tensors.items() if n.startswith("witness.")}
    claim["witness"] = digest({}, own)
    target = path.with_name("retold.safetensors")
    write_container(target, claim, tensors)
    with pytest.raises(InvalidCertificate, match="deploys a law of its own"):
        check(target)


def test_another_root_of_the_covariance_hides_no_mean() -> None:
    """Columns that mix a parameter of deviation 1e-12 with another one let that stray by 1,000 deviations."""
    scale, own = np.array([1e-12, 0.1]), np.array([1.0, -50.0])
    laws = [checked_laws.DiagonalGaussian(own, scale)] * 2
    half = np.sqrt(0.5)
    root = np.diag(scale * half) @ np.array([[half, half], [half, -half]])

    def stated(mean: float) -> checked_stated.StatedGaussian:
        block = Block(DENSE, 0, 2, 2, root.ravel())
        law = BlockGaussian(np.array([1.0, mean]), (block,))
        return checked_stated.StatedGaussian("pog", 2, law, {})

    stated(-50.0).require_deserved(laws)
    for mean in (50.0, -49.9999):
        with pytest.raises(InvalidCertificate, match="does not deploy"):
            stated(mean).require_deserved(laws)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_a_prior_of_any_size_is_a_number(scale: float) -> None:
    block = Block(DENSE, 0, 1, 1, np.ones(1))
    settings = {"prior_scale": scale}
    rule = checked_stated.StatedGaussian("prior-corrected", 2, BlockGaussian(np.zeros(1), (block,)), settings)
    laws = [checked_laws.DiagonalGaussian(np.zeros(1), np.array([2.0**0.5]))] * 2
    if scale > 1:
        rule.require_deserved(laws)
    else:
        with pytest.raises(InvalidCertificate, match="does not deploy"):
            rule.require_deserved(laws)
