"""What users bring, as the objects that certificates are made of."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from torch import nn

from fedcert.errors import InvalidLaw, InvalidMessage
from fedcert.laws import DiagonalGaussian, Law, diagonal_components
from fedcert.model.from_torch import from_torch
from fedcert.model.network import Network
from fedcert.numerics.convert import as_double
from fedcert.rules import AggregationRule, RuleContext, build_rule
from fedcert.rules.builders import WeightsName
from fedcert.wire.message import Message

Posterior = Law | Message | str | PathLike[str] | tuple[Any, Any]
"""A law, a message or the path of one, or a pair of arrays: means and deviations of all parameters."""

Posteriors = Sequence[Posterior] | str | PathLike[str]
"""One posterior a client, or the path of a folder of messages."""


def as_laws(posteriors: Posteriors) -> list[Law | Message]:
    """The clients' laws or messages, from whatever states them; a folder holds the messages of all clients.

    Args:
        posteriors: one a client, or a folder.
    """
    if isinstance(posteriors, str | PathLike):
        return _messages(Path(posteriors))
    if not len(posteriors):
        raise InvalidLaw("posteriors: at least one client is needed")
    return [_law(i, posterior) for i, posterior in enumerate(posteriors)]


def _messages(folder: Path) -> list[Law | Message]:
    files = sorted(folder.glob("*.safetensors"), key=lambda path: (len(path.name), path.name))
    if not files:
        raise InvalidMessage(f"{folder}: no message (*.safetensors) in this folder")
    return [Message.load(path) for path in files]


def _law(client: int, posterior: Posterior) -> Law | Message:
    if isinstance(posterior, Message | Law):
        return posterior
    if isinstance(posterior, str | PathLike):
        return Message.load(Path(posterior))
    try:
        loc, scale = posterior
    except (TypeError, ValueError) as error:
        raise InvalidLaw(
            f"posterior {client} is a {type(posterior).__name__}: give a law, a message, the path of a"
            " message, or a pair of arrays (means, deviations)"
        ) from error
    what = f"the means and deviations of posterior {client}"
    return DiagonalGaussian(as_double(what, loc), as_double(what, scale))


def as_network(model: Network | nn.Module) -> Network:
    """The network that a model is.

    Args:
        model: a network, or a torch module that can be read as one.
    """
    return model if isinstance(model, Network) else from_torch(model)


def as_rule(
    rule: AggregationRule | str, laws: Sequence[Law], sizes: Sequence[int], weights: WeightsName
) -> AggregationRule:
    """The rule of a name for these clients.

    Args:
        rule: a rule, or the name of one.
        laws: the clients' posteriors.
        sizes: their numbers of examples.
        weights: "uniform", or "size" for weights in proportion to the sizes.
    """
    if not isinstance(rule, str):
        return rule
    return build_rule(rule, RuleContext([diagonal_components(law)[0] for law in laws], sizes, weights))
