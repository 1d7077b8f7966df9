"""The same federation over Flower: clients send posteriors, the server deploys and certifies.

Only this package imports flwr; `pip install 'fedcert[flower]'` installs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fedcert.errors import MissingLibrary

_HOME = {
    "Certified": "certifier",
    "CertifiedFedAvg": "strategy",
    "Certifier": "certifier",
    "PropertyCertifier": "property_certifier",
    "RunCertifier": "run_certifier",
    "pack": "posteriors",
    "parameters_record": "parameters",
    "parameters_vector": "parameters",
    "unpack": "posteriors",
}

__all__ = [*_HOME]

if TYPE_CHECKING:
    from fedcert.flower.certifier import Certified as Certified
    from fedcert.flower.certifier import Certifier as Certifier
    from fedcert.flower.parameters import parameters_record as parameters_record
    from fedcert.flower.parameters import parameters_vector as parameters_vector
    from fedcert.flower.posteriors import pack as pack
    from fedcert.flower.posteriors import unpack as unpack
    from fedcert.flower.property_certifier import PropertyCertifier as PropertyCertifier
    from fedcert.flower.run_certifier import RunCertifier as RunCertifier
    from fedcert.flower.strategy import CertifiedFedAvg as CertifiedFedAvg


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that a client need not load what only the server needs."""
    if name not in _HOME:
        raise AttributeError(f"module 'fedcert.flower' has no attribute {name!r}")
    try:
        return getattr(import_module(f"fedcert.flower.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "flwr":
            raise
        raise MissingLibrary("fedcert.flower needs flwr: pip install 'fedcert[flower]'") from error
