"""What a proof takes, known before it begins: a stranger's certificate must not exhaust the machine.

Each family of events has a module here with a function `estimate`. It looks at the claim, at shapes and at
counts, never at a ball. Where the work depends on numbers it takes the most that they can cause, so that a
file made to be slow is not estimated below its cost; an ordinary one may take a fraction of the estimate.
"""

from collections.abc import Callable
from typing import NamedTuple

from fedcert_check.cost.rates import PROCESS, PROPERTY
from fedcert_check.document import Document
from fedcert_check.errors import TooCostly

GIB = 2**30
MINUTE = 60


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


class Limits(NamedTuple):
    """The most that a proof may take.

    Attributes:
        memory: bytes, of all processes together.
        seconds: of one core.
    """

    memory: int = 4 * GIB
    seconds: float = 3000 * MINUTE


DEFAULT = Limits()


def affordable(document: Document, estimate: Estimate, jobs: int, limits: Limits) -> int:
    """How many of the processes the memory allows; raises if not even one, or if the work is too much.

    Args:
        document: the certificate.
        estimate: of its family of events.
        jobs: how many processes are wanted.
        limits: the most that the proof may take.
    """
    cost = estimate(document, jobs)
    idle = PROCESS + size(document)
    each = idle + cost.memory
    able = min(jobs, int((limits.memory - idle) // each))  # one process more waits for them
    if able < 2 and each > limits.memory:
        raise TooCostly(
            f"the proof would take about {each / GIB:.3g} GiB of memory,"
            f" more than {limits.memory / GIB:.3g}: raise --max-memory to try"
        )
    if cost.seconds > limits.seconds:
        raise TooCostly(
            f"the proof would take up to {cost.seconds / MINUTE:.3g} minutes of one core,"
            f" more than {limits.seconds / MINUTE:.3g}: raise --max-work to try"
        )
    return max(1, able)


def size(document: Document) -> int:
    """Bytes of a certificate, its messages and the list of what was proven."""
    asked = document.properties
    arrays = [asked.lower, asked.upper, asked.C, asked.d, document.lower, *document.witness.values()]
    for client in document.clients:
        arrays += [client.loc, client.scale, client.lower, client.upper]
    if document.rule.weights is not None:
        arrays.append(document.rule.weights)
    return sum(array.nbytes for array in arrays) + PROPERTY * len(asked)
