import pytest
import torch
from problems import normal

from fedcert.errors import InvalidMessage, ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.families.paper_box.events import PaperBox
from fedcert.families.paper_box.family import PaperBoxFamily
from fedcert.federation.client import client
from fedcert.federation.server import server
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.randomness import stream
from fedcert.rules import RuleContext, build_rule
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier
from fedcert.wire.message import Message

NETWORK = mlp(4, 5, 3)
EVENTS = PaperBox(centers=20)
FAMILY = PaperBoxFamily(centers=20)


def make_laws(clients: int, parameters: int = NETWORK.parameters) -> list[DiagonalGaussian]:
    """Clients that agree up to small differences, so that averages classify as they do."""
    shared = normal(stream(0, "shared"), parameters)
    return [
        DiagonalGaussian(
            shared + 0.01 * normal(stream(0, "client", i), parameters), torch.full_like(shared, 1e-4)
        )
        for i in range(clients)
    ]


def make_safe(laws: list[DiagonalGaussian]) -> Safe:
    x = torch.rand(6, 4, generator=stream(0, "inputs"), dtype=torch.float64)
    label = NETWORK(laws[0].loc, x).argmax(-1)
    return Safe(NETWORK, linf_robustness(x, label, 1e-3, classes=3), IntervalVerifier())


@pytest.mark.parametrize("rule_name", ["fedavg", "pog"])
@pytest.mark.parametrize("screened", [True, False])
def test_messages_become_three_certificates_of_the_deployed_rule(rule_name, screened: bool) -> None:
    laws = make_laws(3)
    safe = make_safe(laws)
    messages = [
        client(f"c{i}", law, 10, stream(0, i), EVENTS, safe if screened else None)
        for i, law in enumerate(laws)
    ]
    rule = build_rule(rule_name, RuleContext(laws, [10, 10, 10]))
    certificates = list(server(messages, rule, NETWORK, safe.properties, [FAMILY]))
    assert [c.claim.kind for c in certificates] == ["local", "transported", "direct"]
    assert {c.claim.rule for c in certificates} == {rule_name}
    for certificate in certificates:
        assert certificate.lower.shape == (6,)
        assert certificate.mean_lower > 0.5


@pytest.mark.slow
def test_families_without_a_common_name_are_refused_before_any_work() -> None:
    laws = make_laws(2)
    messages = [
        Message(f"c{i}", law, Cells.none(law.dimension), 10, family)
        for i, (law, family) in enumerate(zip(laws, ("paper-box", 60 * "x"), strict=True))
    ]
    rule = build_rule("fedavg", RuleContext(laws, [1, 1]))
    with pytest.raises(InvalidMessage, match=r"events: .*'c1': 'xxx"):
        next(server(messages, rule, NETWORK, make_safe(laws).properties, ["paper-box"]))
    assert len(list(server(messages, rule, NETWORK, make_safe(laws).properties, ["projected"]))) == 3


def test_clients_with_different_networks_are_refused() -> None:
    laws = [*make_laws(2), *make_laws(1, NETWORK.parameters + 1)]
    safe = make_safe(laws)
    messages = [client(f"c{i}", law, 10, stream(0, i), EVENTS) for i, law in enumerate(laws)]
    rule = build_rule("fedavg", RuleContext(laws, [1, 1, 1]))
    with pytest.raises(ShapeMismatch):
        list(server(messages, rule, NETWORK, safe.properties, [FAMILY]))
    with pytest.raises(ShapeMismatch, match="same network"):
        build_rule("pog", RuleContext(laws, [1, 1, 1]))
