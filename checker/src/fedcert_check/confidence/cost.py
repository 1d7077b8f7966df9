"""What checking a confidence bound takes, known before it begins."""

from itertools import pairwise

from fedcert_check.confidence.files import Statement
from fedcert_check.cost import GIB, MIN_SECONDS_PER_PROCESS, MINUTE, Cost, ProofLimits
from fedcert_check.cost.rates import PROCESS_BYTES, PROPERTY_BYTES
from fedcert_check.errors import TooCostly

NORMAL_SECONDS = 30e-9  # drawing a normal of one client, or aggregating a parameter
FACTOR_SECONDS = 1e-9  # one multiplication and addition of a matrix, read from memory, and a vector
MULTIPLICATION_SECONDS = 0.5e-9  # one multiplication and addition within a product of matrices of floats
STEP_SECONDS = 2e-3  # the rest of judging a draw, however small
PROPERTY_SECONDS = 1e-3  # the rest of judging one property of a draw that is decided by no shared bound
CLIENT_SECONDS = 1e-3  # the rest of drawing one component of a client
LIVE_ARRAYS = 8
KEPT_ARRAYS = 8  # centres and radii, before and after a ReLU, of intervals and of tightened bounds


def estimate(statement: Statement) -> Cost:
    """The most that drawing and judging all networks can take: every property goes through every step.

    Args:
        statement: the confidence bound.
    """
    widths, (count, constraints) = statement.network.widths, statement.properties.d.shape
    weights = [a * b for a, b in pairwise(widths)]
    total, inputs = sum(weights), widths[0]
    hidden = sum(m * sum(weights[: place + 1]) for place, m in enumerate(widths[1:-1]) if place > 0)
    products = count * (hidden + (2 * constraints + 8) * total)
    drawing = sum(
        (law.normals + law.dimension) * NORMAL_SECONDS + law.products * FACTOR_SECONDS
        for law in statement.laws
    )
    judging = products * MULTIPLICATION_SECONDS + count * PROPERTY_SECONDS + STEP_SECONDS
    clients = len(statement.laws) * CLIENT_SECONDS
    seconds = statement.draws * (drawing + clients + judging)
    rows = max(count * constraints * max(widths), max(widths) * max(inputs, *widths))
    drawn = sum(law.dimension + law.normals for law in statement.laws)
    largest_law = max(law.nbytes for law in statement.laws)
    kept = KEPT_ARRAYS * count * sum(widths)
    memory = 8 * (LIVE_ARRAYS * (rows + drawn) + kept) + largest_law
    return Cost(memory, seconds)


def affordable(statement: Statement, jobs: int, limits: ProofLimits) -> int:
    """The number of processes that memory allows and that the work is worth; too much of either raises.

    Args:
        statement: the confidence bound.
        jobs: maximum number of processes.
        limits: the most that checking may take.
    """
    cost = estimate(statement)
    asked = statement.properties
    held = sum(law.nbytes for law in statement.laws) + statement.rule.nbytes
    held += asked.lower.nbytes + asked.upper.nbytes + asked.C.nbytes + PROPERTY_BYTES * len(asked)
    each = PROCESS_BYTES + held + cost.memory
    if each > limits.memory:
        raise TooCostly(
            f"the check would take about {each / GIB:.3g} GiB of memory,"
            f" more than {limits.memory / GIB:.3g}: raise --max-memory to allow it"
        )
    if cost.seconds > limits.seconds:
        raise TooCostly(
            f"the check would take up to {cost.seconds / MINUTE:.3g} minutes of one core,"
            f" more than {limits.seconds / MINUTE:.3g}: raise --max-work to allow it"
        )
    fitting = int((limits.memory - PROCESS_BYTES - 2 * held) // each)
    return max(1, min(jobs, fitting, int(cost.seconds / MIN_SECONDS_PER_PROCESS)))
