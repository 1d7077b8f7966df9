"""The parts of a run as files: messages, certificates and estimates, each written when it is known."""

import json
from pathlib import Path

import torch

from fedcert import atomic, tensorfile
from fedcert.certificate import Certificate, Claim, Estimate
from fedcert.errors import UnreadableFile
from fedcert.experiments.journal import Format
from fedcert.message import Message

Timed = tuple[Certificate, float]


def certificate_file(claim: Claim) -> str:
    """Where a run keeps the certificate of a claim."""
    return f"certificates/{claim.kind}-{claim.rule}-{claim.events}.safetensors"


def save_bounds(certificate: Timed, path: Path) -> None:
    """Write a certificate and the seconds it took."""
    proven, seconds = certificate
    tensors = {"lower": proven.lower} | ({} if proven.upper is None else {"upper": proven.upper})
    claim = {"kind": proven.claim.kind, "rule": proven.claim.rule, "events": proven.claim.events}
    tensorfile.write(path, claim | {"seconds": repr(seconds)}, tensors)


def load_bounds(path: Path) -> Timed:
    """Read what `save_bounds` wrote."""
    header, arrays = tensorfile.read(path)
    try:
        claim = Claim(header["kind"], header["rule"], header["events"])  # type: ignore[arg-type]
        upper = torch.tensor(arrays["upper"]) if "upper" in arrays else None
        return Certificate(claim, torch.tensor(arrays["lower"]), upper), float(header["seconds"])
    except (KeyError, ValueError, ArithmeticError) as error:
        raise UnreadableFile(f"{path}: no certificate ({error})") from error


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


MESSAGE = Format(Message.save, Message.load)
CERTIFICATE = Format(save_bounds, load_bounds)
ESTIMATE = Format(save_estimate, load_estimate)
