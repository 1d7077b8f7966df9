"""Checks confidence bounds: draws the networks again, judges them, counts, and compares what follows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from fedcert_check.balls import mean_down, mean_up
from fedcert_check.clopper_pearson import clopper_pearson_lower, clopper_pearson_upper
from fedcert_check.confidence.cost import affordable
from fedcert_check.confidence.draws import Sampler
from fedcert_check.confidence.files import Statement, read
from fedcert_check.confidence.laws import ends
from fedcert_check.confidence.level import allowed
from fedcert_check.confidence.network import layers_of
from fedcert_check.confidence.seed import philox_key
from fedcert_check.confidence.shared import SharedBounds
from fedcert_check.confidence.verdict import judge
from fedcert_check.cost import DEFAULT_LIMITS, ProofLimits
from fedcert_check.errors import InvalidCertificate, TooCostly
from fedcert_check.parallel import mapped
from fedcert_check.pooling import Pooling
from fedcert_check.progress import Tracker, silent
from fedcert_check.validation import Array

DRAWS_AT_A_TIME = 25


@dataclass(frozen=True)
class ConfidenceReport:
    """What a confidence bound claims and what this checker counted, property by property.

    Attributes:
        statement: the confidence bound.
        proven: how many of the draws this checker proved safe, for each property.
        broken: how many it broke.
        lower: the lower limits that follow, rounded down.
        upper: the upper limits that follow, rounded up.
    """

    statement: Statement
    proven: tuple[int, ...]
    broken: tuple[int, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @property
    def failures(self) -> tuple[int, ...]:
        """The properties of which more is claimed than follows from what was counted."""
        claimed = self.statement
        follows = (
            (np.array(self.lower) >= claimed.lower)
            & (np.array(self.upper) <= claimed.upper)
            & (np.array(self.proven) >= claimed.proven)
            & (np.array(self.broken) >= claimed.broken)
        )
        return tuple(np.flatnonzero(~follows).tolist())

    @property
    def claimed_mean(self) -> tuple[float, float]:
        """The means over the properties of the claimed bounds, rounded to what they say."""
        return mean_down(self.statement.lower.tolist()), mean_up(self.statement.upper.tolist())

    @property
    def found_mean(self) -> tuple[float, float]:
        """The means over the properties of the bounds that follow from the checker's own counts."""
        return mean_down(list(self.lower)), mean_up(list(self.upper))

    @property
    def verdict(self) -> bool:
        """Whether all that is claimed follows."""
        return not self.failures


def check_confidence(
    path: Path,
    messages: Path | None = None,
    jobs: int = 1,
    track: Tracker = silent,
    limits: ProofLimits = DEFAULT_LIMITS,
) -> ConfidenceReport:
    """Draw the networks again and judge them, with this checker's own code.

    Args:
        path: of the confidence bound.
        messages: the folder of the clients' messages; the folder beside the file's own where None.
        jobs: maximum number of processes; a script that asks for more than one must do so below
            `if __name__ == "__main__":`.
        track: shows progress.
        limits: the most that the check may take.
    """
    try:
        statement = read(path, messages or path.absolute().parent.parent / "messages", limits.memory)
        processes = affordable(statement, jobs, limits)
        return recount(statement, processes, track)
    except (InvalidCertificate, TooCostly) as error:
        text = str(error)
        raise type(error)(text if text.startswith(str(path)) else f"{path}: {text}") from error
    except MemoryError as error:
        raise TooCostly(f"{path}: the check takes more memory than there is") from error


def recount(statement: Statement, jobs: int = 1, track: Tracker = silent) -> ConfidenceReport:
    """What this checker makes of a statement.

    Args:
        statement: the confidence bound.
        jobs: number of processes.
        track: shows progress.
    """
    pieces = [
        range(start, min(start + DRAWS_AT_A_TIME, statement.draws))
        for start in range(0, statement.draws, DRAWS_AT_A_TIME)
    ]
    found = mapped(partial(count, statement), pieces, jobs, track, "drawing and judging networks")
    proven, broken = np.sum(found, axis=0)
    draws, level = statement.draws, allowed(statement.beta) / (2 * len(statement.properties))
    return ConfidenceReport(
        statement,
        tuple(proven.tolist()),
        tuple(broken.tolist()),
        tuple(clopper_pearson_lower(k, draws, level) for k in proven.tolist()),
        tuple(clopper_pearson_upper(draws - k, draws, level) for k in broken.tolist()),
    )


def count(statement: Statement, numbers: Sequence[int]) -> Array:
    """How many of some draws are proven safe (first row) and broken (second), for each property.

    Args:
        statement: the confidence bound.
        numbers: of the draws.
    """
    require_gradual_underflow()
    with np.errstate(all="ignore"):
        chosen = [law.ends() for law in statement.laws]
        if isinstance(statement.rule, Pooling):
            chosen.append(ends(statement.rule.weights[:, 0]))
        sampler = Sampler(statement.laws, chosen, statement.rule, philox_key(statement.seed))
        radius = sampler.radius()
        shared = SharedBounds()
        counts = np.zeros((2, len(statement.properties)), dtype=np.int64)
        for number in numbers:
            drawn = sampler.draw(number)
            if drawn.known:
                layers = layers_of(statement.network, drawn.centre, radius)
                counts += np.stack(judge(layers, statement.properties, shared))
    return counts


def require_gradual_underflow() -> None:
    """Raise where denormal numbers are flushed to zero, which the charged errors do not allow for."""
    if float(np.float64(2.0**-1074) * np.float64(1.0)) == 0.0:
        raise FloatingPointError("denormal numbers are flushed to zero on this machine")
