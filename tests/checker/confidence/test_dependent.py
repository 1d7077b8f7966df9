"""The checker draws from laws whose parameters depend on each other: its boxes, verdicts and refusals."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from block_cases import BLOCKS, exact_matrix
from confidence_cases import (
    dependent_problem,
    dependent_rule,
    half_space_problem,
    last_layer_image_problem,
    saved,
    seeded,
)
from confidence_statements import stated_law, statement_of
from confidence_tampering import Change, counted, raised, rewrite
from dependent_problems import STRUCTURES, Structure
from exact_draws import BITS, exact_deployed, exact_draw, exact_normals, exact_theta
from flint import arb
from fuzz.balls import EXACT, precision
from problems import normal, vector
from safetensors.numpy import load_file

from fedcert.confidence import bound
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.laws import BlockGaussian, DenseBlock, DenseGaussian, KroneckerBlock
from fedcert.randomness import stream
from fedcert.wire.confidence_file import save_confidence
from fedcert.wire.message import Message
from fedcert_check.blocks import KRONECKER, Block
from fedcert_check.blocks import BlockGaussian as StatedBlocks
from fedcert_check.confidence import check_confidence, dependent
from fedcert_check.confidence.checking import recount
from fedcert_check.confidence.cost import estimate
from fedcert_check.confidence.dependent import Dependent, row_sums
from fedcert_check.confidence.draws import Sampler
from fedcert_check.confidence.normals import normals
from fedcert_check.errors import InvalidCertificate

KEY = (0x0123456789ABCDEF, 2**63 + 5)
TOP = 2**64 - 1


def held(exact: list[arb], centre: np.ndarray, radius: np.ndarray) -> bool:
    sides = zip(exact, centre.tolist(), radius.tolist(), strict=True)
    return all(bool(abs(theta - arb(c)) <= arb(r)) for theta, c, r in sides)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("rule", ["fedavg", "linear", "median"])
def test_the_deployed_box_holds_the_exact_draw(structure: Structure, rule: str) -> None:
    problem, generator = dependent_problem(2, structure, rule), stream(1, "digits")
    statement = statement_of(problem, 1, 0.05)
    sampler = Sampler(statement.laws, [law.ends() for law in statement.laws], statement.rule, KEY)
    drawn = sampler.draw(3)
    assert drawn.known
    with precision(BITS):
        own = [exact_draw(law, KEY, 3, i, generator) for i, law in enumerate(problem.laws)]
        assert held(exact_deployed(problem.rule, own), drawn.centre, sampler.radius())
    assert sampler.radius().max() < 1e-6


@pytest.mark.parametrize("own", BLOCKS, ids=lambda own: type(own).__name__)
def test_the_sums_of_a_block_are_above_the_exact_ones(own) -> None:
    law = stated_law(BlockGaussian(normal(seeded("sums"), own.start + own.size), (own,)))
    assert isinstance(law, Dependent)
    with precision(EXACT):
        for found, row in zip(row_sums(law.stated.blocks[0]).tolist(), exact_matrix(own), strict=True):
            total = sum((abs(entry) for entry in row), arb(0))
            assert total <= arb(found) <= total * 1.001


def test_the_charge_of_the_normals_grows_with_the_sum_of_the_factor() -> None:
    """Every cosine of such words is off by more than a quarter of the charge, and these errors add up."""
    words = np.array([TOP - 1023] * 8 + [0] * 8, dtype=np.uint64)
    stated = DenseGaussian(vector(0.0), vector(*[1.0] * 16).view(1, 16))
    law = stated_law(stated)
    theta = law.draw(0, normals(words[:8], words[8:]))
    with precision(BITS):
        (exact,) = exact_theta(stated, exact_normals(words, stream(0, "worst")))
        off = float(abs(exact - arb(theta.item())))
    assert dependent.NORMAL_ERROR < off <= law.radius.item()


@pytest.mark.parametrize("seed", range(20))
def test_the_roundings_of_the_sums_are_charged(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With normals that are taken as exact, what is left of the radius holds the sum of any magnitudes."""
    generator = seeded("roundings", seed)
    size = 10 ** (6 * normal(generator, 6, 1))
    kronecker = KroneckerBlock(
        0, normal(generator, 3, 3), normal(generator, 2, 2), size.view(3, 2) * normal(generator, 3, 2).abs()
    )
    law = BlockGaussian(
        size[:, 0] * normal(generator, 6), (DenseBlock(0, size * normal(generator, 6, 20)), kronecker)
    )
    z = normal(generator, 26)
    monkeypatch.setattr(dependent, "NORMAL_ERROR", 0.0)
    own = stated_law(law)
    theta = own.draw(0, z.numpy())
    with precision(EXACT):
        exact = exact_theta(law, [arb(value) for value in z.tolist()])
        assert held(exact, theta, own.radius)
        assert not held(exact, theta, np.zeros(6))


def test_underflow_of_a_kronecker_block_is_charged() -> None:
    """Numbers that fedcert refuses as a scale are in the checker's hands still."""
    one = np.ones(1)
    block = Block(KRONECKER, 0, 1, 1, np.array([1e-300, 1e200, 1e-100]))
    law = Dependent(StatedBlocks(0 * one, (block,)))
    lost = float(arb(1e-300) * arb(1e200) * arb(1e-100))
    assert law.draw(0, one).item() == 0.0
    assert law.radius.item() >= lost > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("rule", ["fedavg", "linear", "median", "pooling"])
def test_prover_and_checker_agree(structure: Structure, rule: str, tmp_path: Path) -> None:
    path, found = saved(tmp_path, dependent_problem(1, structure, rule), draws=20)
    report = check_confidence(path)
    assert report.verdict
    assert report.proven == tuple(found.proven.tolist())
    assert report.broken == tuple(found.broken.tolist())
    assert 0 < sum(report.proven) < 20 * 4
    assert sum(report.broken) > 0


@pytest.mark.parametrize("kind", ["full", "kronecker"])
@pytest.mark.parametrize("rule", ["fedavg", "median"])
def test_prover_and_checker_agree_on_last_layers_of_networks_on_images(
    kind: str, rule: str, tmp_path: Path
) -> None:
    path, found = saved(tmp_path, last_layer_image_problem(0, rule, kind), draws=20)
    report = check_confidence(path)
    assert report.verdict
    assert report.proven == tuple(found.proven.tolist())
    assert report.broken == tuple(found.broken.tolist())
    assert 0 < sum(report.proven) < 20 * 4


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
def test_the_interval_misses_the_exact_probability_in_at_most_one_of_twenty_repetitions() -> None:
    """Each repetition is another problem, and so has another seed; a miss of any property counts."""
    generator, misses, empty, beta, repetitions = seeded("dependent coverage"), 0, 0, 0.05, 400
    for repetition in range(repetitions):
        problem, truths = half_space_problem(("dense", "kronecker")[repetition % 2], generator)
        found = recount(statement_of(problem, 10, beta))
        sides = zip(found.lower, truths, found.upper, strict=True)
        misses += not all(low <= truth <= high for low, truth, high in sides)
        empty += found.found_mean == (0.0, 1.0)
    assert 0 < misses <= beta * repetitions
    assert empty < repetitions / 4


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a bound that the checker accepts."""
    return saved(tmp_path_factory.mktemp("honest"), dependent_problem(1, "kronecker"), 30)[0]


@pytest.fixture
def file(honest: Path, tmp_path: Path) -> Path:
    """A copy of the honest file, to be changed."""
    copy = tmp_path / "bound.safetensors"
    copy.write_bytes(honest.read_bytes())
    return copy


@pytest.mark.parametrize(
    "change",
    [raised("lower", 1e-12), raised("upper", -1e-12), counted("proven", 1), counted("broken", 1)],
    ids=["lower", "upper", "proven", "broken"],
)
def test_a_claim_that_does_not_follow_is_not_accepted(change: Change, file: Path) -> None:
    rewrite(file, change)
    assert not check_confidence(file).verdict


@pytest.mark.slow
def test_another_number_of_draws_draws_other_networks(file: Path) -> None:
    seed = check_confidence(file).statement.seed
    rewrite(file, lambda claim, tensors: claim.update(draws=31))
    report = check_confidence(file)
    assert report.statement.seed != seed
    assert not report.verdict


def moved(name: str) -> Change:
    def change(claim: dict, tensors: dict[str, np.ndarray]) -> None:
        tensors[name] = tensors[name].copy()
        tensors[name].reshape(-1)[-1] += 1.0

    return change


def as_mixture_too(claim: dict, tensors: dict[str, np.ndarray]) -> None:
    tensors["law.0.weights"] = np.ones(1)


def without_numbers(claim: dict, tensors: dict[str, np.ndarray]) -> None:
    del tensors["law.1.numbers"]


REFUSED = {
    "the laws are not those": moved("law.0.loc"),
    "the laws are not those ": moved("law.2.numbers"),
    "than the blocks need": moved("law.1.blocks"),
    "tensor law.1.numbers is missing": without_numbers,
    "'law.0.weights'": as_mixture_too,
}


@pytest.mark.parametrize("complaint", REFUSED)
def test_a_law_that_was_tampered_with_is_refused_by_name(complaint: str, file: Path) -> None:
    rewrite(file, REFUSED[complaint])
    with pytest.raises(InvalidCertificate, match=complaint.strip()):
        check_confidence(file)


def sent(folder: Path, problem: Problem, draws: int = 40) -> Path:
    """A bound from messages."""
    messages = [
        Message(f"client-{i}", law, Cells.none(law.dimension), 1) for i, law in enumerate(problem.laws)
    ]
    for message in messages:
        message.save(folder / "messages" / f"{message.client}.safetensors")
    found = bound(problem, draws, messages=[message.digest for message in messages])
    path = folder / "confidence" / "fedavg-eps-0.1.safetensors"
    save_confidence(path, found, problem, messages)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["last", "head"])
def test_messages_with_such_laws_are_drawn_from(structure: Structure, tmp_path: Path) -> None:
    path = sent(tmp_path, dependent_problem(1, structure))
    assert check_confidence(path).verdict
    assert not any(name.startswith("law.") for name in load_file(path))
    own = tmp_path / "messages" / "client-1.safetensors"
    changed = dependent_problem(1, structure).laws[1]
    other = Message(
        "client-1",
        BlockGaussian(2 * changed.loc, BlockGaussian.of(changed).blocks),
        Cells.none(changed.dimension),
        1,
    )
    own.unlink()
    other.save(own)
    with pytest.raises(InvalidCertificate, match="client-1"):
        check_confidence(path)


def test_a_name_of_a_law_with_independent_parameters_is_refused(tmp_path: Path) -> None:
    problem = dependent_problem(1, "joined")
    named = problem.under(type(problem.rule)(dependent_rule("fedavg").weights, None, "pog"))
    path, _ = saved(tmp_path, named)
    with pytest.raises(InvalidCertificate, match="independent parameters"):
        check_confidence(path)


def test_the_estimate_grows_with_the_factor() -> None:
    few, many = (
        DenseGaussian(vector(0.0, 0.0, 0.0), normal(seeded("cost"), 3, columns)) for columns in (10, 10**5)
    )
    problem, _ = half_space_problem("dense", seeded("cost"))
    costs = [estimate(statement_of(replace(problem, laws=(law,) * 3), 10, 0.05)) for law in (few, many)]
    assert costs[1].seconds > 2 * costs[0].seconds
    assert costs[1].memory > 3 * 8 * 10**5 > costs[0].memory
