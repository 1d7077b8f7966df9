import pytest
import torch
from problems import normal

from fedcert.federation.estimates import mc_ibp
from fedcert.federation.numbered import draws_of, joint_draws
from fedcert.federation.settled import at_centres, settled
from fedcert.laws import DiagonalGaussian
from fedcert.model.layers import LeakyReLU, Linear
from fedcert.model.network import Network, mlp
from fedcert.model.properties import linf_robustness
from fedcert.randomness import stream
from fedcert.rules import TrimmedMean
from fedcert.verify.attack import least_margin
from fedcert.verify.points import accepts

NETWORK = mlp(4, 6, 3)
LEAKY = Network((Linear(4, 6), LeakyReLU(0.1), Linear(6, 3)))


def problem(scale: float):
    generator = stream(0, "settled")
    loc = normal(generator, NETWORK.parameters)
    x = torch.rand(40, 4, generator=generator, dtype=torch.float64)
    labels = torch.arange(40) % 3  # most are wrong
    law = DiagonalGaussian(loc, torch.full_like(loc, scale))
    return law, x, linf_robustness(x, labels, 1e-3, classes=3)


@pytest.mark.parametrize("scale", [1e-5, 1e-3, 3e-2])
@pytest.mark.parametrize("network", [NETWORK, LEAKY], ids=["rectifiers", "others"])
def test_what_is_settled_is_what_all_draws_show(network: Network, scale: float) -> None:
    law, x, asked = problem(scale)
    draws = draws_of(law, stream(1, "draws"))
    always, rejected = settled(draws, network, asked, asked)
    same, broken = settled(draws, network, asked, at_centres(asked))
    theta = draws(0, 500)
    assert accepts(network, theta.double(), asked)[:, always].all()
    assert not accepts(network, theta.double(), asked)[:, rejected].any()
    assert (least_margin(network, theta.double(), x, asked)[:, broken] < 0).all()
    assert torch.equal(always, same)
    assert not (always & rejected).any()
    assert not (broken & ~rejected).any()
    never = broken
    assert scale > 1e-2 or (always.any() and never.any())


def test_an_estimate_is_the_same_as_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from fedcert.federation import settled as module

    law, _, asked = problem(1e-3)

    def estimate() -> list[int]:
        return mc_ibp(law, NETWORK, asked, "fedavg", 200, stream(2, "estimate")).successes.tolist()

    found = estimate()
    nothing = torch.zeros(len(asked), dtype=torch.bool)
    monkeypatch.setattr(module, "settled", lambda *_: (nothing, nothing))
    assert found == estimate()


def test_draws_without_a_box_settle_nothing() -> None:
    law, _, asked = problem(1e-5)
    draws = joint_draws([law] * 3, TrimmedMean.median(3), stream(0, "median"))
    assert not torch.cat(settled(draws, NETWORK, asked, asked)).any()


def test_nothing_is_settled_where_draws_overflow() -> None:
    law, _, asked = problem(1e-3)
    beyond = DiagonalGaussian(law.loc * 1e60, law.scale)
    always, never = settled(draws_of(beyond, stream(1, "draws")), NETWORK, asked, asked)
    assert not (always | never).any()
