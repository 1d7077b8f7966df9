"""Problems as the file of a confidence bound would state them, for the checker alone."""

import numpy as np

from fedcert.confidence.bounding import seed_of_problem
from fedcert.confidence.statement import law_tensors
from fedcert.families.problem import Problem
from fedcert.laws import Law
from fedcert_check.confidence.files import Statement
from fedcert_check.confidence.laws import DrawnLaw, read_law
from fedcert_check.layers import Network
from fedcert_check.properties import Properties
from fedcert_check.rules import read_rule


def stated_law(law: Law) -> DrawnLaw:
    """A law as the checker reads it."""
    arrays = {f"law.0.{name}": tensor.numpy() for name, tensor in law_tensors(law).items()}
    return read_law(arrays, 0, law.dimension)


def statement_of(problem: Problem, draws: int, beta: float) -> Statement:
    """A problem as a file would state it, claiming nothing."""
    asked, count = problem.properties, len(problem.properties)
    laws = tuple(stated_law(law) for law in problem.laws)
    header, coefficients = problem.rule.describe()
    network = Network.read(problem.network.describe())
    tensors = {f"rule.{name}": tensor.numpy() for name, tensor in coefficients.items()}
    nothing = np.zeros(count, dtype=np.int64)
    return Statement(
        read_rule(dict(header), tensors, network.dimension),
        network,
        None,
        laws,
        Properties(
            asked.regions.lower.numpy(), asked.regions.upper.numpy(), asked.C.numpy(), asked.d.numpy()
        ),
        draws,
        beta,
        seed_of_problem(problem, draws, beta),
        np.zeros(count),
        np.ones(count),
        nothing,
        nothing,
    )
