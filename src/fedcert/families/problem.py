"""The problem: with what probability has the model that is deployed the properties that are asked for?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fedcert.errors import InvalidMessage, ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.laws import DiagonalLaw, Law, diagonal_components
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.rules import AggregationRule, GaussianRule
from fedcert.verify import Safe, Verifier

MAX_NAME_LENGTH = 64
"""Characters of the joint name of the families that clients' cells come from."""


@dataclass(frozen=True, eq=False)
class SentCells:
    """Cells that clients sent beside their laws; nothing is computed of them before a claim asks for it.

    Attributes:
        families: the name of the family that each client's cells come from, by the client's name.
        sources: each client's cells, with lower bounds of their masses.
    """

    families: Mapping[str, str]
    sources: tuple[Callable[[], Cells], ...]

    @cached_property
    def events(self) -> str:
        """The name of the family of all clients' cells."""
        name = "+".join(sorted(set(self.families.values())))
        if len(name) > MAX_NAME_LENGTH:
            raise InvalidMessage(
                f"events: the families of the clients' cells, {dict(self.families)}, have no name together of"
                f" at most {MAX_NAME_LENGTH} characters: let all clients make cells of one family"
            )
        return name

    @cached_property
    def cells(self) -> tuple[Cells, ...]:
        """Each client's cells."""
        return tuple(source() for source in self.sources)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be certified. The law that is deployed is computed once.

    Attributes:
        network: f_θ.
        properties: what is safe.
        laws: the clients' posteriors, in the order of the rule's weights.
        rule: A, which deploys Θ_g = A(Θ_1, …, Θ_n).
        sent: the clients' cells, where they sent some.

    Examples:
        >>> import torch, fedcert
        >>> law = fedcert.DiagonalGaussian(torch.zeros(6).double(), torch.ones(6).double())
        >>> asked = fedcert.linf_robustness([[0.5, 0.5]], [0], 0.1, classes=2)
        >>> problem = Problem(fedcert.mlp(2, 2), asked, (law, law), fedcert.LinearRule.fedavg([1, 1]))
        >>> problem.deployed.scale[0].item() ** 2
        0.5000000000000001
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
        if self.sent is not None and len(self.sent.sources) != len(self.laws):
            raise ShapeMismatch(f"cells of {len(self.sent.sources)} clients, laws of {len(self.laws)}")

    @property
    def gaussian(self) -> bool:
        """Whether every client's law is one Gaussian, not a mixture of several."""
        return all(len(law.components) == 1 for law in self.laws)

    @property
    def has_deployed_law(self) -> bool:
        """Whether Gaussian clients make the rule deploy a Gaussian law: direct claims exist."""
        return isinstance(self.rule, GaussianRule)

    @cached_property
    def deployed(self) -> DiagonalLaw:
        """The law of Θ_g, for Gaussian clients under a rule that deploys a Gaussian law."""
        return self._deploy([diagonal_components(law)[0] for law in self._gaussians])

    @property
    def _gaussians(self) -> Sequence[Law]:
        if not self.gaussian:
            raise ShapeMismatch("clients whose laws are mixtures deploy a mixture, not one Gaussian")
        return self.laws

    def _deploy(self, laws: Sequence[DiagonalLaw]) -> DiagonalLaw:
        if not isinstance(self.rule, GaussianRule):
            raise ShapeMismatch(f"the rule {self.rule.name} deploys no law in closed form")
        return self.rule.pushforward(laws)

    def under(self, rule: AggregationRule) -> "Problem":
        """The same problem under another rule.

        Args:
            rule: of as many clients.
        """
        return replace(self, rule=rule)

    def safe(self, verifier: Verifier) -> Safe:
        """SAFE for this network and these properties.

        Args:
            verifier: the method of proof.
        """
        return Safe(self.network, self.properties, verifier)
