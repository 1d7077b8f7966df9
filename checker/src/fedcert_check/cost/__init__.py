"""What a proof takes, known before it begins: a stranger's certificate must not exhaust the machine.

Each family of events has a module here with a function `estimate`. It looks at the claim, at shapes, at
counts and at what is 0, never at a ball. Where the work depends on numbers it takes the most that they can
cause, so that a file made to be slow is not estimated below its cost; an ordinary one may take a fraction of
the estimate.
"""

from collections.abc import Callable
from typing import NamedTuple

from fedcert_check.cost.rates import PROCESS_BYTES, PROPERTY_BYTES
from fedcert_check.document import Document
from fedcert_check.errors import TooCostly

GIB = 2**30
MINUTE = 60
MIN_SECONDS_PER_PROCESS = 2.0  # less work is done before another process has started


class Cost(NamedTuple):
    """What a proof takes.

    Attributes:
        memory: bytes in each process, beside the interpreter and the certificate.
        seconds: of one core.
    """

    memory: float
    seconds: float


Estimate = Callable[[Document, int], Cost]
"""The cost of a family's proof, given the certificate and the number of processes."""


class ProofLimits(NamedTuple):
    """The most that a proof may take.

    Attributes:
        memory: bytes, of all processes together.
        seconds: of one core.
    """

    memory: int = 4 * GIB
    seconds: float = 3000 * MINUTE


DEFAULT_LIMITS = ProofLimits()


def affordable(document: Document, estimate: Estimate, jobs: int, limits: ProofLimits) -> int:
    """The number of processes that memory allows and that the work is worth.

    Raises if not even one process fits into memory, or if the work is too much.

    Args:
        document: the certificate.
        estimate: of its family of events.
        jobs: maximum number of processes.
        limits: the most that the proof may take.
    """
    cost = estimate(document, jobs)
    held = size(document)
    each = PROCESS_BYTES + held + cost.memory
    waiting = PROCESS_BYTES + 2 * held  # of the process that starts the others, with a copy to send
    fitting = int((limits.memory - waiting) // each)
    if fitting < 2 and each > limits.memory:
        raise TooCostly(
            f"the proof would take about {each / GIB:.3g} GiB of memory,"
            f" more than {limits.memory / GIB:.3g}: raise --max-memory to allow it"
        )
    if cost.seconds > limits.seconds:
        raise TooCostly(
            f"the proof would take up to {cost.seconds / MINUTE:.3g} minutes of one core,"
            f" more than {limits.seconds / MINUTE:.3g}: raise --max-work to allow it"
        )
    return max(1, min(jobs, fitting, int(cost.seconds / MIN_SECONDS_PER_PROCESS)))


def size(document: Document) -> int:
    """Bytes of a certificate, its messages and the list of what was proven."""
    asked = document.properties
    arrays = [asked.lower, asked.upper, asked.C, asked.d, document.lower, *document.witness.values()]
    for client in document.clients:
        arrays += [*client.law.arrays, client.law.weights, client.lower, client.upper]
    return sum(array.nbytes for array in arrays) + document.rule.nbytes + PROPERTY_BYTES * len(asked)
