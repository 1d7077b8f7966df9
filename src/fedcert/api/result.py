"""The result of `certify`: bounds to use, to look at, and to save for anyone to check."""

from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from fedcert.certificate import Certificate
from fedcert.errors import InvalidCertificate, MissingLibrary, OutputExists
from fedcert.families.problem import Problem
from fedcert.federation.mean_models import mean_models
from fedcert.numerics.enclosure import Enclosure
from fedcert.wire import atomic
from fedcert.wire.certificate_file import certificate_file, save_certificate
from fedcert.wire.message import Message
from fedcert.wire.subject import as_checked
from fedcert_check.percent import percent_down, percent_up
from fedcert_check.run_folder.saved import BOUNDS, COLUMNS
from fedcert_check.subject import number, singular

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = ("direct", "transported", "local")
"""Kinds of claims in the order in which they are shown."""
UNDECIDED_BELOW, UNDECIDED_WIDTH = 0.01, 0.5
"""Means of L and U − L at which next to nothing is decided."""


@dataclass(frozen=True, eq=False, repr=False)
class Certification:
    """Proven bounds of the probability that the deployed model has each property.

    Attributes:
        problem: the network, the properties, the clients' laws and the rule.
        certificates: one for each claim.
        messages: what the clients sent; empty where a law has no message.

    Examples:
        >>> import numpy as np, fedcert
        >>> clients = [(np.array([3.0, 0, 0, 3, 0, 0]), np.full(6, 0.1))]
        >>> x, y = [[0.7, 0.3]], [0]
        >>> result = fedcert.certify_classification(clients, fedcert.mlp(2, 2), x, y, epsilon=0.01)
        >>> bool(result.lower[0] > 0.999), len(result.rows())
        (True, 2)
    """

    problem: Problem
    certificates: tuple[Certificate, ...]
    messages: tuple[Message, ...]

    @cached_property
    def lower(self) -> NDArray[np.float64]:
        """L ≤ Pr(safe) for each property: the best of the claims that speak of the deployed model."""
        bounds = [own.lower for own in self._deployed]
        return torch.stack(bounds).amax(0).cpu().numpy()

    @cached_property
    def upper(self) -> NDArray[np.float64]:
        """U ≥ Pr(safe) for each property; 1 where none is proven."""
        bounds = [own.upper for own in self._deployed if own.upper is not None]
        none = torch.ones_like(self._deployed[0].lower)
        return torch.stack([none, *bounds]).amin(0).cpu().numpy()

    @property
    def mean_lower(self) -> float:
        """A lower bound of the mean probability over the properties."""
        return Enclosure.exactly(torch.from_numpy(self.lower)).mean().clamp(0.0, 1.0).lower.item()

    @property
    def mean_upper(self) -> float:
        """An upper bound of the mean probability over the properties."""
        return Enclosure.exactly(torch.from_numpy(self.upper)).mean().clamp(0.0, 1.0).upper.item()

    @property
    def _deployed(self) -> tuple[Certificate, ...]:
        if not self._deployed_claims:
            raise InvalidCertificate("local claims say nothing of the deployed model: ask for direct claims")
        return self._deployed_claims

    @property
    def _deployed_claims(self) -> tuple[Certificate, ...]:
        """The certificates that speak of the deployed model; none where only local claims were asked for."""
        return tuple(one for one in self.certificates if one.claim.kind != "local")

    @property
    def _strongest_first(self) -> list[Certificate]:
        """Direct claims, then transported ones, then local ones, in the order in which they are shown."""
        return sorted(self.certificates, key=lambda own: SHOWN.index(own.claim.kind))

    def rows(self) -> list[dict[str, Any]]:
        """The bounds of each property and claim; label, radius, norm and choice of inputs where known."""
        about = self._about_each()
        return [
            dict(zip(COLUMNS, (p, *about[p], *_claim(own), low, high), strict=True))
            for own in self._strongest_first
            for p, (low, high) in enumerate(zip(own.lower.tolist(), _uppers(own), strict=True))
        ]

    def _about_each(self) -> list[tuple[object, ...]]:
        """Label, radius, norm, choice and margin of each input; None where properties are no balls."""
        subject = self.problem.properties.subject
        if subject is None:
            return [(None,) * 5] * len(self.problem.properties)
        labels = [None] * len(subject.radius) if subject.labels is None else subject.labels.tolist()
        balls = zip(labels, subject.radius.tolist(), strict=True)
        rest = (subject.norm, subject.origin.chosen, subject.margin)
        return [(label, radius, *rest) for label, radius in balls]

    def to_frame(self) -> Any:
        """The bounds of each property and claim as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingLibrary("a data frame needs pandas: pip install pandas") from error
        return pd.DataFrame(self.rows(), columns=list(COLUMNS))

    def plot(self) -> "Figure":
        """The interval [L, U] of each property, in the order of L."""
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.subplots()
        order = np.argsort(self.lower, kind="stable")
        place = np.arange(1, len(order) + 1)
        lower, upper = 100 * self.lower[order], 100 * self.upper[order]
        axes.fill_between(place, lower, upper, step="mid", alpha=0.3, lw=0)
        axes.step(place, lower, where="mid", label="L: at least")
        axes.step(place, upper, where="mid", label="U: at most")
        axes.set(xlabel=f"{self._noun}, sorted by L", ylabel="probability of safety, %")
        axes.set_title(self._title, fontsize="medium")
        axes.set_ylim(-3, 103)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(loc="lower right")
        return figure

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write a run folder that `fedcert check` proves: messages, certificates and a table of all bounds.

        There is no report among them: that of `fedcert certify` says more than is known here, such as where
        inputs come from. `fedcert certify FOLDER/messages --model model.toml --inputs x.npz --epsilon 0.01`
        makes one from the same messages (docs/tutorial/own-posterior.md).

        Args:
            folder: a folder that holds no run yet.
        """
        path = Path(folder)
        require_no_run(path)
        if not self.messages:
            raise InvalidCertificate("a client's law is one that no message can state: it cannot be saved")
        for message in self.messages:
            message.save(path / "messages" / f"{message.client}.safetensors")
        for own in self.certificates:
            problem = self.problem
            save_certificate(
                path / certificate_file(own.claim), own, problem.network, problem.properties, problem.rule,
                self.messages,
            )  # fmt: skip
        lines = [",".join(COLUMNS), *(",".join(map(_text, row.values())) for row in self.rows())]
        atomic.write(path / BOUNDS, "\n".join(lines) + "\n")
        return path

    def __repr__(self) -> str:
        return f"Certification: {self._bounds} ({self._subject}){self._hint}"

    def _repr_html_(self) -> str:
        """A table of the claims, for notebooks."""
        rows = "".join(
            f"<tr><td>{escape(own.claim.kind)}</td><td>{escape(own.claim.events)}</td>"
            f"<td>{percent_down(own.mean_lower)}</td>"
            f"<td>{'–' if own.mean_upper is None else percent_up(own.mean_upper)}</td></tr>"
            for own in self._strongest_first
        )
        head = "<tr><th>claim</th><th>events</th><th>at least</th><th>at most</th></tr>"
        return f"<p>{escape(repr(self))}</p><table>{head}{rows}</table>"

    @property
    def _bounds(self) -> str:
        if not self._deployed_claims:
            return "local claims alone"
        return (
            f"at least {percent_down(self.mean_lower)} and at most {percent_up(self.mean_upper)}, mean over"
            f" {self._asked}"
        )

    @property
    def accuracy(self) -> float | None:
        """The share of the inputs that the mean model classifies as labelled; None where there are no labels.

        It is beside the bounds, which it is no part of: the mean model is not the one that is drawn.
        """
        subject, problem = self.problem.properties.subject, self.problem
        if subject is None or subject.labels is None or subject.upper is not None:
            return None
        models = mean_models(problem.rule, problem.laws)
        chosen = [problem.network(theta, subject.inputs).argmax(-1) for theta in models.theta]
        right = torch.stack([(own == subject.labels).double().mean() for own in chosen])
        return min(1.0, (models.share * right).sum().item())

    @property
    def _title(self) -> str:
        """Radius, claims and mean bounds, then the federation, each on a line of a picture."""
        claims = " + ".join(dict.fromkeys(own.claim.kind for own in self._strongest_first))
        lower, upper = percent_down(self.mean_lower), percent_up(self.mean_upper)
        return f"{self._where}, {claims}: mean {lower} to {upper}\n{self._subject}"

    @property
    def _noun(self) -> str:
        """What the bounds are about: inputs, boxes or properties."""
        subject = self.problem.properties.subject
        return "properties" if subject is None else as_checked(subject).noun

    @property
    def _where(self) -> str:
        """The regions: balls or boxes, and the radius."""
        subject = self.problem.properties.subject
        if subject is None:
            return "on the stated regions"
        low, high = subject.radius.min().item(), subject.radius.max().item()
        radius = f"radius {number(low)}" if low == high else f"radii {number(low)} to {number(high)}"
        if subject.upper is not None:
            return "on the stated boxes" + ("" if high == 0 else f", widened by {radius}")
        return f"{'ℓ∞ balls' if subject.weights is None else 'weighted balls'} of {radius}"

    @property
    def _asked(self) -> str:
        """Which properties the bounds are about: inputs, norm, radius and accuracy, where these are known."""
        subject = self.problem.properties.subject
        if subject is None:
            return f"{len(self.lower)} properties"
        stated = as_checked(subject)
        noun = stated.noun if len(self.lower) != 1 else singular(stated.noun)
        which = "as given" if subject.origin.chosen == "given" else f"({stated.describe_choice()})"
        accuracy = self.accuracy
        beside = "" if accuracy is None else f"; accuracy of the mean model on them {100 * accuracy:.1f} %"
        return f"{len(self.lower)} {noun} {which}, {self._where}{beside}"

    @property
    def _subject(self) -> str:
        events = " + ".join(dict.fromkeys(own.claim.events for own in self.certificates))
        count = len(self.problem.laws)
        return f"{count} client{'s' if count > 1 else ''}, {self.problem.rule.name}, {events}"

    @property
    def _hint(self) -> str:
        """What to look at where nearly nothing is decided."""
        if not self._deployed_claims or self.mean_lower >= UNDECIDED_BELOW:
            return ""
        if self.mean_upper - self.mean_lower <= UNDECIDED_WIDTH:
            return ""
        return (
            ". Nothing is decided: the posterior is too wide, or the radius too large, for these events"
            " (docs/how-to/laplace.md)"
        )


def _claim(certificate: Certificate) -> tuple[str, str, str]:
    claim = certificate.claim
    return claim.kind, claim.rule, claim.events


def require_no_run(folder: Path) -> None:
    """Refuse a folder that holds a run.

    Args:
        folder: that a run is to be saved to.
    """
    if any((folder / name).exists() for name in ("messages", "certificates", BOUNDS)):
        raise OutputExists(f"{folder}: holds a run already: save to another folder")


def _uppers(certificate: Certificate) -> list[float | None]:
    upper = certificate.upper
    return [None] * len(certificate.lower) if upper is None else upper.tolist()


def _text(value: object) -> str:
    return "" if value is None else str(value)
