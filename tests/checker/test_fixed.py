"""Networks that are random in part, from the fast path to the checker: every kind of claim is proved."""

from itertools import pairwise
from pathlib import Path

import confidence_cases
import pytest
import torch
from federated_problems import make_federated
from saved import certify_all, make_federation, make_rules
from saved_certificates import KINDS, retold, saved

from fedcert.families.problem import Problem
from fedcert.families.projected import split
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert_check import check
from fedcert_check.confidence.checking import check_confidence

PATTERNS = {
    "nothing": (),
    "first layer": (0, 1),
    "last layer": (2, 3),
    "weights": (0, 2),
    "biases": (1, 3),
    "output bias": (3,),
}
"""Which of W_1, b_1, W_2, b_2 are random."""


@pytest.fixture(autouse=True)
def hardly_any_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any split will do here."""
    monkeypatch.setattr(split, "GOOD_ENOUGH", 1.0)


def random_in(widths: tuple[int, ...], tensors: tuple[int, ...]) -> torch.Tensor:
    """Which parameters belong to these tensors."""
    sizes = [size for a, b in pairwise(widths) for size in (a * b, b)]
    return torch.cat([torch.full((size,), place in tensors) for place, size in enumerate(sizes)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tensors", PATTERNS.values(), ids=PATTERNS)
def test_projected_certificates_are_proved_and_no_more_than_that(
    tensors: tuple[int, ...], kind: str, tmp_path: Path
) -> None:
    made = make_federated(4, (2, 3, 2), 0.05, 1e-4, clients=2)
    random = random_in((2, 3, 2), tensors)
    laws = [DiagonalGaussian(law.loc, law.scale * random) for law in made.laws]
    made = type(made)(made.network, laws, made.rule, made.centre, made.radius, made.C, made.generator)
    properties = made.properties(made.offsets(2.0) + 0.02)
    path = saved(tmp_path, made, properties, kind)
    report = check(path)
    assert not report.failures
    proved = report.proved[0].lower
    assert proved > 0.49
    if proved < 1 - 1e-5:
        more = {"lower": torch.tensor([proved + 1e-6]).double(), "upper": torch.ones(1).double()}
        raised = retold(path, lambda old: old | {name: more[name] for name in more if name in old})
        assert check(raised).failures


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "tensors"), [("fedavg", ()), ("pog", (1, 2)), ("median", (3,))], ids=str)
def test_certificates_of_cells_and_boxes_are_proved(
    tensors: tuple[int, ...], rule: str, tmp_path: Path
) -> None:
    made = make_federation(2, (2, 3, 2), 1e-3, random=random_in((2, 3, 2), tensors))
    deployed = make_rules(made)[rule]
    found = certify_all(made, deployed)
    assert max(certificate.lower.max().item() for certificate in found) > 0.3
    for place, certificate in enumerate(found):
        assert not check(made.save(tmp_path / str(place), certificate, deployed)).failures


def test_a_confidence_bound_of_a_network_that_is_random_in_part_is_accepted(tmp_path: Path) -> None:
    problem = confidence_cases.random_problem(1)
    random = torch.arange(problem.laws[0].dimension) % 3 > 0
    laws = tuple(DiagonalGaussian(law.loc, law.scale * random) for law in problem.laws)
    fixed = Problem(problem.network, problem.properties, laws, problem.rule)
    path, found = confidence_cases.saved(tmp_path, fixed, draws=40)
    report = check_confidence(path)
    assert report.verdict
    assert report.proven == tuple(found.proven.tolist())


def test_a_tie_is_not_denied(tmp_path: Path) -> None:
    """All is fixed, and the margin is exactly 0: safe, so that no upper bound below 1 is proved."""
    made = make_federated(4, (1, 1, 1), 0.05, clients=1)
    nothing = torch.zeros(mlp(1, 1, 1).parameters).double()
    laws = [DiagonalGaussian(nothing, nothing)]
    made = type(made)(made.network, laws, made.rule, made.centre, 0.0, made.C, made.generator)
    path = saved(tmp_path, made, made.properties(torch.zeros(1, 1).double()), "direct")
    denied = retold(path, lambda tensors: tensors | {"upper": tensors["upper"] * 0 + 0.9})
    assert check(denied).failures
