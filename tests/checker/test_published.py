"""Published laws: each kind of claim is proved, and a name that is not deserved is refused."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from confidence_cases import saved
from rule_cases import PUBLISHED
from saved import make_federation
from torch import Tensor

import fedcert
from fedcert.certificate import Certificate, Claim
from fedcert.families.problem import Problem
from fedcert.laws import DiagonalGaussian as Gaussian
from fedcert.model.properties import Properties
from fedcert.rules import LinearRule, RuleContext, build_rule
from fedcert.wire.container import read_container, write_container
from fedcert.witness import Witness
from fedcert_check import check
from fedcert_check.confidence import check_confidence
from fedcert_check.errors import InvalidCertificate
from fedcert_check.files import read
from fedcert_check.laws import DiagonalGaussian, GaussianMixture
from fedcert_check.published import PRODUCTS, SETTINGS, require_deserved

pytestmark = pytest.mark.slow

FEDERATION = make_federation(widths=(2, 2), scale=0.1)
ASKED: Properties = FEDERATION.safe.properties[:2]


def rule_named(name: str) -> LinearRule:
    context = RuleContext(FEDERATION.laws, [1, 2, 5], "size", prior_scale=1.5)
    rule = build_rule(name, context)
    assert isinstance(rule, LinearRule)
    return rule


def sealed(path: Path, change: Callable[[dict[str, Any], dict[str, Tensor]], object]) -> None:
    """Change a certificate and seal it again, as a prover that lies would."""
    claim, tensors = read_container(path)
    change(claim, tensors)
    write_container(path, claim, tensors)


def save(folder: Path, name: str) -> Path:
    """A certificate that claims nothing, and the messages."""
    nothing = torch.zeros(len(FEDERATION.safe.properties)).double()
    certificate = Certificate(Claim("transported", name, "box"), nothing, witness=Witness({}))
    return FEDERATION.save(folder, certificate, rule_named(name))


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_claim_is_proved(name: str, tmp_path: Path) -> None:
    rule, seen = rule_named(name), set()
    found = fedcert.certify(
        FEDERATION.messages, rule, FEDERATION.safe.network, FEDERATION.safe.properties, events="projected"
    )
    for certificate in found.certificates:
        report = check(FEDERATION.save(tmp_path / certificate.claim.kind, certificate, rule))
        assert report.verdict, certificate.claim
        seen.add((certificate.claim.kind, bool((certificate.lower > 0.5).any())))
    assert seen == {("transported", True), ("direct", True)}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_confidence_bound_is_drawn_again(name: str, tmp_path: Path) -> None:
    problem = Problem(FEDERATION.safe.network, ASKED, tuple(FEDERATION.laws), rule_named(name))
    assert check_confidence(saved(tmp_path, problem, draws=20)[0]).verdict


@pytest.mark.parametrize("name", [*PRODUCTS, *SETTINGS])
@pytest.mark.parametrize("tensor", ["rule.weights", "rule.offset"])
def test_a_name_must_be_deserved(name: str, tensor: str, tmp_path: Path) -> None:
    """By the law to the ninth digit: a change of a few units in the last place is rounding."""
    path, folder = save(tmp_path, name), tmp_path / "messages"
    if tensor == "rule.offset" and name in PRODUCTS:
        return

    def change(by: float) -> Callable[[dict[str, Any], dict[str, Tensor]], None]:
        def nudge(claim: dict[str, Any], tensors: dict[str, Tensor]) -> None:
            own = tensors[tensor]
            if name in PRODUCTS:  # weights that still sum to one
                own[0, 0], own[1, 0] = own[0, 0] + by, own[1, 0] - by
            else:
                own.view(-1)[0] *= 1 + by

        return nudge

    sealed(path, change(1e-15))
    assert read(path, folder).rule.name == name
    sealed(path, change(1e-4))
    with pytest.raises(InvalidCertificate, match=f"called {name} and does not deploy that law.*parameter 0"):
        read(path, folder)


def test_the_name_of_another_law_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, "wasserstein")
    sealed(path, lambda claim, _: claim["rule"].update(name="averaged-variances"))
    with pytest.raises(InvalidCertificate, match="called averaged-variances and does not deploy"):
        read(path, tmp_path / "messages")


@pytest.mark.parametrize(
    ("name", "settings", "complaint"),
    [
        ("wasserstein", None, "the settings of wasserstein is None"),
        ("wasserstein", {}, "has the fields [], not ['weights']"),
        ("wasserstein", {"weights": [0.5, 0.5]}, "are no weights"),
        ("wasserstein", {"weights": [0.5, 1, -0.5]}, "are no weights"),
        ("wasserstein", {"weights": [0.5, 1.0, -0.5]}, "are no weights"),
        ("wasserstein", {"weights": [0.5, 0.5, 0.5]}, "do not sum to one"),
        ("wasserstein", {"weights": [float("nan"), 0.5, 0.5]}, "are no weights"),
        ("wasserstein", {"weights": [0.3, 0.3, 0.4]}, "does not deploy that law"),
        ("prior-corrected", {"prior_scale": 0.0}, "the prior scale is 0.0"),
        ("prior-corrected", {"prior_scale": "1"}, "the prior scale is '1'"),
        ("prior-corrected", {"prior_scale": float("inf")}, "the prior scale is inf"),
        ("prior-corrected", {"prior_scale": 1.6}, "does not deploy that law"),
        ("prior-corrected", {"prior_scale": 1e-300}, "does not deploy that law"),
    ],
)
def test_settings_are_read_with_suspicion(
    name: str, settings: object, complaint: str, tmp_path: Path
) -> None:
    path = save(tmp_path, name)
    sealed(path, lambda claim, _: claim["rule"].update(settings=settings))
    with pytest.raises(InvalidCertificate, match=re.escape(complaint)):
        read(path, tmp_path / "messages")


def test_only_a_law_that_has_settings_states_them(tmp_path: Path) -> None:
    path = save(tmp_path, "pog")
    sealed(path, lambda claim, _: claim["rule"].update(settings={}))
    with pytest.raises(InvalidCertificate, match="a linear rule has the fields"):
        read(path, tmp_path / "messages")


@pytest.mark.parametrize("name", ["pog", "reverse-kl"])
def test_a_client_that_is_no_gaussian_has_no_such_law(name: str) -> None:
    law = DiagonalGaussian(np.zeros(1), np.ones(1))
    two = GaussianMixture(np.zeros((2, 1)), np.ones((2, 1)), np.ones(2))
    with pytest.raises(InvalidCertificate, match="one Gaussian of each client"):
        require_deserved(
            name, {"weights": np.ones((2, 1)) / 2}, (np.ones((2, 1)) / 2, np.zeros(1)), [law, two]
        )
    require_deserved("fedavg", {}, (np.ones((2, 1)) / 2, np.zeros(1)), [law, two])


def test_numbers_that_overflow_deserve_no_name() -> None:
    laws = [DiagonalGaussian(np.full(1, 1e308), np.full(1, s)) for s in (1e300, 1e-300)]
    with pytest.raises(InvalidCertificate, match="does not deploy"):
        require_deserved(
            "forward-kl", {"weights": np.full((2, 1), 0.5)}, (np.ones((2, 1)), np.zeros(1)), laws
        )


def test_a_client_that_is_certain_decides_alone() -> None:
    """The limit of small deviations, for which the closed form is written down."""
    laws = [DiagonalGaussian(np.array([m]), np.array([s])) for m, s in ((1.0, 0.0), (5.0, 2.0), (2.0, 0.0))]
    for name, w in (("pog", None), ("reverse-kl", [0.25, 0.25, 0.5])):
        settings = {} if w is None else {"weights": np.array(w)[:, None]}
        mean = 1.5 if w is None else (0.25 + 1.0) / 0.75
        a = np.array([[0.5], [0.0], [0.5]])
        require_deserved(name, settings, (a, np.array([mean - 1.5])), laws)
        with pytest.raises(InvalidCertificate, match="does not deploy"):
            require_deserved(name, settings, (a, np.array([mean - 1.4])), laws)


def test_rounding_of_the_fast_path_never_costs_a_name() -> None:
    """Means and deviations over many orders of magnitude.

    The offset of `forward-kl` undoes coefficients that are as large as means are against deviations: the
    law of the floats is another one where that is more than 1e9.
    """
    generator = torch.Generator().manual_seed(0)
    size = 10 ** (60 * torch.rand(4, 3, 50, generator=generator).double() - 30)
    for loc, scale in zip(size[:2], size[2:], strict=True):
        prior = 2 * float(scale.max())
        for name in (*PRODUCTS, *SETTINGS):
            wide = 1e-6 * loc.amax(0) if name == "forward-kl" else 0.0
            laws = [Gaussian(m, s + wide) for m, s in zip(loc, scale, strict=True)]
            stated = [DiagonalGaussian(law.loc.numpy(), law.scale.numpy()) for law in laws]
            rule = build_rule(name, RuleContext(laws, [1, 7, 2], "size", prior_scale=prior))
            assert isinstance(rule, LinearRule)
            given = rule.settings.get("weights")
            settings = {"weights": np.array(given)[:, None]} if given else dict(rule.settings)
            offset = np.zeros(1) if rule.offset is None else rule.offset.numpy()
            require_deserved(name, settings, (rule.weights.numpy(), offset), stated)


def test_a_fixed_client_cannot_carry_a_mean_away() -> None:
    """Its coefficient is free where its deviation is 0, and an offset undoes it: all but what it hides."""
    laws = [DiagonalGaussian(np.array([-50.0]), np.array([0.1])), DiagonalGaussian(np.ones(1), np.zeros(1))]
    settings, huge = {"weights": np.array([[0.5], [0.5]])}, 1e15
    require_deserved("wasserstein", settings, (np.array([[0.5], [0.5]]), np.zeros(1)), laws)
    with pytest.raises(InvalidCertificate, match="does not deploy"):
        require_deserved("wasserstein", settings, (np.array([[0.5], [huge]]), np.array([75.0 - huge])), laws)


def test_means_that_nearly_cancel_are_held_against_the_deviation() -> None:
    laws = [DiagonalGaussian(np.array([mean]), np.ones(1)) for mean in (1e12, -1e12)]
    require_deserved("pog", {}, (np.full((2, 1), 0.5), np.zeros(1)), laws)
    with pytest.raises(InvalidCertificate, match="does not deploy"):
        require_deserved("pog", {}, (np.array([[0.5 + 2.5e-10], [0.5 - 2.5e-10]]), np.zeros(1)), laws)
