"""Certificates of mixtures: proved from their files against closed forms, and not when nodes are forged."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from balls import precision
from flint import arb
from mixture_cases import LAWS, MIXED, fedavg, narrow, problem, saved, truth
from saved_certificates import Tensors, retold
from torch import Tensor

from fedcert.families.hull import certify_hulls
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.projected.family import ProjectedFamily
from fedcert.families.projected.tails import Limit
from fedcert.families.registry import family_named
from fedcert.laws import BoxMeasurable, DiagonalGaussian, GaussianMixture, Law
from fedcert.rules import LinearRule, TrimmedMean
from fedcert.verify.interval import IntervalVerifier
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.message import Message
from fedcert_check import check
from fedcert_check.cost import ProofLimits
from fedcert_check.errors import InvalidCertificate, TooCostly

pytestmark = pytest.mark.slow

TABLES = "witness."


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = problem(fedavg())
    return saved(tmp_path_factory.mktemp("run"), asked, family_named("projected").prove(asked, "direct"))


def fedavg_of_one() -> LinearRule:
    return LinearRule.fedavg([1])


@pytest.mark.parametrize("kind", ["local", "transported", "direct"])
def test_projected_claims_are_proved_and_keep_to_the_exact_probability(kind, tmp_path: Path) -> None:
    asked = problem(fedavg())
    found = family_named("projected").prove(asked, kind)
    report = check(saved(tmp_path, asked, found))
    assert report.verdict
    exact = mean_of_clients(LAWS) if kind == "local" else truth(fedavg())
    with precision(200):
        for proved, p in zip(report.proved, exact, strict=True):
            assert arb(proved.lower) <= p <= arb(proved.upper)
            assert p - arb(proved.lower) < (0.2 if kind == "transported" else 1e-5)
    if kind == "direct":  # a half-space is exact
        assert (found.upper - found.lower).max() < 1e-6


def mean_of_clients(laws: Sequence[Law]) -> list[arb]:
    own = [truth(fedavg_of_one(), [law]) for law in laws]
    return [sum((each[p] for each in own), arb(0)) / len(own) for p in range(2)]


@pytest.mark.parametrize("kind", ["local", "transported"])
def test_boxes_around_components_are_proved_and_keep_to_the_exact_probability(kind, tmp_path: Path) -> None:
    laws = list(map(narrow, LAWS))
    asked = problem(fedavg(), laws)
    asked = asked.asking(asked.properties[:1])
    report = check(saved(tmp_path, asked, family_named("box").prove(asked, kind)))
    assert report.verdict
    exact = (mean_of_clients(laws) if kind == "local" else truth(fedavg(), laws))[0]
    with precision(200):
        assert 0 < exact - arb(report.proved[0].lower) < 0.05
    assert report.proved[0].lower > 0.5


def test_box_events_have_no_direct_claim_for_mixtures() -> None:
    assert not family_named("box").supports(problem(fedavg()), "direct")


def test_box_events_of_mixtures_are_proved_under_a_median(tmp_path: Path) -> None:
    asked = problem(TrimmedMean.median(3), list(map(narrow, LAWS)))
    asked = asked.asking(asked.properties[:1])
    found = family_named("box").prove(asked, "transported")
    assert found.lower.item() > 0.3
    assert check(saved(tmp_path, asked, found)).verdict


def test_close_components_are_proved_as_one_node(tmp_path: Path) -> None:
    """Balls that contain both components prove what a hull of them proved."""
    one = DiagonalGaussian(torch.tensor([3.0, 1.0]).double(), torch.tensor([0.1, 0.1]).double())
    other = DiagonalGaussian(one.loc + 1e-4, one.scale * (1 + 1e-6))
    near = GaussianMixture((one, other), torch.ones(2).double())
    asked = problem(fedavg(), [near] * 3)
    found = family_named("projected").prove(asked, "transported")
    assert found.witness is not None
    assert found.witness.tensors["nodes.components"].tolist() == [0, 1] * 3
    assert check(saved(tmp_path, asked, found)).verdict


def test_cells_that_messages_hold_are_measured_under_the_mixture(tmp_path: Path) -> None:
    sent, cells = [], []
    for i, law in enumerate(map(narrow, LAWS)):
        assert isinstance(law, BoxMeasurable)
        cells.append(MeanBox().cells(law, 4.0))
        sent.append(Message(f"client-{i}", law, cells[-1], 10))
        sent[-1].save(tmp_path / "messages" / f"{i}.safetensors")
    asked = problem(fedavg(), [message.law for message in sent])
    found = certify_hulls(cells, asked.rule, asked.safe(IntervalVerifier()), 100, "cells")
    assert found.lower[0].item() > 0.5
    path = tmp_path / "certificates" / "own.safetensors"
    save_certificate(path, found, asked.network, asked.properties, asked.rule, sent)
    assert check(path).verdict


def nodes(tensors: Tensors, prefix: str = "") -> dict[str, list[int]]:
    names = ("property", "row", "offsets", "components")
    return {name: tensors[f"{TABLES}{prefix}nodes.{name}"].tolist() for name in names}


def with_nodes(tensors: Tensors, own: dict[str, list[int]], prefix: str = "") -> Tensors:
    ints = {f"{TABLES}{prefix}nodes.{name}": torch.tensor(v, dtype=torch.int32) for name, v in own.items()}
    return {**tensors, **ints}


def repeated(tensors: Tensors) -> Tensors:
    """The first node once more."""
    own = nodes(tensors)
    ends = own["offsets"]
    more = own["components"][: ends[3]]
    return with_nodes(tensors, {
        "property": [*own["property"], own["property"][0]],
        "row": [*own["row"], own["row"][0]],
        "offsets": [*ends, *(ends[-1] + end for end in ends[1:4])],
        "components": [*own["components"], *more],
    })  # fmt: skip


def grown(tensors: Tensors) -> Tensors:
    """The first node's first set becomes all components, so that it meets another node."""
    own = nodes(tensors)
    return with_nodes(tensors, {
        **own,
        "offsets": [0, *(end + 1 for end in own["offsets"][1:])],
        "components": [0, 1, *own["components"][1:]],
    })  # fmt: skip


def entry(name: str, place: int, value: int) -> Callable[[Tensors], Tensors]:
    def change(tensors: Tensors) -> Tensors:
        own = nodes(tensors)
        own[name][place] = value
        return with_nodes(tensors, own)

    return change


def without(name: str) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {n: t for n, t in tensors.items() if n != TABLES + name}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (repeated, "counted twice"),
        (grown, "share a tuple"),
        (entry("components", 0, 2), "has 2 components"),
        (entry("components", 0, -1), "has 2 components"),
        (entry("property", 0, 2), "property that does not exist"),
        (entry("row", 0, -1), "row is negative"),
        (entry("row", 0, 10**6), "row"),
        (entry("offsets", 1, 0), "divide"),
        (without("nodes.property"), "nodes.property is missing"),
        (without("nodes.row"), "nodes.row is missing"),
        (without("ranges"), "ranges is missing"),
        (without("upper.nodes.components"), "upper.nodes.components is missing"),
    ],
)
def test_nodes_that_make_no_sense_are_refused(direct: Path, change, complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        check(retold(direct, change))


def only_first(prefix: str) -> Callable[[Tensors], Tensors]:
    def change(tensors: Tensors) -> Tensors:
        own = nodes(tensors, prefix)
        return with_nodes(tensors, {
            "property": own["property"][:1], "row": own["row"][:1],
            "offsets": own["offsets"][:4], "components": own["components"][: own["offsets"][3]],
        }, prefix)  # fmt: skip

    return change


def test_what_is_left_out_counts_as_unsafe_below_and_as_safe_above(direct: Path) -> None:
    whole = check(direct)
    assert whole.verdict
    below = check(retold(direct, only_first("")))
    assert below.failures == (0, 1)
    assert 0 < below.proved[0].lower < whole.proved[0].lower
    assert below.proved[1].lower == 0
    assert below.proved[0].upper == whole.proved[0].upper
    above = check(retold(direct, only_first("upper.")))
    assert whole.proved[0].upper < above.proved[0].upper < 1
    assert above.proved[1].upper == 1
    assert above.proved[0].lower == whole.proved[0].lower


def test_a_component_that_is_named_twice_counts_once(direct: Path) -> None:
    def twice(tensors: Tensors) -> Tensors:
        own = nodes(tensors)
        first = own["components"][0]
        own["offsets"] = [0, *(end + 1 for end in own["offsets"][1:])]
        own["components"] = [first, *own["components"]]
        return with_nodes(tensors, own)

    assert check(retold(direct, twice)).proved == check(direct).proved


def test_rows_of_another_bound_prove_what_holds_and_no_more(direct: Path) -> None:
    def exchanged(tensors: Tensors) -> Tensors:
        own = nodes(tensors)
        return with_nodes(tensors, {**own, "row": own["row"][::-1]})

    exact = truth(fedavg())
    for proved, p in zip(check(retold(direct, exchanged)).proved, exact, strict=True):
        assert arb(proved.lower) <= p <= arb(proved.upper)


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_a_bound_raised_by_a_millionth_is_not_proved(direct: Path, side: str) -> None:
    def bolder(tensors: Tensors) -> Tensors:
        step = 1e-6 if side == "lower" else -1e-6
        moved: Tensor = tensors[side] + step
        other = {"upper": torch.maximum(tensors["upper"], moved)} if side == "lower" else {
            "lower": torch.minimum(tensors["lower"], moved)}  # fmt: skip
        return {**tensors, **other, side: moved}

    assert check(retold(direct, bolder)).failures


def test_a_claim_of_one_gaussian_does_not_prove_a_mixture(tmp_path: Path) -> None:
    """The witness of the first component alone, under the message of the mixture."""
    alone = problem(fedavg_of_one(), [MIXED.components[0]])
    found = family_named("projected").prove(alone, "direct")
    path = saved(tmp_path, problem(fedavg_of_one(), [MIXED]), found)
    with pytest.raises(InvalidCertificate, match=r"nodes\.property is missing"):
        check(path)
    boxes = family_named("box").prove(alone, "direct")
    with pytest.raises(InvalidCertificate, match="'client-0' is a mixture of 2 Gaussians"):
        check(saved(tmp_path, problem(fedavg_of_one(), [MIXED]), boxes))


def test_a_node_of_very_many_tuples_is_refused_before_it_is_tried(tmp_path: Path) -> None:
    count = 60
    rule = LinearRule.fedavg([1] * count)
    near = GaussianMixture((MIXED.components[0],) * 2, torch.ones(2).double())
    asked = problem(rule, [near] * count)
    found = ProjectedFamily(tuples=1, projections=Limit()).prove(asked, "transported")
    path = saved(tmp_path, asked, found)
    with pytest.raises(TooCostly):
        check(path, limits=ProofLimits(2**40, 1e9))
