"""Which claims are made of a problem, in which order, and how often anything is proved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from problems import normal

from fedcert.certificate import Certificate, Claim, Kind
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem, SentCells
from fedcert.families.protocol import CellFamily, Family
from fedcert.federation.claims import claims_of
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.progress import silent
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, LinearRule, TrimmedMean

KINDS: tuple[Kind, ...] = ("local", "transported", "direct")
NETWORK = mlp(2, 2)
PROPERTIES = linf_robustness([[0.5, 0.5]], [0], 0.1, classes=2)
FEDAVG = LinearRule.fedavg([1, 1])
SKEWED = LinearRule(torch.tensor([[0.9], [0.1]], dtype=torch.float64))
CELLS = Cells.none(NETWORK.parameters)


def gaussian(client: int, scale: float = 1.0) -> DiagonalGaussian:
    loc = normal(stream(0, "claims", client), NETWORK.parameters)
    return DiagonalGaussian(loc, torch.full_like(loc, scale))


LAWS = (gaussian(0), gaussian(1))
POG = LinearRule.product_of_gaussians(LAWS)  # deploys what FEDAVG does, for the scales are equal
MIXTURE = GaussianMixture(LAWS, torch.ones(2, dtype=torch.float64))


def make_problem(rule: AggregationRule = FEDAVG, laws: Sequence[Any] = LAWS, sent: str = "") -> Problem:
    cells = SentCells({"a": sent, "b": sent}, (lambda: CELLS, lambda: CELLS)) if sent else None
    return Problem(NETWORK, PROPERTIES, tuple(laws), rule, cells)


@dataclass
class Fake:
    """A family that notes what it is asked to prove; each certificate says how many came before it."""

    name: str = "fake"
    kinds: tuple[str, ...] = KINDS
    asked: list[tuple[str, str, object]] = field(default_factory=list)

    def supports(self, problem: Problem, kind: Kind) -> bool:
        return kind in self.kinds and (kind != "direct" or problem.has_deployed_law)

    def prove(self, problem: Problem, kind: Kind, track: Any = silent) -> Certificate:
        self.asked.append((kind, problem.rule.name, track))
        bound = torch.tensor([len(self.asked) / 8], dtype=torch.float64)
        return Certificate(Claim(kind, problem.rule.name, self.name), bound)


class FakeOfCells(Fake):
    def client_cells(self, law: object, client: int, safe: object, track: object = silent) -> Cells:
        raise AssertionError("no claim needs to be made to be listed")


def listed(*arguments: Any) -> list[Claim]:
    return [claim for claim, _ in claims_of(*arguments)]


def test_the_fakes_are_families() -> None:
    assert isinstance(Fake(), Family)
    assert not isinstance(Fake(), CellFamily)
    assert isinstance(FakeOfCells(), CellFamily)


def test_claims_come_family_by_family_and_compared_rules_have_direct_ones_only() -> None:
    compared = [make_problem(SKEWED), make_problem(POG)]
    assert listed(make_problem(), [Fake("one"), Fake("two")], compared) == [
        Claim(kind, rule, family)  # type: ignore[arg-type]
        for family in ("one", "two")
        for kind, rule in (
            ("local", "fedavg"),
            ("transported", "fedavg"),
            ("direct", "fedavg"),
            ("direct", "linear"),
            ("direct", "pog"),
        )
    ]


@pytest.mark.parametrize("kinds", [(), ("local",), ("transported",), ("direct",), KINDS])
def test_what_a_family_does_not_support_is_not_claimed(kinds: tuple[str, ...]) -> None:
    family = Fake(kinds=kinds)
    assert [claim.kind for claim in listed(make_problem(), [family])] == list(kinds)
    assert family.asked == []


def test_a_rule_without_a_deployed_law_has_no_direct_claim_but_those_compared_with_it_have() -> None:
    median = make_problem(TrimmedMean.median(2))
    assert [(own.kind, own.rule) for own in listed(median, [Fake()], [make_problem()])] == [
        ("local", "median"),
        ("transported", "median"),
        ("direct", "fedavg"),
    ]
    assert [own.rule for own in listed(make_problem(), [Fake(kinds=("direct",))], [median])] == ["fedavg"]


def test_no_families_claim_nothing() -> None:
    assert listed(make_problem(), []) == []


def test_a_claim_is_proved_when_it_is_asked_for_and_with_the_tracker() -> None:
    def track(items: Any, *_: object) -> Iterator[Any]:
        yield from items

    family = Fake()
    for claim, prove in claims_of(make_problem(), [family], track=track):
        family.asked.clear()
        assert prove().claim == claim
        assert family.asked == [(claim.kind, "fedavg", track)]


def test_rules_that_deploy_the_same_law_share_one_proof_within_a_family() -> None:
    families = [Fake("one", ("direct",)), Fake("two", ("direct",))]
    compared = [make_problem(POG), make_problem(SKEWED)]
    found = [prove() for _, prove in claims_of(make_problem(), families, compared)]
    assert [(own.claim.rule, own.lower.item()) for own in found] == 2 * [
        ("fedavg", 0.125),
        ("pog", 0.125),
        ("linear", 0.25),
    ]
    for family in families:
        assert [rule for _, rule, _ in family.asked] == ["fedavg", "linear"]


def test_rules_that_deploy_almost_the_same_law_do_not() -> None:
    laws = (LAWS[0], gaussian(1, 1 + 2**-40))
    pog = make_problem(LinearRule.product_of_gaussians(laws), laws)
    found = [prove() for _, prove in claims_of(make_problem(laws=laws), [Fake(kinds=("direct",))], [pog])]
    assert [own.lower.item() for own in found] == [0.125, 0.25]


def test_mixtures_deploy_no_law_that_could_be_compared() -> None:
    laws = (MIXTURE, LAWS[1])
    family = Fake(kinds=("direct",))
    compared = [make_problem(LinearRule.fedavg([1, 1]), laws)]
    found = [prove() for _, prove in claims_of(make_problem(laws=laws), [family], compared)]
    assert [own.lower.item() for own in found] == [0.125, 0.25]


@pytest.mark.parametrize(
    ("family", "sent", "events"),
    [
        (FakeOfCells("made"), "sent", "sent"),
        (FakeOfCells("made"), "", "made"),
        (Fake("made"), "sent", "made"),
    ],
    ids=["cells", "none were sent", "no cells"],
)
def test_cells_that_were_sent_name_the_claims_that_use_them(family: Fake, sent: str, events: str) -> None:
    assert [(own.kind, own.events) for own in listed(make_problem(sent=sent), [family])] == [
        ("local", events),
        ("transported", events),
        ("direct", "made"),
    ]
