"""The parts of a run as files: posteriors, messages, certificates and estimates."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.app.journal import Format
from fedcert.certificate import Certificate, Estimate
from fedcert.confidence import ConfidenceBound
from fedcert.errors import FedcertError, UnreadableFile
from fedcert.families.problem import Problem
from fedcert.federation.radius import CertifiedRadii
from fedcert.laws.registry import StatedLaw, law_named
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.rules import AggregationRule
from fedcert.wire import atomic, tensorfile
from fedcert.wire.certificate_file import SavedCertificate, load_certificate, save_certificate
from fedcert.wire.confidence_file import load_confidence, save_confidence
from fedcert.wire.message import Message

Timed = tuple[Certificate, float]
TimedRadii = tuple[CertifiedRadii, float]
TimedDraws = tuple[ConfidenceBound, float]


@dataclass(frozen=True)
class CertificateFiles:
    """Certificates as files, with all that they speak about; their seconds are kept beside the run.

    Attributes:
        network: f_θ.
        rules: by the names that claims use.
        messages: what the clients sent.
    """

    network: Network
    rules: Mapping[str, AggregationRule]
    messages: Sequence[Message]

    def about(self, properties: Properties) -> Format[Timed]:
        """How certificates of these properties are written and read.

        Args:
            properties: what is safe.
        """

        def load(path: Path) -> Timed:
            return _load(path).certificate, _read_seconds(path)

        return Format(partial(self._save, properties), load)

    def at_radii(self, ask: Callable[[Float64[Tensor, "P"]], Properties]) -> Format[TimedRadii]:
        """How certificates of certified radii are written and read.

        Args:
            ask: the properties at one radius for each input.
        """

        def save(found: TimedRadii, path: Path) -> None:
            self._save(ask(found[0].radius), (found[0].certificate, found[1]), path)

        def load(path: Path) -> TimedRadii:
            saved = _load(path)
            if saved.properties.subject is None:
                raise UnreadableFile(f"{path}: not a certificate of radii")
            return CertifiedRadii(saved.properties.subject.radius, saved.certificate), _read_seconds(path)

        return Format(save, load)

    def of_draws(self, problem: Problem) -> Format[TimedDraws]:
        """How the confidence bound of a problem is written and read.

        Args:
            problem: what was drawn from, and the properties.
        """

        def save(found: TimedDraws, path: Path) -> None:
            atomic.write(_seconds(path), json.dumps(found[1]) + "\n")
            save_confidence(path, found[0], problem, self.messages)

        def load(path: Path) -> TimedDraws:
            return load_confidence(path, path.parent.with_name("messages")), _read_seconds(path)

        return Format(save, load)

    def _save(self, properties: Properties, timed: Timed, path: Path) -> None:
        """Write a certificate, and before it the seconds it took."""
        certificate, seconds = timed
        atomic.write(_seconds(path), json.dumps(seconds) + "\n")
        rule = self.rules[certificate.claim.rule]
        save_certificate(path, certificate, self.network, properties, rule, self.messages)


def _load(path: Path) -> SavedCertificate:
    try:
        return load_certificate(path)
    except OSError as error:
        raise UnreadableFile(f"{path}: not a certificate of an unfinished run ({error})") from error


def _read_seconds(path: Path) -> float:
    try:
        return float(json.loads(_seconds(path).read_text("utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise UnreadableFile(f"{path}: not a certificate of an unfinished run ({error})") from error


def _seconds(path: Path) -> Path:
    """The file in which an unfinished run keeps the seconds that a certificate took."""
    return path.parent.with_name("seconds") / f"{path.parent.name}-{path.stem}.json"


def save_estimate(estimate: Estimate, path: Path) -> None:
    """Write an estimate."""
    content = {
        "name": estimate.name,
        "rule": estimate.rule,
        "successes": estimate.successes.tolist(),
        "samples": estimate.samples,
    }
    atomic.write(path, json.dumps(content) + "\n")


def load_estimate(path: Path) -> Estimate:
    """Read what `save_estimate` wrote."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Estimate(**content | {"successes": torch.tensor(content["successes"])})
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableFile(f"{path}: not an estimate ({error})") from error


@dataclass(frozen=True)
class Posterior:
    """What a client has learned.

    Attributes:
        law: the client's posterior, at its learned scale.
        seconds: how long training took, in seconds.
    """

    law: StatedLaw
    seconds: float


def save_posterior(posterior: Posterior, path: Path) -> None:
    """Write a posterior, in single precision where that is exact."""
    law = {name: _compact(own) for name, own in posterior.law.tensors().items()}
    tensorfile.write(path, {"seconds": repr(posterior.seconds), "law": posterior.law.kind}, law)


def load_posterior(path: Path) -> Posterior:
    """Read what `save_posterior` wrote."""
    metadata, arrays = tensorfile.read(path)
    try:
        tensors = {name: torch.tensor(array).double() for name, array in arrays.items()}
        law = law_named(metadata["law"]).from_tensors(tensors, lambda _: nullcontext())
        return Posterior(law, float(metadata["seconds"]))
    except (KeyError, ValueError, FedcertError) as error:
        raise UnreadableFile(f"{path}: not a posterior ({error})") from error


def _compact(x: Tensor) -> Tensor:
    """The same numbers in single precision, if that is exact; otherwise unchanged."""
    return x.float() if torch.equal(x.float().double(), x) else x


def save_verdict(proved: bool, path: Path) -> None:
    """Write whether a certificate was proved again."""
    atomic.write(path, json.dumps(proved) + "\n")


def load_verdict(path: Path) -> bool:
    """Read what `save_verdict` wrote."""
    try:
        return {"true": True, "false": False}[path.read_text(encoding="utf-8").strip()]
    except (KeyError, ValueError) as error:
        raise UnreadableFile(f"{path}: not a verdict ({error})") from error


VERDICT = Format(save_verdict, load_verdict)
MESSAGE = Format(Message.save, Message.load)
ESTIMATE = Format(save_estimate, load_estimate)
POSTERIOR = Format(save_posterior, load_posterior)
