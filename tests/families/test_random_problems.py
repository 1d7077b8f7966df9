"""Random federations: no certificate contradicts what attacks break or what verifiers prove."""

from dataclasses import dataclass, replace

import pytest
from federated_problems import Federated, joined, make_federated
from problems import normal, uniform

from fedcert.certificate import clopper_pearson
from fedcert.families.problem import Problem
from fedcert.families.projected.direct import certify_projected_directly
from fedcert.families.projected.transported import certify_projected
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify import AnyOf, Safe
from fedcert.verify.interval import MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier

SURE = 1 - 1e-7  # of a thousand two-sided intervals, one fails with probability 1e-4 at most


@dataclass(frozen=True)
class Outcome:
    """One random problem: what is proven of it, and what samples say."""

    lower: float
    upper: float
    transported: float
    most_survive: float
    least_proven: float


def random_problems(seed: int, count: int) -> list[tuple[Federated, Properties]]:
    """One federation and several properties.

    Depths are two to four but for every fifth federation, scales reach up to where nothing can be certified,
    radii up to 0.1, every fifth region is a point.
    """
    generator = stream(seed, "random problem")

    def between(low: int, high: int) -> int:
        return low + int((high - low + 1) * uniform(generator, 1))

    widths = (between(1, 4), *(between(1, 8) for _ in range(2 + seed % 3 if seed % 5 else 1)))
    scale = 1e-3 * 2000 ** uniform(generator, 1).item()
    clients, constraints = between(1, 3), between(1, 3)
    federation = make_federated(
        seed, widths, scale, 0.0, clients, constraints, int(seed % 6 == 0), seed % 7 == 0
    )
    problems = []
    for _ in range(count):
        radius = 1e-4 * 1000 ** uniform(generator, 1).item()
        problem = replace(
            federation,
            centre=normal(generator, 1, widths[0]),
            radius=0.0 if between(1, 5) == 1 else radius,
            C=normal(generator, 1, constraints, widths[-1]),
        )
        problems.append((problem, problem.properties(problem.offsets(5 * uniform(generator, 1).item() - 1))))
    return problems


def outcomes(seed: int, count: int, samples: int) -> list[Outcome]:
    problems = random_problems(seed, count)
    federation = problems[0][0]
    properties = joined([own for _, own in problems])
    asked = Problem(federation.network, properties, tuple(federation.laws), federation.rule)
    direct, transported = certify_projected_directly(asked), certify_projected(asked)
    theta = federation.deployed(samples)
    verifier = AnyOf((MergedIntervalVerifier(), LinearVerifier()))
    proven = Safe(federation.network, properties, verifier)(Box.point(theta)).sum(0).tolist()
    survive = [int(problem.survivors(theta, own).sum()) for problem, own in problems]
    assert direct.upper is not None
    assert all(map(int.__le__, proven, survive))
    return [
        Outcome(
            direct.lower[p].item(),
            direct.upper[p].item(),
            transported.lower[p].item(),
            clopper_pearson(survive[p], samples, SURE)[1],
            clopper_pearson(proven[p], samples, SURE)[0],
        )
        for p in range(count)
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
def test_two_hundred_random_problems_contradict_neither_attacks_nor_proofs() -> None:
    """At confidence SURE each, all comparisons hold together but for a probability of 1e-4.

    Of fifty federations forty have hidden layers: two hundred problems. Properties of one federation are
    certified together, which takes hardly longer than one of them.
    """
    found = [own for seed in range(50) for own in outcomes(seed, count=5, samples=1000)]
    assert len(found) == 250
    for place, own in enumerate(found):
        assert own.lower < own.upper, place
        assert own.lower <= own.most_survive, place
        assert own.transported <= own.most_survive, place
        assert own.transported <= own.upper, place
        assert own.least_proven <= own.upper, place
    assert sum(0.01 < own.lower < 1 for own in found) > 140
    assert sum(0.01 < own.transported < 1 for own in found) > 140
    assert sum(own.upper < 0.99 for own in found) > 90
    assert sum(own.lower == 0 for own in found) > 10
    assert sum(own.upper - own.lower < 0.1 for own in found) > 90
