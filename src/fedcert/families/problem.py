"""The problem: with what probability does the deployed model have the given properties?"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from fedcert.errors import InvalidLaw, InvalidMessage, ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.laws import DiagonalLaw, GaussianLaw, Law, is_diagonal
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.rules import AggregationRule, GaussianRule, LinearRule
from fedcert.verify import Safe, Verifier

MAX_NAME_LENGTH = 64
"""Maximum length of the joint name of the families that the clients' cells come from."""


@dataclass(frozen=True, eq=False)
class SentCells:
    """Cells that clients sent along with their laws; nothing is computed from them before a claim needs it.

    Attributes:
        families: the name of the family that each client's cells come from, by the client's name.
        sources: functions that give each client's cells, with lower bounds of their masses.
    """

    families: Mapping[str, str]
    sources: tuple[Callable[[], Cells], ...]

    @cached_property
    def events(self) -> str:
        """The name of the family of all clients' cells."""
        name = "+".join(sorted(set(self.families.values())))
        if len(name) > MAX_NAME_LENGTH:
            raise InvalidMessage(
                f"events: the joint name of the families of the clients' cells, {dict(self.families)}, has"
                f" more than {MAX_NAME_LENGTH} characters: let all clients make cells of one family"
            )
        return name

    def of(self, client: int) -> "SentCells":
        """The cells of one client.

        Args:
            client: its place among the clients.
        """
        name = list(self.families)[client]
        return SentCells({name: self.families[name]}, (self.sources[client],))

    @cached_property
    def cells(self) -> tuple[Cells, ...]:
        """Each client's cells."""
        return tuple(source() for source in self.sources)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be certified. The deployed law is computed once.

    Attributes:
        network: f_θ.
        properties: the properties that define what is safe.
        laws: the clients' posteriors, in the order of the rule's weights.
        rule: A, which deploys Θ_g = A(Θ_1, …, Θ_n).
        sent: the clients' cells; None if they sent none.

    Examples:
        >>> import torch, fedcert
        >>> law = fedcert.DiagonalGaussian(torch.zeros(6).double(), torch.ones(6).double())
        >>> asked = fedcert.linf_robustness([[0.5, 0.5]], [0], 0.1, classes=2)
        >>> problem = Problem(fedcert.mlp(2, 2), asked, (law, law), fedcert.LinearRule.fedavg([1, 1]))
        >>> round(problem.deployed_diagonal.scale[0].item() ** 2, 12)
        0.5
    """

    network: Network
    properties: Properties
    laws: tuple[Law, ...]
    rule: AggregationRule
    sent: SentCells | None = None

    def __post_init__(self) -> None:
        if len(self.laws) != self.rule.clients:
            raise ShapeMismatch(f"laws of {len(self.laws)} clients, a rule for {self.rule.clients}")
        for i, law in enumerate(self.laws):
            if law.dimension != self.network.parameters:
                raise ShapeMismatch(
                    f"client {i} has {law.dimension} parameters, the network {self.network.parameters}:"
                    " all must train the same network"
                )
        given = (self.properties.regions.shape[-1], self.properties.C.shape[-1])
        if given != (self.network.inputs, self.network.outputs):
            raise ShapeMismatch(
                f"properties of {given[0]} inputs and {given[1]} outputs for a network of"
                f" {self.network.inputs} inputs and {self.network.outputs} outputs"
            )
        if self.sent is not None and len(self.sent.sources) != len(self.laws):
            raise ShapeMismatch(f"cells of {len(self.sent.sources)} clients, laws of {len(self.laws)}")

    @cached_property
    def remembered(self) -> dict[str, object]:
        """What a family searched for and another claim can use again: choices, of which any is sound."""
        return {}

    @property
    def gaussian(self) -> bool:
        """Whether every client's law is one Gaussian, not a mixture of several."""
        return all(len(law.components) == 1 for law in self.laws)

    @property
    def has_deployed_law(self) -> bool:
        """Whether the rule deploys a Gaussian law for Gaussian clients, so that direct claims exist."""
        return isinstance(self.rule, GaussianRule)

    @property
    def diagonal(self) -> bool:
        """Whether the parameters of every client's law, or of its components, are independent."""
        return all(is_diagonal(law) for law in self.laws)

    @cached_property
    def deployed(self) -> GaussianLaw:
        """The law of Θ_g, for Gaussian clients under a rule that deploys a Gaussian law."""
        return self._pushforward(self._gaussians)

    @property
    def deployed_diagonal(self) -> DiagonalLaw:
        """The law of Θ_g, whose parameters are independent; otherwise an error."""
        if not isinstance(self.deployed, DiagonalLaw):
            raise InvalidLaw(f"a {type(self.deployed).__name__} has parameters that depend on each other")
        return self.deployed

    def deploy(self, components: Sequence[GaussianLaw]) -> GaussianLaw:
        """The law of A(Θ_1, …, Θ_n) for one Gaussian per client; the clients' own laws deploy `deployed`.

        Args:
            components: one law per client: its own, a component of its mixture, or a hull of several.
        """
        own = self.gaussian and len(components) == len(self.laws)
        if own and all(map(operator.is_, components, self._gaussians)):
            return self.deployed
        return self._pushforward(components)

    @cached_property
    def _gaussians(self) -> tuple[GaussianLaw, ...]:
        if not self.gaussian:
            raise ShapeMismatch("clients whose laws are mixtures deploy a mixture, not one Gaussian")
        return tuple(law.components[0] for law in self.laws)

    def _pushforward(self, laws: Sequence[GaussianLaw]) -> GaussianLaw:
        if not isinstance(self.rule, GaussianRule):
            raise ShapeMismatch(f"the rule {self.rule.name} deploys no law in closed form")
        return self.rule.pushforward(laws)

    def alone(self, client: int) -> "Problem":
        """The problem of one client, whose own model is deployed, under the rule's name.

        Args:
            client: its place among the clients.
        """
        law = self.laws[client]
        identity = LinearRule(
            torch.ones(1, 1, dtype=torch.float64, device=law.loc.device), None, self.rule.name
        )
        sent = None if self.sent is None else self.sent.of(client)
        return Problem(self.network, self.properties, (law,), identity, sent)

    def under(self, rule: AggregationRule) -> "Problem":
        """The same problem under another rule.

        Args:
            rule: a rule for the same number of clients.
        """
        return replace(self, rule=rule)

    def asking(self, properties: Properties) -> "Problem":
        """The same problem with other properties; the deployed law, which does not depend on them, is kept.

        Args:
            properties: what is safe.
        """
        other = replace(self, properties=properties)
        if self.gaussian and self.has_deployed_law:
            vars(other)["deployed"] = self.deployed
        return other

    def safe(self, verifier: Verifier) -> Safe:
        """SAFE for this network and these properties.

        Args:
            verifier: proves that boxes are safe.
        """
        return Safe(self.network, self.properties, verifier)
