"""The parts of a run as files: posteriors, messages, certificates, estimates; written when they are known."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from fedcert.app.journal import Format
from fedcert.certificate import Certificate, Estimate
from fedcert.errors import UnreadableFile
from fedcert.laws import DiagonalGaussian
from fedcert.rules import AggregationRule
from fedcert.verify import Safe
from fedcert.wire import atomic, tensorfile
from fedcert.wire.certificate_file import load_certificate, save_certificate
from fedcert.wire.message import Message

Timed = tuple[Certificate, float]


@dataclass(frozen=True)
class CertificateFile:
    """A certificate as a file, with all that it speaks about; the seconds it took are kept beside the run.

    Attributes:
        problem: the network and the properties.
        rules: by the names that claims use.
        messages: what the clients sent.
    """

    problem: Safe
    rules: Mapping[str, AggregationRule]
    messages: Sequence[Message]

    def save(self, certificate: Timed, path: Path) -> None:
        """Write a certificate, and before it the seconds it took."""
        proven, seconds = certificate
        atomic.write(_seconds(path), json.dumps(seconds) + "\n")
        rule = self.rules[proven.claim.rule]
        save_certificate(path, proven, self.problem.network, self.problem.properties, rule, self.messages)

    def load(self, path: Path) -> Timed:
        """Read what `save` wrote."""
        try:
            return load_certificate(path).certificate, float(json.loads(_seconds(path).read_text("utf-8")))
        except (OSError, TypeError, ValueError) as error:
            raise UnreadableFile(f"{path}: no certificate of an unfinished run ({error})") from error


def _seconds(path: Path) -> Path:
    """Where an unfinished run keeps the seconds of a certificate."""
    return path.parent.with_name("seconds") / f"{path.stem}.json"


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
        raise UnreadableFile(f"{path}: no estimate ({error})") from error


@dataclass(frozen=True)
class Posterior:
    """What a client has learned.

    Attributes:
        law: its posterior, at the scale that it learned.
        seconds: that training took.
    """

    law: DiagonalGaussian
    seconds: float


def save_posterior(posterior: Posterior, path: Path) -> None:
    """Write a posterior, in single precision where it was trained so."""
    law = {"loc": _compact(posterior.law.loc), "scale": _compact(posterior.law.scale)}
    tensorfile.write(path, {"seconds": repr(posterior.seconds)}, law)


def load_posterior(path: Path) -> Posterior:
    """Read what `save_posterior` wrote."""
    metadata, arrays = tensorfile.read(path)
    try:
        loc, scale = (torch.tensor(arrays[name]).double() for name in ("loc", "scale"))
        return Posterior(DiagonalGaussian(loc, scale), float(metadata["seconds"]))
    except (KeyError, ValueError) as error:
        raise UnreadableFile(f"{path}: no posterior ({error})") from error


def _compact(x: Tensor) -> Tensor:
    """The same numbers in single precision, if they are."""
    return x.float() if torch.equal(x.float().double(), x) else x


MESSAGE = Format(Message.save, Message.load)
ESTIMATE = Format(save_estimate, load_estimate)
POSTERIOR = Format(save_posterior, load_posterior)
