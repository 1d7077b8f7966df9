"""fedcert: certified safety probabilities for one-shot federated Bayesian neural networks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Box": "box",
    "Certificate": "certificate",
    "Claim": "certificate",
    "DiagonalGaussian": "laws",
    "Estimate": "certificate",
    "FedcertError": "errors",
    "GaussianMixture": "laws",
    "IntervalVerifier": "verifiers.interval",
    "Law": "laws",
    "MergedIntervalVerifier": "verifiers.interval",
    "Message": "message",
    "Network": "networks",
    "PaperBox": "events.paper_box",
    "Properties": "properties",
    "Safe": "verifiers",
    "Verifier": "verifiers",
    "WeightedAverage": "rules",
    "certify_projected": "certify.projected_transported",
    "certify_projected_directly": "certify.projected",
    "client": "federation",
    "from_torch": "networks",
    "linf_robustness": "properties",
    "mlp": "networks",
    "server": "federation",
    "stream": "randomness",
}

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from fedcert.box import Box as Box
    from fedcert.certificate import Certificate as Certificate
    from fedcert.certificate import Claim as Claim
    from fedcert.certificate import Estimate as Estimate
    from fedcert.certify.projected import certify_projected_directly as certify_projected_directly
    from fedcert.certify.projected_transported import certify_projected as certify_projected
    from fedcert.errors import FedcertError as FedcertError
    from fedcert.events.paper_box import PaperBox as PaperBox
    from fedcert.federation import client as client
    from fedcert.federation import server as server
    from fedcert.laws import DiagonalGaussian as DiagonalGaussian
    from fedcert.laws import GaussianMixture as GaussianMixture
    from fedcert.laws import Law as Law
    from fedcert.message import Message as Message
    from fedcert.networks import Network as Network
    from fedcert.networks import from_torch as from_torch
    from fedcert.networks import mlp as mlp
    from fedcert.properties import Properties as Properties
    from fedcert.properties import linf_robustness as linf_robustness
    from fedcert.randomness import stream as stream
    from fedcert.rules import WeightedAverage as WeightedAverage
    from fedcert.verifiers import Safe as Safe
    from fedcert.verifiers import Verifier as Verifier
    from fedcert.verifiers.interval import IntervalVerifier as IntervalVerifier
    from fedcert.verifiers.interval import MergedIntervalVerifier as MergedIntervalVerifier


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `fedcert --help` need not load torch."""
    if name not in _HOME:
        raise AttributeError(f"module 'fedcert' has no attribute {name!r}")
    return getattr(import_module(f"fedcert.{_HOME[name]}"), name)
