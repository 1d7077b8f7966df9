"""The federation in one process: `client` makes the one message, `server` makes the certificates."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.certificate import Certificate, Claim
from fedcert.errors import InvalidMessage
from fedcert.families.paper_box.direct import certify_direct
from fedcert.families.paper_box.events import PaperBox
from fedcert.families.paper_box.local import certify_local
from fedcert.families.paper_box.transported import certify_transported
from fedcert.laws import DiagonalGaussian
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule, GaussianRule, RuleContext, build_rule
from fedcert.rules.builders import WeightsName
from fedcert.search import exhaustive_within
from fedcert.verify import Safe
from fedcert.wire.message import NAME, Message

RuleName = str  # of a registered rule, see `fedcert.rules.rule_names`
Provable = tuple[Claim, Callable[[], Certificate]]  # a claim, and the work that proves it


def client(
    name: str,
    law: DiagonalGaussian,
    examples: int,
    generator: torch.Generator,
    events: PaperBox | None = None,
    screen: Safe | None = None,
    track: Tracker = silent,
) -> Message:
    """What a client sends, once: its posterior, its cells and how many examples it has seen.

    Args:
        name: the client's name.
        law: its posterior q_i.
        examples: the number of its training examples.
        generator: the source of randomness.
        events: how cells are made; the paper's values where None.
        screen: keeps only cells that are proven safe locally, for each property; None keeps all.
        track: shows progress.
    """
    events = events or PaperBox()
    return Message(name, law, events.cells(law, screen, generator, track), examples, events.name)


def deployed_rule(
    name: RuleName,
    laws: Sequence[DiagonalGaussian],
    sizes: Sequence[int],
    weights: WeightsName | Sequence[float] = "uniform",
    trim: int = 1,
    initial: Float64[Tensor, "n_w"] | None = None,
    rate: float = 1.0,
) -> AggregationRule:
    """The aggregation rule of this name for these clients.

    Args:
        name: the rule, one of `fedcert.rules.rule_names()`.
        laws: the clients' posteriors, whose precisions weigh a Product-of-Gaussians.
        sizes: the clients' numbers of examples.
        weights: weights of FedAvg and of a server step, equal or proportional to the sizes; or one number
            for each client, for FedAvg and for a linear rule, where they may be negative.
        trim: how many values a trimmed mean drops at each end.
        initial: θ_0 of a server step, the parameters that all clients started from.
        rate: η of a server step.
    """
    return build_rule(name, RuleContext(laws, sizes, weights, trim, initial, rate))


def server(
    messages: Sequence[Message],
    rule: AggregationRule,
    safe: Safe,
    generator: torch.Generator,
    events: PaperBox | None = None,
    budget: int = 20_000,
    track: Tracker = silent,
) -> Iterator[Certificate]:
    """The local, transported and direct certificates of the clients' cells, one after the other.

    A rule without a closed-form deployed law (a median, a trimmed mean) has no direct certificate.

    Args:
        messages: what the clients sent.
        rule: the deployed rule.
        safe: the verifier and the properties.
        generator: the source of randomness for the direct certificate's cells.
        events: how the direct certificate's cells are made; the paper's values where None.
        budget: the most tuples of cells tried for a property.
        track: shows progress.
    """
    for _, prove in provable(messages, rule, safe, budget, track):
        yield prove()
    if isinstance(rule, GaussianRule):
        yield direct([message.law for message in messages], rule, safe, generator, events, track)


def provable(
    messages: Sequence[Message],
    rule: AggregationRule,
    safe: Safe,
    budget: int = 20_000,
    track: Tracker = silent,
) -> Iterator[Provable]:
    """The local and the transported claim, with the work still to be done; arguments as for `server`."""
    names = [message.client for message in messages]
    if len(set(names)) < len(names):
        raise InvalidMessage(f"two messages of one client: {sorted(names)}; its draws are not independent")
    family = _family(messages)
    cells = [message.verified_cells() for message in messages]
    yield Claim("local", rule.name, family), partial(certify_local, cells, safe, rule.name, family)
    yield (
        Claim("transported", rule.name, family),
        partial(certify_transported, cells, rule, safe, exhaustive_within(budget), budget, family, track),
    )


def _family(messages: Sequence[Message]) -> str:
    """The name of the family of all clients' cells."""
    families = {message.client: message.events for message in messages}
    family = "+".join(sorted(set(families.values())))
    if not NAME.fullmatch(family):
        raise InvalidMessage(
            f"events: the families of the clients' cells, {families}, have no name together of at most 64"
            " characters: let all clients make cells of one family"
        )
    return family


def direct(
    laws: Sequence[DiagonalGaussian],
    rule: GaussianRule,
    safe: Safe,
    generator: torch.Generator,
    events: PaperBox | None = None,
    track: Tracker = silent,
) -> Certificate:
    """The direct certificate alone: the paper's cells under the law of the deployed model.

    Args:
        laws: the clients' posteriors.
        rule: the deployed rule.
        safe: the verifier and the properties.
        generator: the source of randomness.
        events: how cells are made; the paper's values where None.
        track: shows progress.
    """
    cells = (events or PaperBox()).cells(rule.pushforward(laws), safe, generator, track)
    return certify_direct(cells, safe, rule.name, PaperBox.name)
