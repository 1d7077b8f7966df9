"""Whatever states a posterior, a network or a rule becomes the same objects, and what is wrong is named."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from fedcert import DiagonalGaussian, GaussianMixture, LinearRule, Message, Posterior, TrimmedMean, mlp
from fedcert.api.inputs import as_laws, as_network, as_rule, with_network
from fedcert.errors import (
    FedcertError,
    InvalidConfig,
    InvalidLaw,
    InvalidMessage,
    ShapeMismatch,
    UnsupportedLayer,
)
from fedcert.families.cells import Cells

ARRAYS = [(np.array([i, 0.5, -2.0]), np.array([0.1, 1.0, 2.0 + i])) for i in range(12)]
LAWS = [DiagonalGaussian(torch.from_numpy(loc), torch.from_numpy(scale)) for loc, scale in ARRAYS]


def numbers(found: Sequence[Any]) -> list[tuple[list[float], list[float]]]:
    """Mean and deviations of every client."""
    laws = [own.law if isinstance(own, Message) else own for own in found]
    return [(law.loc.tolist(), law.scale.tolist()) for law in laws]


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """A folder of the messages of all clients, and a file that is none."""
    for i, law in enumerate(LAWS):
        Message(f"client-{i}", law, Cells.none(3), 10 + i).save(tmp_path / f"client-{i}.safetensors")
    (tmp_path / "notes.txt").write_text("mine")
    return tmp_path


@pytest.mark.parametrize(
    "state",
    [
        lambda _: LAWS,
        lambda _: tuple(ARRAYS),
        lambda _: np.array(ARRAYS),
        lambda _: (law for law in LAWS),
        lambda _: dict(enumerate(ARRAYS)).values(),
        lambda _: [[loc.tolist(), scale.tolist()] for loc, scale in ARRAYS],
        lambda _: [(torch.from_numpy(loc).requires_grad_(), scale) for loc, scale in ARRAYS],
        lambda inbox: inbox,
        str,
        lambda inbox: [inbox / f"client-{i}.safetensors" for i in range(12)],
        lambda inbox: [str(inbox / f"client-{i}.safetensors") for i in range(12)],
        lambda inbox: [*ARRAYS[:4], *LAWS[4:8], *(inbox / f"client-{i}.safetensors" for i in range(8, 12))],
    ],
    ids=[
        "laws",
        "arrays",
        "array",
        "generator",
        "values",
        "lists",
        "tensors",
        "folder",
        "its name",
        "files",
        "names",
        "mixed",
    ],
)
@pytest.mark.usefixtures("without_annotations")
def test_every_way_to_state_posteriors_gives_the_same_laws_in_the_same_order(inbox: Path, state: Any) -> None:
    assert numbers(as_laws(state(inbox))) == [(loc.tolist(), scale.tolist()) for loc, scale in ARRAYS]


def test_laws_and_messages_are_taken_as_they_are(inbox: Path) -> None:
    stated = [LAWS[0], Message("me", LAWS[1], Cells.none(3), 7)]
    assert [one is other for one, other in zip(as_laws(stated), stated, strict=True)] == [True, True]
    assert [own.examples for own in as_laws(inbox) if isinstance(own, Message)] == list(range(10, 22))


def test_single_precision_means_its_own_numbers() -> None:
    (law,) = as_laws([(np.array([0.1], dtype=np.float32), [1])])
    assert (law.loc.item(), law.loc.dtype) == (float(np.float32(0.1)), torch.float64)


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize(
    ("posteriors", "error", "words"),
    [
        ([], InvalidLaw, "at least one client"),
        ((), InvalidLaw, "at least one client"),
        (iter(()), InvalidLaw, "at least one client"),
        (LAWS[0], InvalidLaw, "posteriors: a DiagonalGaussian: give a list with one posterior a client"),
        (Message("me", LAWS[1], Cells.none(3), 7), InvalidLaw, "posteriors: a Message: give a list"),
        (None, InvalidLaw, "posteriors: a NoneType: give a list"),
        (3, InvalidLaw, "posteriors: a int: give a list"),
        (np.array(3.0), InvalidLaw, "posteriors: a ndarray: give a list"),
        (torch.tensor(3.0), InvalidLaw, "posteriors: a Tensor: give a list"),
        ([*ARRAYS[:2], 3.0], InvalidLaw, "posterior 2 is a float"),
        ([None], InvalidLaw, "posterior 0 is a NoneType"),
        ([ARRAYS[0][0]], InvalidLaw, "posterior 0 is a ndarray"),
        ([(*ARRAYS[0], 1.0)], InvalidLaw, "posterior 0 is a tuple"),
        (ARRAYS[0], InvalidLaw, "posterior 0 is a ndarray"),
        ([({"loc": 1}, {"scale": 2})], InvalidLaw, "posterior 0 is a pair of state dicts"),
        ([ARRAYS[0], (["x"], [1.0])], ShapeMismatch, "means and deviations of posterior 1"),
        ([([True], [1.0])], ShapeMismatch, "torch.bool has no exact value"),
        ([([2**53 + 1], [1.0])], ShapeMismatch, "no exact value"),
        ([(1.0, 1.0)], InvalidLaw, "vectors of one length"),
        ([([0.0, 1.0], [1.0])], InvalidLaw, "vectors of one length"),
        ([(ARRAYS[0][0], -ARRAYS[0][1])], InvalidLaw, "scale"),
        ([([np.nan], [1.0])], InvalidLaw, "the mean must be finite"),
        (["/nowhere/client.safetensors"], InvalidMessage, "nowhere"),
        ([Path(__file__).parent], InvalidMessage, "api"),
        ([__file__], InvalidMessage, "test_inputs"),
        ("/nowhere", InvalidMessage, "/nowhere: no message"),
        (__file__, InvalidMessage, "no message"),
        (Path(__file__).parent, InvalidMessage, r"no message \(\*.safetensors\) in this folder"),
    ],
)
def test_what_is_no_posterior_is_named(posteriors: Any, error: type[FedcertError], words: str) -> None:
    with pytest.raises(error, match=words):
        as_laws(posteriors)


@pytest.mark.usefixtures("without_annotations")
def test_what_a_library_fitted_is_read_first() -> None:
    fitted = type("KronLLLaplace", (), {"__module__": "laplace.lllaplace"})()
    with pytest.raises(InvalidLaw, match=r"read it with fedcert\.adapters\.from_laplace\(la\)"):
        as_laws([fitted])


def test_posteriors_that_were_read_bring_their_network() -> None:
    law = DiagonalGaussian(torch.zeros(6).double(), torch.ones(6).double())
    read = Posterior(mlp(2, 2), law)
    assert with_network([read, law], None) == ([law, law], mlp(2, 2))
    assert with_network(iter([law, read]), nn.Sequential(nn.Linear(2, 2))) == ([law, law], mlp(2, 2))
    with pytest.raises(ShapeMismatch, match="posterior 1 belongs to another network"):
        with_network([read, Posterior(mlp(1, 3), law)], None)
    with pytest.raises(ShapeMismatch, match="posterior 0 belongs to another network"):
        with_network([read], mlp(1, 3))
    with pytest.raises(InvalidConfig, match="no network"):
        with_network([law], None)


def test_a_folder_of_messages_needs_a_network(inbox: Path) -> None:
    assert with_network(inbox, mlp(1, 1))[1] == mlp(1, 1)
    with pytest.raises(InvalidConfig, match="no network"):
        with_network(inbox, None)


def test_one_damaged_message_of_a_folder_is_named(inbox: Path) -> None:
    hostile = inbox / "client-3.safetensors"
    hostile.write_bytes(hostile.read_bytes()[:-1])
    with pytest.raises(InvalidMessage, match="client-3"):
        as_laws(inbox)


def test_a_network_is_taken_as_it_is_and_a_module_read_as_one() -> None:
    network = mlp(2, 4, 3)
    assert as_network(network) is network
    assert as_network(nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3))) == network
    with pytest.raises(UnsupportedLayer, match="Conv1d"):
        as_network(nn.Conv1d(1, 1, 1))


@pytest.mark.parametrize("rule", [LinearRule.fedavg([1, 2]), TrimmedMean.median(3)])
def test_a_rule_is_taken_as_it_is(rule: Any) -> None:
    assert as_rule(rule, [], [], "uniform") is rule


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=12))
def test_weights_are_equal_or_follow_the_sizes(sizes: list[int]) -> None:
    laws = LAWS[: len(sizes)]
    equal, by_size = (as_rule("fedavg", laws, sizes, weights) for weights in ("uniform", "size"))
    assert isinstance(equal, LinearRule)
    assert isinstance(by_size, LinearRule)
    assert equal.weights.flatten().tolist() == pytest.approx([1 / len(sizes)] * len(sizes), rel=1e-15)
    expected = [size / sum(sizes) for size in sizes]
    assert by_size.weights.flatten().tolist() == pytest.approx(expected, rel=1e-15)


def test_a_product_of_gaussians_weighs_by_precision() -> None:
    rule = as_rule("pog", LAWS[:3], [1, 1, 1], "uniform")
    assert isinstance(rule, LinearRule)
    precision = torch.stack([law.scale for law in LAWS[:3]]) ** -2
    torch.testing.assert_close(rule.weights, precision / precision.sum(0), rtol=1e-14, atol=0.0)


def test_a_mixture_may_be_averaged() -> None:
    mixture = GaussianMixture((LAWS[0], LAWS[1]), torch.ones(2).double())
    assert as_rule("median", [mixture, LAWS[2], LAWS[3]], [1, 1, 1], "uniform") == TrimmedMean.median(3)
    rule = as_rule("fedavg", [mixture, LAWS[2]], [1, 3], "size")
    assert isinstance(rule, LinearRule)
    assert rule.weights.flatten().tolist() == [0.25, 0.75]


@pytest.mark.parametrize("place", [0, 1])
def test_a_product_of_gaussians_refuses_mixtures(place: int) -> None:
    """The precision of one component is not that of the law."""
    laws: list[Any] = [LAWS[2], LAWS[3]]
    laws[place] = GaussianMixture((LAWS[0], LAWS[1]), torch.ones(2).double())
    with pytest.raises(InvalidLaw, match=f"posterior {place} is a mixture of 2 Gaussians"):
        as_rule("pog", laws, [1, 1], "uniform")
    lone = GaussianMixture((LAWS[1],), torch.ones(1).double())
    found, expected = (as_rule("pog", [LAWS[0], own], [1, 1], "uniform") for own in (lone, LAWS[1]))
    assert torch.equal(found.weights, expected.weights)


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("rule", ["fedavg", "pog", "median"])
@pytest.mark.parametrize("weights", ["sizes", "Uniform", ""])
def test_misspelt_weights_are_refused_whatever_the_rule(rule: str, weights: Any) -> None:
    with pytest.raises(InvalidConfig, match=f"weights: '{weights}'; give uniform or size"):
        as_rule(rule, LAWS[:3], [1, 1, 1], weights)


def test_weights_by_size_need_sizes() -> None:
    with pytest.raises(InvalidConfig, match="weights: size needs the numbers of examples"):
        as_rule("fedavg", LAWS[:2], None, "size")
    rule = as_rule("fedavg", LAWS[:2], None, "uniform")
    assert isinstance(rule, LinearRule)
    assert rule.weights.flatten().tolist() == [0.5, 0.5]


@dataclass(frozen=True)
class Dependent:
    """A Gaussian whose parameters are not independent."""

    loc: torch.Tensor

    @property
    def dimension(self) -> int:
        return len(self.loc)

    @property
    def components(self) -> "tuple[Dependent]":
        return (self,)

    def sample(self, count: int, generator: torch.Generator) -> torch.Tensor:
        return self.loc + torch.randn(count, 1, generator=generator, dtype=torch.float64)

    def layers(self, network: Any) -> list[Any]:
        return []


@pytest.mark.parametrize(
    ("rule", "laws", "error", "words"),
    [
        ("fedsgd", LAWS[:1], InvalidConfig, "'fedsgd'; known are fedavg"),
        ("linear", LAWS[:2], InvalidConfig, "2 numbers, not uniform"),
        ("server-step", LAWS[:2], InvalidConfig, "started from"),
        ("pog", [LAWS[0], Dependent(LAWS[0].loc)], InvalidLaw, "a Dependent is not stated by blocks"),
    ],
)
def test_a_name_that_makes_no_rule_is_an_error(
    rule: str, laws: list[Any], error: type[FedcertError], words: str
) -> None:
    with pytest.raises(error, match=words):
        as_rule(rule, laws, [1] * len(laws), "uniform")
