"""What users bring, as the objects that certificates are made of."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from torch import nn

from fedcert.adapters.library import LAPLACE
from fedcert.adapters.posterior import Posterior
from fedcert.errors import InvalidArgument, InvalidLaw, InvalidMessage, ShapeMismatch, UnsupportedLayer
from fedcert.laws import DiagonalGaussian, Law
from fedcert.model.from_torch import from_torch
from fedcert.model.network import Network
from fedcert.numerics.convert import as_double
from fedcert.rules import AggregationRule, RuleContext, build_rule
from fedcert.rules.builders import WeightsName
from fedcert.wire.message import Message

AnyPosterior = Posterior | Law | Message | str | PathLike[str] | tuple[Any, Any]
"""What a reader made, a law, a message or the path of one, or a pair of arrays: means and deviations."""

Posteriors = Iterable[AnyPosterior] | str | PathLike[str]
"""One posterior a client, or the path of a folder of messages."""


def with_network(
    posteriors: Posteriors, model: Network | nn.Module | None, shape: tuple[int, ...] | None = None
) -> tuple[list[Law | Message], Network]:
    """The clients' laws or messages, and the network: the model's, or that of posteriors that were read.

    Args:
        posteriors: one a client, or a folder.
        model: a network, a torch module, or None where every posterior that was read has the network.
        shape: of one input, if it is known.
    """
    network = None if model is None else as_network(model, shape)
    if isinstance(posteriors, str | PathLike):
        return as_laws(posteriors), _known(network)
    each = _listed(posteriors)
    for client, own in enumerate(each):
        if isinstance(own, Posterior):
            network = network or own.network
            if own.network != network:
                raise ShapeMismatch(f"posterior {client} belongs to another network than the others")
    return as_laws(each), _known(network)


def _known(network: Network | None) -> Network:
    if network is None:
        raise InvalidArgument("no network: give the model, or posteriors that were read together with one")
    return network


def as_laws(posteriors: Posteriors) -> list[Law | Message]:
    """The clients' laws or messages, from whatever states them; a folder holds the messages of all clients.

    Args:
        posteriors: one a client, or a folder.
    """
    if isinstance(posteriors, str | PathLike):
        return _messages(Path(posteriors))
    laws = [_law(i, posterior) for i, posterior in enumerate(_listed(posteriors))]
    if not laws:
        raise InvalidLaw("posteriors: at least one client is needed")
    return laws


def _listed(posteriors: Iterable[AnyPosterior]) -> list[AnyPosterior]:
    if isinstance(posteriors, Mapping):
        raise InvalidLaw(
            "posteriors: a mapping has no order of clients: give a list, such as list(posteriors.values())"
        )
    try:
        return list(posteriors)
    except TypeError as error:
        raise InvalidLaw(
            f"posteriors: a {type(posteriors).__name__}: give a list with one posterior a client (a law, a"
            " message, the path of a message, or a pair of arrays), or the path of a folder of messages"
        ) from error


def _messages(folder: Path) -> list[Law | Message]:
    files = sorted(folder.glob("*.safetensors"), key=lambda path: (len(path.name), path.name))
    if not files:
        raise InvalidMessage(f"{folder}: no message (*.safetensors) in this folder")
    return [Message.load(path) for path in files]


def _law(client: int, posterior: AnyPosterior) -> Law | Message:
    if isinstance(posterior, Posterior):
        return posterior.law
    if isinstance(posterior, Message | Law):
        return posterior
    if isinstance(posterior, str | PathLike):
        return Message.load(Path(posterior))
    try:
        loc, scale = posterior
    except (TypeError, ValueError) as error:
        is_laplace = type(posterior).__module__.partition(".")[0] == LAPLACE.module
        advice = ": read it with fedcert.adapters.from_laplace(la)" if is_laplace else ""
        raise InvalidLaw(
            f"posterior {client} is a {type(posterior).__name__}: give a law, a message, the path of a"
            f" message, or a pair of arrays (means, deviations){advice}"
        ) from error
    if isinstance(loc, Mapping) or isinstance(scale, Mapping):
        raise InvalidLaw(
            f"posterior {client} is a pair of state dicts: read it with"
            " fedcert.from_state_dicts(model, means, deviations)"
        )
    what = f"the means and deviations of posterior {client}"
    return DiagonalGaussian(as_double(what, loc).clone(), as_double(what, scale).clone())  # not the caller's


def as_network(model: Network | nn.Module, shape: tuple[int, ...] | None = None) -> Network:
    """The network that a model is.

    Args:
        model: a network, or a torch module that can be read as one.
        shape: of one input, for a module that cannot be read without.
    """
    if isinstance(model, Network):
        return model
    try:
        return from_torch(model)
    except UnsupportedLayer:
        if shape is None:
            raise
        return from_torch(model, shape)


def as_rule(
    rule: AggregationRule | str, laws: Sequence[Law], sizes: Sequence[int] | None, weights: WeightsName
) -> AggregationRule:
    """The rule of a name for these clients.

    Args:
        rule: a rule, or the name of one.
        laws: the clients' posteriors.
        sizes: their numbers of examples; None where they are unknown.
        weights: "uniform", or "size" for weights in proportion to the sizes.
    """
    if not isinstance(rule, str):
        return rule
    return build_rule(rule, RuleContext(laws, sizes, weights))
