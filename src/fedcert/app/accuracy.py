"""How often a model classifies test examples as labelled."""

from jaxtyping import Float
from torch import Tensor

from fedcert.app.clients import Examples
from fedcert.data import Split
from fedcert.federation.mean_models import MeanModels
from fedcert.model.network import Network


def accuracy_by_client(
    network: Network, models: MeanModels, examples: Examples
) -> list[tuple[str, int, float]]:
    """For each client with test examples its name, their number, and the share classified as labelled.

    Args:
        network: f_θ.
        models: the parameters, and how likely each is.
        examples: those of the test set say whose they are; nothing is returned otherwise.
    """
    whose, found = examples.test.client, []
    for i, name in enumerate(examples.clients or ()):
        own = examples.test[(whose == i).nonzero().squeeze(-1)] if whose is not None else ()
        if isinstance(own, Split) and len(own):
            found.append((name, len(own), mean_accuracy(network, models, own)))
    return found


def accuracy_of(network: Network, theta: Float[Tensor, "n_w"], examples: Split) -> float:
    """The share of examples that f_θ classifies as labelled.

    Args:
        network: f_θ.
        theta: its parameters.
        examples: with their labels.
    """
    examples = examples.to(theta.device)
    return (network(theta, examples.x).argmax(-1) == examples.label).double().mean().item()


def mean_accuracy(network: Network, models: MeanModels, examples: Split) -> float:
    """The expected share of examples that one of some models classifies as labelled.

    Args:
        network: f_θ.
        models: the parameters, and how likely each is.
        examples: with their labels.
    """
    shares = zip(models.share.tolist(), models.theta, strict=True)
    expected = sum((share * accuracy_of(network, theta, examples) for share, theta in shares), 0.0)
    return min(1.0, expected)
