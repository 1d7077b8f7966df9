"""fedcert: certified safety probabilities for one-shot federated Bayesian neural networks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "BlockGaussian": "laws",
    "Box": "numerics.box",
    "Certificate": "certificate",
    "Certification": "api.result",
    "Claim": "certificate",
    "DenseGaussian": "laws",
    "DiagonalGaussian": "laws",
    "Estimate": "certificate",
    "Feature": "model.features",
    "FedcertError": "errors",
    "GaussianMixture": "laws",
    "IntervalVerifier": "verify.interval",
    "Law": "laws",
    "LinearRule": "rules",
    "MergedIntervalVerifier": "verify.interval",
    "Message": "wire.message",
    "Network": "model.network",
    "PaperBox": "families.paper_box.events",
    "Posterior": "adapters.posterior",
    "Problem": "families.problem",
    "Properties": "model.properties",
    "Residual": "model.torch_module.residual",
    "Safe": "verify",
    "TrimmedMean": "rules",
    "Verifier": "verify",
    "certify": "api.certify",
    "certify_classification": "api.certify",
    "client": "federation.client",
    "from_onnx": "adapters.onnx",
    "from_state_dicts": "adapters.state_dicts",
    "from_toml": "model.from_toml",
    "from_torch": "model.from_torch",
    "from_vnnlib": "adapters.vnnlib",
    "linf_robustness": "model.properties",
    "mlp": "model.network",
    "on_boxes": "model.regions",
    "register_family": "families.registry",
    "register_law": "laws.registry",
    "register_layer": "model.layers.registry",
    "register_rule": "rules",
    "server": "federation.server",
    "stream": "randomness",
}

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from fedcert.adapters.onnx import from_onnx as from_onnx
    from fedcert.adapters.posterior import Posterior as Posterior
    from fedcert.adapters.state_dicts import from_state_dicts as from_state_dicts
    from fedcert.adapters.vnnlib import from_vnnlib as from_vnnlib
    from fedcert.api.certify import certify as certify
    from fedcert.api.certify import certify_classification as certify_classification
    from fedcert.api.result import Certification as Certification
    from fedcert.certificate import Certificate as Certificate
    from fedcert.certificate import Claim as Claim
    from fedcert.certificate import Estimate as Estimate
    from fedcert.errors import FedcertError as FedcertError
    from fedcert.families.paper_box.events import PaperBox as PaperBox
    from fedcert.families.problem import Problem as Problem
    from fedcert.families.registry import register_family as register_family
    from fedcert.federation.client import client as client
    from fedcert.federation.server import server as server
    from fedcert.laws import BlockGaussian as BlockGaussian
    from fedcert.laws import DenseGaussian as DenseGaussian
    from fedcert.laws import DiagonalGaussian as DiagonalGaussian
    from fedcert.laws import GaussianMixture as GaussianMixture
    from fedcert.laws import Law as Law
    from fedcert.laws.registry import register_law as register_law
    from fedcert.model.features import Feature as Feature
    from fedcert.model.from_toml import from_toml as from_toml
    from fedcert.model.from_torch import from_torch as from_torch
    from fedcert.model.layers.registry import register_layer as register_layer
    from fedcert.model.network import Network as Network
    from fedcert.model.network import mlp as mlp
    from fedcert.model.properties import Properties as Properties
    from fedcert.model.properties import linf_robustness as linf_robustness
    from fedcert.model.regions import on_boxes as on_boxes
    from fedcert.model.torch_module.residual import Residual as Residual
    from fedcert.numerics.box import Box as Box
    from fedcert.randomness import stream as stream
    from fedcert.rules import LinearRule as LinearRule
    from fedcert.rules import TrimmedMean as TrimmedMean
    from fedcert.rules import register_rule as register_rule
    from fedcert.verify import Safe as Safe
    from fedcert.verify import Verifier as Verifier
    from fedcert.verify.interval import IntervalVerifier as IntervalVerifier
    from fedcert.verify.interval import MergedIntervalVerifier as MergedIntervalVerifier
    from fedcert.wire.message import Message as Message


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `fedcert --help` need not load torch."""
    if name not in _HOME:
        raise AttributeError(f"module 'fedcert' has no attribute {name!r}")
    return getattr(import_module(f"fedcert.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    """The public names, for tab completion."""
    return sorted(__all__)
