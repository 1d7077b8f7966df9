"""The server: messages in, certificates out."""

from collections.abc import Iterator, Sequence

from fedcert.certificate import Certificate
from fedcert.errors import InvalidMessage
from fedcert.families.problem import Problem, SentCells
from fedcert.families.protocol import Family
from fedcert.families.registry import family_named
from fedcert.federation.claims import claims_of
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule
from fedcert.wire.message import Message


def problem_of(
    messages: Sequence[Message], rule: AggregationRule, network: Network, properties: Properties
) -> Problem:
    """What the messages of a federation ask: their laws and cells, under the rule that is deployed.

    Of a cell's claimed mass and the one that is computed here, the smaller is used.

    Args:
        messages: what the clients sent, in the order of the rule's weights.
        rule: the deployed rule.
        network: f_θ.
        properties: what is safe.
    """
    names = [message.client for message in messages]
    if len(set(names)) < len(names):
        raise InvalidMessage(f"two messages of one client: {sorted(names)}; its draws are not independent")
    sent = SentCells(
        {message.client: message.events for message in messages},
        tuple(message.verified_cells for message in messages),
    )
    return Problem(network, properties, tuple(message.law for message in messages), rule, sent)


def server(
    messages: Sequence[Message],
    rule: AggregationRule,
    network: Network,
    properties: Properties,
    events: Sequence[Family | str] = ("projected",),
    track: Tracker = silent,
) -> Iterator[Certificate]:
    """The certificates of all kinds that some families of events have, one after the other.

    A rule without a closed-form deployed law (a median, a trimmed mean) has no direct certificate.

    Args:
        messages: what the clients sent.
        rule: the deployed rule.
        network: f_θ.
        properties: what is safe.
        events: the families, or their names.
        track: shows progress.

    Examples:
        >>> import torch, fedcert
        >>> loc = torch.tensor([3, 0, 0, 3, 0, 0]).double()
        >>> law = fedcert.DiagonalGaussian(loc, torch.full_like(loc, 0.1))
        >>> messages = [fedcert.client(name, law, 100, fedcert.stream(0, name)) for name in "ab"]
        >>> asked = fedcert.linf_robustness([[0.7, 0.3]], [0], 0.01, classes=2)
        >>> rule = fedcert.LinearRule.fedavg([100, 100])
        >>> [found.claim.kind for found in server(messages, rule, fedcert.mlp(2, 2), asked)]
        ['local', 'transported', 'direct']
    """
    families = [family_named(own) if isinstance(own, str) else own for own in events]
    for _, prove in claims_of(problem_of(messages, rule, network, properties), families, track=track):
        yield prove()
