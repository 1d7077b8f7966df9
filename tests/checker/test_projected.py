"""Projected certificates from the fast path to the checker: what is true survives, what is not is refused."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
import torch
from balls import tail
from federated_problems import Federated, joined, make_federated
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import normal, uniform
from saved_certificates import KINDS, Tensors, certified, demanding, retold, saved, write
from torch import Tensor

from fedcert.certificate import clopper_pearson
from fedcert.errors import InvalidCertificate
from fedcert.families.problem import Problem
from fedcert.families.projected import inversion, split
from fedcert.families.projected.tails import Cells as Counted
from fedcert.families.projected.transported import certify_projected
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert_check import Report, check
from fedcert_check import projected as checker
from fedcert_check.document import Proved
from fedcert_check.projected.inversion import Row, lower_tail

SAMPLES, SURE = 2000, 1 - 1e-7


@pytest.fixture(autouse=True)
def hardly_any_search(monkeypatch) -> None:
    """Any split will do here."""
    monkeypatch.setattr(split, "GOOD_ENOUGH", 1.0)


def picked(generator: torch.Generator, *options: object) -> object:
    return options[int(len(options) * uniform(generator, 1))]


def random_problem(seed: int) -> tuple[Federated, Properties]:
    """Depth 1–4, widths ≤ 6, general C and d, some rows of zeros; FedAvg, PoG or weights of both signs."""
    generator = stream(seed, "projected certificates")

    def pick(*options):
        return picked(generator, *options)

    hidden = [pick(1, 2, 4, 6) for _ in range(seed % 4)]
    scale, radius = pick(1e-8, 1e-5, 1e-3, 0.02, 0.1, 0.5), pick(0.0, 1e-6, 1e-3, 0.02, 0.1)
    constraints = pick(1, 2, 3)
    widths = (pick(1, 2, 3), *hidden, pick(1, 2, 3))
    made = make_federated(seed, widths, scale, radius, pick(1, 2, 3), constraints, linear=pick(False, True))
    if pick(False, False, True):
        laws = [law.components[0] for law in made.laws]
        made = replace(made, rule=LinearRule.product_of_gaussians(laws))
    if constraints > 1 and pick(False, True):
        made.C[0, -1] = 0.0
    return made, made.properties(made.offsets(pick(0.0, 2.0, 4.0, 8.0), 64).abs())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.usefixtures("without_annotations")
def test_every_bound_of_the_fast_path_is_proven_again(seed: int, kind: str, tmp_path: Path) -> None:
    report = check(saved(tmp_path, *random_problem(seed), kind))
    assert report.verdict


@pytest.mark.slow
def test_the_bounds_above_say_something() -> None:
    found = [certified(*random_problem(seed), "limit").lower.item() for seed in range(10)]
    assert sum(bound > 0.5 for bound in found) >= 3


def with_laws(problem: Federated, change: Callable[[DiagonalGaussian], DiagonalGaussian]) -> Federated:
    return replace(problem, laws=[change(law.components[0]) for law in problem.laws])


def without_first_client(problem: Federated) -> Federated:
    return replace(problem, rule=LinearRule(torch.tensor([[0.0], [1.0]], dtype=torch.float64)))


EXTREMES: dict[str, Callable[[Federated], Federated]] = {
    "scale 1e-45": lambda p: with_laws(p, lambda law: law.with_scale(1e-45)),
    "scale 1e-30": lambda p: with_laws(p, lambda law: law.with_scale(1e-30)),
    "scale 1e30": lambda p: with_laws(p, lambda law: law.with_scale(1e30)),
    "means 1e25": lambda p: with_laws(p, lambda law: DiagonalGaussian(law.loc * 1e25, law.scale)),
    "zero weights": lambda p: with_laws(p, lambda law: DiagonalGaussian(law.loc * 0, law.scale)),
    "zero input": lambda p: replace(p, centre=torch.zeros_like(p.centre)),
    "a client of weight 0": without_first_client,
    "no constraint but zeros": lambda p: replace(p, C=torch.zeros_like(p.C)),
}


def test_a_tail_is_proven_with_the_rate_that_it_was_claimed_with(tmp_path: Path) -> None:
    """f(0) = W2 relu(b1) + b2 with b1 ~ N(1, s²): 1 − 6.45 s, where the best rate depends on every digit."""
    s, network = 3e-10, mlp(1, 1, 1)
    law = DiagonalGaussian(*torch.tensor([[0, 1, 1, 0], [s, s, 1e-30, 1e-30]], dtype=torch.float64))
    rule, one = LinearRule.fedavg([1]), torch.ones(1, 1, 1).double()
    problem = Federated(network, [law], rule, torch.zeros(1, 1).double(), 0.0, one, stream(0, "unused"))
    report = check(saved(tmp_path, problem, problem.properties(one[0] * (6.45 * s - 1)), "direct"))
    assert report.document.lower[0] > 0.999999
    assert report.verdict


@pytest.mark.parametrize("seed", range(6))
def test_cells_are_counted_where_the_fast_path_cut_them(seed: int, tmp_path: Path) -> None:
    """Few cells: a sum of their ends falls on either side of a margin for a step that differs by an ulp."""
    problem = make_federated(seed, (2, 3, 2), 0.05, 1e-3, 3, 2)
    properties = problem.properties(problem.offsets(3.0))
    certificate = certify_projected(
        Problem(problem.network, properties, tuple(problem.laws), problem.rule), Counted(16)
    )
    assert check(write(tmp_path, problem, properties, certificate)).verdict


def test_what_64_bits_do_not_prove_is_proven_with_more(tmp_path: Path, monkeypatch) -> None:
    problem = make_federated(1, (2, 3, 2), 1e-9, 0.0)
    path = saved(tmp_path, problem, problem.properties(problem.offsets(4.0)), "direct")
    assert check(path).verdict
    monkeypatch.setattr(checker, "PRECISIONS", (24,))
    assert not check(path).verdict
    monkeypatch.setattr(checker, "PRECISIONS", (24, 64))
    assert check(path).verdict


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.usefixtures("without_annotations")
def test_extremes_are_proven_again_and_none_crashes(extreme: str, kind: str, tmp_path: Path) -> None:
    claimed = 0.0
    for depth in (1, 2, 3):
        problem = EXTREMES[extreme](make_federated(depth, (2, *[3, 1][: depth - 1], 2), 0.01, 1e-3))
        properties = problem.properties(problem.offsets(6.0, 64).nan_to_num(0.0).abs() + 0.1)
        report = check(saved(tmp_path / str(depth), problem, properties, kind))
        assert report.verdict
        claimed = max(claimed, report.document.lower[0])
    assert claimed > 0 or extreme == "means 1e25"


@cache
def problem_of(seed: int) -> tuple[Federated, Properties]:
    depth, scale, radius = 1 + seed % 4, (0.02, 0.1)[seed % 2], (0.0, 0.02)[seed // 2 % 2]
    made = make_federated(
        seed, (2, *[3] * (depth - 1), 2), scale, radius, 2, constraints=1 + seed % 2, linear=bool(seed % 3)
    )
    return made, made.properties(made.offsets((2.0, 3.0, 0.0)[seed % 3]))


@cache
def certificate_of(seed: int, kind: str) -> Path:
    return saved(Path(mkdtemp()), *problem_of(seed), kind)


@cache
def limits(seed: int, kind: str) -> tuple[float, float]:
    """Below and above Pr(safe): at a point, survival is safety; the mean over clients for a local claim."""
    problem, properties = problem_of(seed)
    draws = [problem.deployed(SAMPLES)]
    if kind == "local":
        draws = [law.sample(SAMPLES, problem.generator) for law in problem.laws]
    ends = [clopper_pearson(int(problem.survivors(own, properties).sum()), SAMPLES, SURE) for own in draws]
    low, high = (sum(own) / len(own) for own in zip(*ends, strict=True))
    return (low if problem.radius == 0 else 0.0), high


def lied(tensors: Tensors, generator: torch.Generator, share: float) -> Tensors:
    """Other choices for some tensors of the witness, all of them of the right type and within bounds."""
    low, high = tensors["properties.lower"], tensors["properties.upper"]

    def other(name: str, old: Tensor) -> Tensor:
        parts, random = name.split("."), uniform(generator, *old.shape)
        if "sign" in parts:
            return torch.randint(-1, 2, old.shape, generator=generator)
        if "below" in parts or "slope" in parts:
            return random.round() if uniform(generator, 1) < 0.5 else random
        if "terms" in parts:
            return (60 * random).floor()
        if {"rate", "mean_rate", "excess_rate", "tail", "step"} & set(parts):
            return old.abs() * 10 ** (2 * normal(generator, *old.shape))
        if "reference" in parts or "excess_centre" in parts:
            return old + 0.1 * normal(generator, *old.shape)
        return {
            "ranges": 10 ** (-1e-9 - 8 * random),
            "movement": 10 ** (-1e-9 - 8 * random),
            "deviation": 10 ** (-1e-9 - 8 * random),
            "failure": 10 ** (-1e-9 - 8 * random),
            "kappa": 6 * random,
            "point": (low + (high - low) * random).clamp(low, high) if old.shape == low.shape else random,
            "constraint": (random * tensors["properties.d"].shape[1]).floor(),
            "method": (3 * random).floor(),
            "cells": (70 * random).floor(),
            "boxes": 8 + (504 * random).floor(),
        }[parts[-1]]

    changed = dict(tensors)
    for name, old in tensors.items():
        if name.startswith("witness.") and uniform(generator, 1) < share:
            mask = uniform(generator, *old.shape) < picked(generator, 0.2, 1.0)
            changed[name] = torch.where(mask, other(name, old).to(old.dtype), old)
    return demanding(changed)


@pytest.mark.slow
@given(
    seed=st.integers(0, 11),
    kind=st.sampled_from(KINDS),
    lie=st.integers(0, 2**32),
    share=st.sampled_from([0.1, 0.4, 1.0]),
)
@settings(max_examples=35)
def test_a_lying_witness_proves_nothing_that_is_false(seed: int, kind: str, lie: int, share: float) -> None:
    path = retold(certificate_of(seed, kind), lambda t: lied(t, stream(lie, "lie"), share))
    try:
        (proved,) = check(path).proved
    except InvalidCertificate as error:
        assert "method" in str(error)  # noqa: PT017 - the only choice that another kind of claim refuses
        return
    low, high = limits(seed, kind)
    assert proved.lower <= high
    assert proved.upper >= low


ONLY_DIRECT = ("method", "upper.point", "upper.constraint", "upper.sign.0", "chain.kappa")
"""Tensors that no other kind has: it takes longer to check."""


def spoiled(old: Tensor) -> dict[str, Tensor | None]:
    """What a tensor must not be."""
    found: dict[str, Tensor | None] = {
        "missing": None,
        "empty": old[:0].clone(),
        "longer": torch.cat([old, old]),
        "scalar": old.reshape(-1)[:1].reshape(()).clone(),
        "deeper": old.unsqueeze(-1).clone(),
        "other type": old.float() if old.is_floating_point() else old.double(),
        "half": old.half(),
        "short": old.short(),
    }
    if old.is_floating_point():
        found |= {
            str(v): torch.full_like(old, v) for v in (math.nan, math.inf, -math.inf, -1.0, 1e308, 5e-324)
        }
    else:
        info = torch.iinfo(old.dtype)
        found |= {str(v): torch.full_like(old, v) for v in (info.min, info.max, 100)}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["local", "direct", "cells"])
@pytest.mark.usefixtures("without_annotations")
def test_a_spoiled_witness_is_refused_or_proves_nothing_more(kind: str, tmp_path: Path) -> None:
    problem = make_federated(2, (1, 1, 1, 1), 0.02, 0.0, clients=1)
    properties = problem.properties(problem.offsets(3.0))
    path = retold(saved(tmp_path, problem, properties, kind), demanding)
    path = path.rename(path.with_name("honest.safetensors"))
    report = check(path)
    (honest,) = report.proved
    survivors = int(problem.survivors(problem.deployed(SAMPLES), properties).sum())
    low, high = clopper_pearson(survivors, SAMPLES, SURE)
    assert 0.1 < honest.lower <= high
    refused = 0
    names = [n for n in report.document.witness if kind != "direct" or n in ONLY_DIRECT]
    for name, array in ((n, report.document.witness[n]) for n in names):
        for way, new in spoiled(torch.tensor(array)).items():
            changed = {} if new is None else {f"witness.{name}": new}

            def change(tensors: Tensors, name: str = name, changed: Tensors = changed) -> Tensors:
                return {n: t for n, t in tensors.items() if n != f"witness.{name}"} | changed

            try:
                (proved,) = check(retold(path, change)).proved
            except InvalidCertificate:
                refused += 1
                continue
            assert proved.lower <= high
            assert proved.upper >= low
            if way in ("nan", "inf", "-inf", "missing", "empty"):
                assert proved == honest  # a choice that is not needed
    assert refused > 20


@pytest.mark.slow
@pytest.mark.parametrize("sign", [-128, -127, -2, 2, 127])
@pytest.mark.parametrize("kind", ["local", "direct", "limit"])
def test_a_sign_is_one_of_three(kind: str, sign: int) -> None:
    """|−128| is −128 in eight bits."""

    def change(tensors: Tensors) -> Tensors:
        return {n: torch.full_like(t, sign) if ".sign." in n else t for n, t in tensors.items()}

    with pytest.raises(InvalidCertificate, match="sign"):
        check(retold(certificate_of(2, kind), lambda t: demanding(change(t))))


@pytest.mark.parametrize("bits", [-64, 0, 7, 513, 2**31 - 1])
def test_an_absurd_width_of_boxes_is_refused(bits: int) -> None:
    def change(tensors: Tensors) -> Tensors:
        return tensors | {"witness.boxes": torch.tensor([bits], dtype=torch.int32)}

    with pytest.raises(InvalidCertificate, match="boxes"):
        check(retold(certificate_of(2, "boxes"), change))


@pytest.mark.parametrize("cells", [-1, 2**14 + 1, 2**31 - 1])
def test_an_absurd_number_of_cells_is_refused(cells: int) -> None:
    def change(tensors: Tensors) -> Tensors:
        return tensors | {"witness.cells": torch.tensor([cells], dtype=torch.int32)}

    with pytest.raises(InvalidCertificate, match="cells"):
        check(retold(certificate_of(2, "cells"), change))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [1, 2])
def test_a_bound_better_than_what_holds_is_not_proven(kind: str, depth: int, tmp_path: Path) -> None:
    """Where the fast path is tight: at a single input, one part in 10⁹ is too much."""
    problem = make_federated(depth, (2, *[4] * (depth - 1), 2), 0.05, 0.0)
    path = saved(tmp_path, problem, problem.properties(problem.offsets(2.0)), kind)
    report = check(path)
    assert report.verdict
    claimed, slack = report.document.lower[0], report.proved[0].lower - report.document.lower[0]
    assert claimed > 0.1

    def raised(tensors: Tensors) -> Tensors:
        more = tensors["lower"] + max(slack, 0.0) + 1e-9
        upper = {"upper": tensors["upper"].maximum(more)} if "upper" in tensors else {}
        return tensors | {"lower": more} | upper

    again = check(retold(path, raised))
    assert not again.verdict
    assert again.failures == (0,)
    assert again.proved[0].lower == report.proved[0].lower
    if kind == "cells":
        return
    assert slack < 1e-6
    if kind == "direct":
        gain = report.document.upper[0] - report.proved[0].upper
        assert 0 <= gain < 1e-6

        def lowered(tensors: Tensors) -> Tensors:
            less = tensors["upper"] - gain - 1e-9
            return tensors | {"upper": less, "lower": tensors["lower"].minimum(less)}

        assert not check(retold(path, lowered)).verdict


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_choice_leaves_the_claim_true_or_unproven(kind: str, tmp_path: Path) -> None:
    """κ, signs, slopes: whatever they are, the claim is the same, and true if it is proven."""
    problem = make_federated(3, (2, 4, 3, 2), 0.02, 0.0)
    path = saved(tmp_path, problem, problem.properties(problem.offsets(3.0)), kind)
    honest = check(path)
    lost = 0
    splits = ("kappa", "failure", "ranges", "reference")
    for part in (
        "sign",
        "slope",
        "below",
        "rate",
        "mean_rate",
        "excess_centre",
        "excess_rate",
        "reach",
        *splits,
    ):

        def change(tensors: Tensors, part: str = part) -> Tensors:
            def other(old: Tensor) -> Tensor:
                if part == "sign":
                    return -old
                return 1 - old if part in ("slope", "below") else old * 3 if part != "failure" else old * 100

            return {n: other(t) if part in n.split(".") else t for n, t in tensors.items()}

        report = check(retold(path, change))
        assert report.document.lower == honest.document.lower
        assert report.proved[0].lower <= 1 - (1 - honest.proved[0].lower) / 100  # no miracle
        lost += not report.verdict
    assert honest.verdict
    assert lost >= 1


@pytest.mark.slow
def test_several_properties_are_checked_one_by_one(tmp_path: Path) -> None:
    problem = make_federated(7, (2, 4, 3, 2), 0.02, 1e-3)
    several = joined([problem.properties(problem.offsets(sigmas)) for sigmas in (5.0, -30.0, 3.0)])
    for kind in ("direct", "cells"):
        path = saved(tmp_path / kind, problem, several, kind)
        report = check(path)
        assert report.verdict
        assert report.document.lower[1] == 0
        raised = retold(path, lambda t: t | {"lower": t["lower"] + torch.tensor([0.0, 0.0, 0.2]).double()})
        if float(report.document.lower[2]) <= 0.8:
            assert check(raised).failures == (2,)


@pytest.mark.slow
def test_a_property_that_nothing_is_known_of_does_not_spoil_the_others(tmp_path: Path) -> None:
    """Ranges without an end, at a wide law, leave no slope; the file must be readable all the same."""
    problem = make_federated(7, (2, 4, 3, 2), 2.0, 0.0, clients=1)
    certain = problem.properties(torch.ones(1, 1).double())
    several = joined([replace(certain, C=certain.C * 0), certain])
    for kind in KINDS:
        report = check(saved(tmp_path / kind, problem, several, kind))
        assert report.verdict
        assert report.document.lower[0] > 0.9


@pytest.mark.slow
def test_wrong_places_are_refused() -> None:
    def moved(tensors: Tensors) -> Tensors:
        return demanding(tensors | {"witness.upper.point": tensors["properties.upper"] + 1e-12})

    def numbered(number: int) -> Callable[[Tensors], Tensors]:
        return lambda t: demanding(
            t | {"witness.upper.constraint": torch.tensor([number], dtype=torch.int32)}
        )

    path = certificate_of(2, "direct")
    with pytest.raises(InvalidCertificate, match="outside its region"):
        check(retold(path, moved))
    for number in (-1, 1, 2**31 - 1):
        with pytest.raises(InvalidCertificate, match="no constraint"):
            check(retold(path, numbered(number)))


def test_the_events_of_an_upper_bound_are_paid() -> None:
    """At one layer and one constraint there is one: of movement."""

    def risky(tensors: Tensors) -> Tensors:
        return demanding(tensors | {"witness.upper.movement": torch.full((1, 1), 0.25).double()})

    path = certificate_of(8, "direct")
    (honest,), (paid,) = check(retold(path, demanding)).proved, check(retold(path, risky)).proved
    assert honest.upper < 0.7
    event = float(tail((-2 * arb(0.25).log()).sqrt()))
    assert paid.upper == pytest.approx(honest.upper + event, abs=1e-6)


def test_claims_that_a_kind_does_not_make_are_not_proven() -> None:
    """An upper bound of a transported or local claim."""

    def bounded(tensors: Tensors) -> Tensors:
        return tensors | {"upper": torch.full_like(tensors["lower"], 0.999).maximum(tensors["lower"])}

    assert not check(retold(certificate_of(2, "limit"), bounded)).verdict
    with pytest.raises(InvalidCertificate, match="upper"):
        check(retold(certificate_of(2, "local"), bounded))


@pytest.mark.parametrize(
    "proved", [Proved(math.nan, 0.9), Proved(0.0, 0.9), Proved(1.0, math.nan), Proved(1.0, 1.0)]
)
def test_a_report_takes_no_nan_for_a_proof(proved: Proved) -> None:
    document = check(certificate_of(2, "direct")).document
    claimed = replace(document, lower=np.array([0.5]), upper=np.array([0.9]))
    assert Report(claimed, (proved,)).failures == (0,)
    assert Report(claimed, (Proved(0.5, 0.9),)).verdict
    with pytest.raises(ValueError, match="zip"):
        _ = Report(claimed, ()).failures


@pytest.mark.slow
def test_the_fast_path_and_the_file_agree(tmp_path: Path) -> None:
    problem, properties = problem_of(1)
    certificate = certified(problem, properties, "direct")
    document = check(write(tmp_path, problem, properties, certificate)).document
    assert document.lower.tolist() == certificate.lower.tolist()


@pytest.mark.slow
def test_a_series_that_has_not_converged_is_no_tighter_than_what_is_proven() -> None:
    """Half the mass of Y is within 1e-17 of one point: partial sums depend on the last digits of g."""
    A, r = (
        [8.351168421e-9, -2.451069047e-8, -2.976260150e-8, 5.798140210e-9],
        [7.8e-18, 1.7e-17, 1.2e-17, 1.2e-17],
    )
    mean, t = (
        [-0.611589625857, 0.170302732985, 0.418861633955, -0.469814946505],
        [1.3e-10, 1.6e-10, 3e-10, 2.6e-10],
    )
    centre, spread, last = 6.664496554940238e-16, 3.064069437333621e-14, 3.064e-14
    for g in np.linspace(1.66406501349e-8, 1.66406501351e-8, 6).tolist():
        fast = inversion.Row(
            g, *map(np.array, (A, r)), 1.09e-17, ((0.0, 3.064e-14),), *map(np.array, (mean, t))
        )
        terms = inversion.enough_terms(fast, centre, spread)
        exact_g = arb(g) + arb(1.3e-18)  # what was charged for rounding
        row = Row(exact_g, *([arb(v) for v in own] for own in (A, r)), arb(1.09e-17), ((arb(0), arb(last)),),
                  *([arb(v) for v in own] for own in (mean, t)))  # fmt: skip
        with ctx.workprec(128):
            proven = lower_tail(row, arb(centre), arb(spread), terms).upper()
        assert proven <= inversion.lower_tail(fast, centre, spread)


@pytest.mark.slow
def test_lines_that_may_be_exceeded_are_proven_and_older_files_have_none(tmp_path: Path, monkeypatch) -> None:
    """Without the tables nothing is exceeded: the file is valid, and proves less than it claims."""
    monkeypatch.setattr(split, "GOOD_ENOUGH", 1e-3)
    monkeypatch.setattr(split, "coordinates", lambda _: [])  # one split will do
    problem = make_federated(1, (3, 16, 16, 2), 0.05, 0.0)
    path = saved(tmp_path, problem, problem.properties(problem.offsets(1.0)), "direct")
    assert check(path).verdict
    new = ("tail.reach", "excess_centre", "excess_rate")

    def older(tensors: Tensors) -> Tensors:
        assert (tensors["witness.tail.reach"] > 0).any()
        return {
            n: t for n, t in tensors.items() if n.startswith("witness.upper") or not any(k in n for k in new)
        }

    report = check(retold(path, older))
    assert not report.verdict
