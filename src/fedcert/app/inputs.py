"""Which test inputs become properties: as they come, at random, or only correctly classified ones."""

from dataclasses import dataclass, replace
from math import inf

import torch
from jaxtyping import Float
from torch import Tensor

from fedcert.app.clients import Examples
from fedcert.app.config import RunConfig
from fedcert.data import Split
from fedcert.errors import DataError
from fedcert.model.features import Feature
from fedcert.model.network import Network
from fedcert.model.properties import Properties, correctly_classified, linf_robustness
from fedcert.model.robustness import Origin
from fedcert.numerics.convert import Numbers
from fedcert.randomness import stream


@dataclass(frozen=True)
class Inputs:
    """Test inputs that become properties.

    Attributes:
        examples: the inputs with their labels.
        origin: where they come from and how they were chosen.
        features: which measurement each input coordinate is; None for images.
    """

    examples: Split
    origin: Origin
    features: tuple[Feature, ...] | None = None

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, part: slice) -> "Inputs":
        known = self.origin.indices
        origin = replace(self.origin, indices=None if known is None else known[part])
        return replace(self, examples=self.examples[part], origin=origin)

    def properties_within(
        self, epsilon: Numbers, margin: float, classes: int, device: str = "cpu"
    ) -> Properties:
        """The properties that the label wins by a margin on the whole ball around each input.

        Images are cut to [0, 1]; the radius of measurements counts their errors, and nothing is cut.

        Args:
            epsilon: the radius, or one for each input.
            margin: of the logits.
            classes: the number of classes.
            device: where the properties are needed.
        """
        x, label = self.examples.x, self.examples.label
        radius = epsilon.cpu() if isinstance(epsilon, Tensor) else epsilon
        error = self.examples.error
        domain = (0.0, 1.0) if error is None else (-inf, inf)
        asked = linf_robustness(
            x, label, radius, margin, classes, domain, self.origin, weights=error, features=self.features
        )
        return asked.to(device)


def count_of(config: RunConfig, examples: Examples) -> int:
    """How many inputs become properties.

    Args:
        config: of the run.
        examples: of the run.
    """
    available = len(examples.test if config.inputs == "correct" else examples.pool)
    count = available if config.properties == "all" else config.properties
    if count > available:
        raise DataError(f"properties: {count} asked for, but {config.dataset} has {available} test inputs")
    return count


def choose_inputs(
    config: RunConfig, examples: Examples, network: Network, mean: Float[Tensor, "n_w"]
) -> Inputs:
    """The inputs of a run.

    Args:
        config: says how they are chosen, and how many.
        examples: of the run.
        network: f_θ.
        mean: the parameters of the posterior-mean model, which decides what is classified correctly.
    """
    count, pool, seed = count_of(config, examples), examples.pool, None
    if config.inputs == "correct":
        pool = examples.test
        chosen = correctly_classified(network, mean.cpu(), pool.x, pool.label, count)
    elif config.inputs == "random":
        seed = config.seed
        chosen = torch.randperm(len(pool), generator=stream(seed, "inputs"))[:count]
    else:
        chosen = torch.arange(count)
    taken = pool[chosen]
    origin = Origin(config.dataset, config.inputs, len(examples.pool), seed, taken.index)
    return Inputs(taken, origin, examples.features)
