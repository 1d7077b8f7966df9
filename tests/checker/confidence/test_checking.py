"""The checker draws and judges again: it agrees with honest files and refuses all others."""

from pathlib import Path

import numpy as np
import pytest
from confidence_cases import exact_problem, image_problem, random_problem, residual_problem, saved, seeded
from confidence_statements import statement_of
from confidence_tampering import Change, counted, raised, rewrite
from saved import make_federation, make_rules

from fedcert.confidence import bound
from fedcert.families.problem import Problem
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import linf_robustness
from fedcert.model.robustness import Origin
from fedcert.wire.confidence_file import save_confidence
from fedcert_check.confidence import check_confidence
from fedcert_check.confidence.checking import recount
from fedcert_check.confidence.cost import estimate
from fedcert_check.cost import ProofLimits
from fedcert_check.errors import InvalidCertificate, TooCostly

RULES = ["fedavg", "pog", "linear", "server-step", "median", "trimmed-mean", "mixture"]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a bound that the checker accepts."""
    return saved(tmp_path_factory.mktemp("honest"), random_problem(0))[0]


@pytest.fixture
def file(honest: Path, tmp_path: Path) -> Path:
    """A copy of the honest file, to be changed."""
    copy = tmp_path / "bound.safetensors"
    copy.write_bytes(honest.read_bytes())
    return copy


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", RULES)
def test_prover_and_checker_agree(rule: str, seed: int, tmp_path: Path) -> None:
    path, found = saved(tmp_path, random_problem(seed, rule), draws=40)
    report = check_confidence(path)
    assert report.verdict
    assert report.proven == tuple(found.proven.tolist())
    assert report.broken == tuple(found.broken.tolist())
    assert report.lower == tuple(found.lower.tolist())
    assert report.upper == tuple(found.upper.tolist())
    assert report.found_mean == pytest.approx((found.mean_lower, found.mean_upper), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", ["fedavg", "median"])
def test_prover_and_checker_agree_on_networks_on_images(rule: str, seed: int, tmp_path: Path) -> None:
    path, found = saved(tmp_path, image_problem(seed, rule), draws=40)
    report = check_confidence(path)
    assert report.verdict
    assert report.proven == tuple(found.proven.tolist())
    assert report.broken == tuple(found.broken.tolist())
    assert 0 < sum(report.proven) < 40 * 4
    assert sum(report.broken) > 0


@pytest.mark.parametrize("kind", ["mean", "median", "mixture"])
def test_the_checker_agrees_on_problems_whose_answer_is_known(kind: str, tmp_path: Path) -> None:
    problem, truths = exact_problem(kind, seeded("checked", kind))
    report = check_confidence(saved(tmp_path, problem, 200, 1e-6)[0])
    assert report.verdict
    for low, truth, high in zip(report.lower, truths, report.upper, strict=True):
        assert low <= truth <= high


def test_messages_are_found_by_their_digests(tmp_path: Path) -> None:
    federation = make_federation(4)
    rule = make_rules(federation)["median"]
    problem = Problem(federation.safe.network, federation.safe.properties, tuple(federation.laws), rule)
    found = bound(problem, 30, messages=[message.digest for message in federation.messages])
    path = tmp_path / "confidence" / "median-eps-0.1.safetensors"
    save_confidence(path, found, problem, federation.messages)
    with pytest.raises(InvalidCertificate, match="by --messages"):
        check_confidence(path)
    for message in federation.messages:
        message.save(tmp_path / "messages" / f"{message.client}.safetensors")
    report = check_confidence(path)
    assert report.verdict
    clients = report.statement.clients or ()
    assert [(own.name, own.digest) for own in clients] == [
        (message.client, message.digest) for message in federation.messages
    ]


@pytest.mark.parametrize(
    "change",
    [raised("lower", 1e-12), raised("upper", -1e-12), counted("proven", 1), counted("broken", 1)],
    ids=["lower", "upper", "proven", "broken"],
)
def test_a_claim_that_does_not_follow_is_not_accepted(change: Change, file: Path) -> None:
    rewrite(file, change)
    report = check_confidence(file)
    assert not report.verdict
    assert report.failures


def other_draws(claim: dict, tensors: dict) -> None:
    claim["draws"] = 61


def other_level(claim: dict, tensors: dict) -> None:
    claim["beta"] = 1e-9


def other_weights(claim: dict, tensors: dict) -> None:
    tensors["rule.weights"] = np.roll(tensors["rule.weights"], 1, axis=0)


@pytest.mark.parametrize("change", [other_draws, other_level, other_weights])
def test_whatever_is_claimed_changes_the_draws(change: Change, file: Path) -> None:
    seed = check_confidence(file).statement.seed
    rewrite(file, change)
    report = check_confidence(file)
    assert report.statement.seed != seed
    assert not report.verdict


def scaled(name: str) -> Change:
    def change(claim: dict, tensors: dict[str, np.ndarray]) -> None:
        tensors[name] = tensors[name] * 2

    return change


def named(claim: dict, tensors: dict) -> None:
    tensors["stray"] = np.zeros(1)


def without_upper(claim: dict, tensors: dict) -> None:
    del tensors["upper"]


def strange_beta(claim: dict, tensors: dict) -> None:
    claim["beta"] = 0


def no_draws(claim: dict, tensors: dict) -> None:
    claim["draws"] = 0


def unknown_layer(claim: dict, tensors: dict) -> None:
    claim["network"][1]["type"] = "gelu"


def unknown_rule(claim: dict, tensors: dict) -> None:
    claim["rule"]["type"] = "krum"


def more_fields(claim: dict, tensors: dict) -> None:
    claim["note"] = "trust me"


def many_counts(claim: dict, tensors: dict) -> None:
    tensors["proven"] = tensors["proven"] * 0 + 61


REFUSED = {
    "the laws are not those": scaled("law.0.loc"),
    "the properties are not those": scaled("properties.d"),
    "'stray'": named,
    "tensor upper is missing": without_upper,
    "beta is 0": strange_beta,
    "the number of draws is 0": no_draws,
    "layer type 'gelu'": unknown_layer,
    "rule type 'krum'": unknown_rule,
    "'note'": more_fields,
    "counts that do not fit 60 draws": many_counts,
}


@pytest.mark.parametrize("complaint", REFUSED)
def test_what_was_tampered_with_or_is_unknown_is_refused_by_name(complaint: str, file: Path) -> None:
    rewrite(file, REFUSED[complaint])
    with pytest.raises(InvalidCertificate, match=complaint) as raised_error:
        check_confidence(file)
    assert str(raised_error.value).startswith(str(file))


def test_a_file_that_was_not_sealed_again_is_refused(file: Path) -> None:
    rewrite(file, raised("lower", 1e-3), seal=False)
    with pytest.raises(InvalidCertificate, match="its digest differs"):
        check_confidence(file)


def test_a_certificate_is_not_a_confidence_bound_and_no_file_is_refused(tmp_path: Path, file: Path) -> None:
    with pytest.raises(InvalidCertificate):
        check_confidence(tmp_path / "nowhere.safetensors")
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(InvalidCertificate):
        check_confidence(file)


def test_what_costs_too_much_is_refused_before_it_begins(file: Path) -> None:
    rewrite(file, lambda claim, tensors: claim.update(draws=2**31 - 1))
    with pytest.raises(TooCostly, match="raise --max-work"):
        check_confidence(file)
    with pytest.raises(TooCostly, match="raise --max-memory"):
        check_confidence(file, limits=ProofLimits(memory=2**20 + file.stat().st_size * 4))


def test_the_estimate_grows_with_draws_and_properties(honest: Path, file: Path) -> None:
    rewrite(file, lambda claim, tensors: claim.update(draws=120))
    few, many = (check_confidence(path).statement for path in (honest, file))
    assert estimate(many).seconds == pytest.approx(2 * estimate(few).seconds)


def test_a_subject_is_read_and_verified(tmp_path: Path) -> None:
    problem, _ = exact_problem("median", seeded("subject"))
    asked = linf_robustness([[0.5], [0.25]], [0, 1], 0.1, classes=2, origin=Origin("digits", "first", 360))
    laws = tuple(DiagonalGaussian(law.loc.repeat(2), law.scale.repeat(2)) for law in problem.laws)
    path, _ = saved(tmp_path, Problem(mlp(1, 2), asked, laws, problem.rule), 10)
    subject = check_confidence(path).statement.subject
    assert subject is not None
    assert "the first 2 of 360 of digits" in subject.describe()

    def larger(claim: dict, tensors: dict[str, np.ndarray]) -> None:
        tensors["subject.radius"] = 2 * tensors["subject.radius"]

    rewrite(path, larger)
    with pytest.raises(InvalidCertificate, match="does not contain the ball"):
        check_confidence(path)


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
def test_the_interval_misses_the_exact_probability_in_at_most_one_of_twenty_repetitions() -> None:
    """Each repetition is another problem, and so has another seed; a miss of any property counts."""
    generator, misses, empty, beta = seeded("coverage"), 0, 0, 0.05
    for repetition in range(2000):
        problem, truths = exact_problem(("mean", "median", "mixture")[repetition % 3], generator)
        found = recount(statement_of(problem, 10, beta))
        sides = zip(found.lower, truths, found.upper, strict=True)
        misses += not all(low <= truth <= high for low, truth, high in sides)
        empty += found.found_mean == (0.0, 1.0)
    assert 0 < misses <= beta * 2000
    assert empty < 500


def test_a_network_that_is_not_judged_again_is_refused_by_its_layers(tmp_path: Path) -> None:
    path, _ = saved(tmp_path, residual_problem(0), draws=4)
    with pytest.raises(InvalidCertificate, match="checked for linear, conv2d, avg-pool2d and relu"):
        check_confidence(path)
