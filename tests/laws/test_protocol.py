"""Every law against the contract that it declares to follow."""

import pytest
import torch
from law_contract import check_law
from problems import normal, uniform

from fedcert.errors import InvalidLaw
from fedcert.laws import DiagonalGaussian, GaussianMixture, Law, registry
from fedcert.laws.enclosed import EnclosedGaussian
from fedcert.laws.registry import law_named, register_law
from fedcert.model.network import mlp
from fedcert.randomness import stream

NETWORK = mlp(2, 3, 1)


def gaussian(seed: int) -> DiagonalGaussian:
    generator = stream(seed, "law")
    return DiagonalGaussian(
        normal(generator, NETWORK.parameters), 0.1 + uniform(generator, NETWORK.parameters)
    )


def enclosed(seed: int) -> EnclosedGaussian:
    own = gaussian(seed)
    return EnclosedGaussian(DiagonalGaussian(own.loc, own.scale, torch.full_like(own.loc, 1e-6), 1e-6))


LAWS = [
    gaussian(0),
    GaussianMixture((gaussian(1), gaussian(2)), torch.tensor([1.0, 3.0]).double()),
    enclosed(3),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_samples_follow_what_a_law_says_of_itself(law: Law) -> None:
    check_law(law, NETWORK)


def test_a_law_whose_layers_say_too_little_is_noticed() -> None:
    class Modest(DiagonalGaussian):
        def layers(self, network):
            return DiagonalGaussian(self.loc, self.scale / 2).layers(network)

    with pytest.raises(AssertionError):
        check_law(Modest(LAWS[0].loc, LAWS[0].scale), NETWORK)


def test_laws_are_known_by_the_name_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    assert law_named("diagonal-gaussian") is DiagonalGaussian
    with pytest.raises(InvalidLaw, match="'laplace': known are diagonal-gaussian"):
        law_named("laplace")
    monkeypatch.setattr(registry, "_LAWS", dict(registry._LAWS))
    with pytest.raises(InvalidLaw, match="known already"):
        register_law(DiagonalGaussian)
