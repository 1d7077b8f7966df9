"""The family `paper-box`: boxes around posterior samples, as in the paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fedcert.certificate import Certificate, Kind
from fedcert.errors import InvalidLaw
from fedcert.families.cells import Cells
from fedcert.families.paper_box.direct import certify_direct
from fedcert.families.paper_box.events import PaperBox
from fedcert.families.paper_box.local import certify_local
from fedcert.families.paper_box.transported import certify_transported
from fedcert.families.pooled import is_pooled, prove_pooled, supports_pooled
from fedcert.families.problem import Problem
from fedcert.laws import Law, diagonal_components
from fedcert.progress import Tracker, silent
from fedcert.randomness import stream
from fedcert.search import exhaustive_within
from fedcert.verify import Safe, Verifier
from fedcert.verify.interval import IntervalVerifier


@dataclass(frozen=True)
class PaperBoxFamily:
    """Cells H = w* ± γσ around samples, each proven safe by interval bounds.

    Local and transported claims use the cells that the clients sent; if they sent none, cells are made as
    the clients would make them.

    Attributes:
        gamma: the expansion factors γ.
        centers: the number of sampled centres.
        cells: the maximum number of cells per client and property.
        budget: the maximum number of tuples of cells per property.
        screen: whether clients keep only cells that are safe for their own model.
        seed: the seed of all samples.
    """

    name: ClassVar[str] = PaperBox.name
    verifier: ClassVar[Verifier] = IntervalVerifier()

    gamma: tuple[float, ...] = (3.0, 4.0, 5.0, 6.0, 7.0)
    centers: int = 200
    cells: int = 8
    budget: int = 20_000
    screen: bool = True
    seed: int = 0

    @property
    def events(self) -> PaperBox:
        """The construction of cells."""
        return PaperBox(self.gamma, self.centers, self.cells)

    def supports(self, problem: Problem, kind: Kind) -> bool:
        """Gaussian clients with independent parameters; direct claims only for a law in closed form."""
        if is_pooled(problem, kind):
            return supports_pooled(self, problem, kind)
        return problem.gaussian and problem.diagonal and (kind != "direct" or problem.has_deployed_law)

    def client_cells(self, law: Law, client: int, safe: Safe, track: Tracker = silent) -> Cells:
        """The cells that one client sends.

        Args:
            law: the client's posterior.
            client: the client's number.
            safe: the verifier and the properties, to screen cells with.
            track: shows progress.
        """
        gaussian, *others = diagonal_components(law)
        if others:
            raise InvalidLaw(f"{self.name} events need one Gaussian, not a mixture of {len(others) + 1}")
        screen = safe if self.screen else None
        return self.events.cells(gaussian, screen, stream(self.seed, "cells", client), track)

    def prove(self, problem: Problem, kind: Kind, track: Tracker = silent) -> Certificate:
        """The certificate of one kind of claim.

        Args:
            problem: the clients, the rule and the properties.
            kind: the kind of claim.
            track: shows progress.
        """
        if is_pooled(problem, kind):
            return prove_pooled(self, problem, kind, track)
        safe, rule = problem.safe(self.verifier), problem.rule
        if kind == "direct":
            own = self.events.cells(problem.deployed_diagonal, safe, stream(self.seed, "direct"), track)
            return certify_direct(own, safe, rule.name, self.name)
        events, cells = self._cells(problem, safe, track)
        if kind == "local":
            return certify_local(cells, safe, rule.name, events)
        search = exhaustive_within(self.budget)
        return certify_transported(cells, rule, safe, search, self.budget, events, track)

    def _cells(self, problem: Problem, safe: Safe, track: Tracker) -> tuple[str, Sequence[Cells]]:
        """The clients' cells, and the name of their family."""
        if problem.sent is not None:
            return problem.sent.events, problem.sent.cells
        return self.name, [self.client_cells(law, i, safe, track) for i, law in enumerate(problem.laws)]
