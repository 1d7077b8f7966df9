"""Every claim that families of events make of a problem, in the order of tables, with the work to be done."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from fedcert.certificate import Certificate, Claim
from fedcert.families.problem import Problem
from fedcert.families.protocol import CellFamily, Family
from fedcert.federation.same_law import OncePerLaw
from fedcert.progress import Tracker, silent

Provable = tuple[Claim, Callable[[], Certificate]]  # a claim, and the work that proves it


def claims_of(
    problem: Problem,
    families: Sequence[Family],
    compared: Sequence[Problem] = (),
    track: Tracker = silent,
) -> Iterator[Provable]:
    """Every claim of some families, family by family.

    Local and transported claims are made for the deployed rule, direct ones for the rules compared with it
    too. Rules that deploy the same law, to the last bit, share one proof.

    Args:
        problem: the clients, the deployed rule and the properties.
        families: of events.
        compared: the same clients and properties under further rules.
        track: shows progress.
    """
    for family in families:
        events = _events(family, problem)
        for kind in ("local", "transported"):
            if family.supports(problem, kind):
                yield Claim(kind, problem.rule.name, events), partial(family.prove, problem, kind, track)
        once = OncePerLaw[Certificate]()
        for own in (problem, *compared):
            if not family.supports(own, "direct"):
                continue
            prove = partial(family.prove, own, "direct", track)
            gaussian = own.gaussian and own.has_deployed_law
            shared = once(own.deployed, own.rule.name, prove) if gaussian else prove
            yield Claim("direct", own.rule.name, family.name), shared


def _events(family: Family, problem: Problem) -> str:
    """The name of the events behind a family's local and transported claims."""
    sent = problem.sent if isinstance(family, CellFamily) else None
    return family.name if sent is None else sent.events
