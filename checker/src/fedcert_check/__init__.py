"""fedcert-check: proves a saved certificate again, from the messages and the witness, in ball arithmetic.

It uses nothing of the program that made the certificate. It reads the files itself, and refuses by name what
it does not know: layers (`layers.py`), laws (`laws.py`), rules (`rules.py`), families of events
(`families.py`). `checking.py` compares what is proven with what is claimed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "ConfidenceReport": "confidence",
    "FedcertError": "errors",
    "InvalidCertificate": "errors",
    "ProofLimits": "cost",
    "Refused": "checking",
    "Report": "checking",
    "RunReport": "run_folder",
    "Sample": "sampling",
    "TooCostly": "errors",
    "certificates": "checking",
    "check": "checking",
    "check_confidence": "confidence",
    "check_each": "checking",
    "check_run": "run_folder",
}

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from fedcert_check.checking import Refused as Refused
    from fedcert_check.checking import Report as Report
    from fedcert_check.checking import certificates as certificates
    from fedcert_check.checking import check as check
    from fedcert_check.checking import check_each as check_each
    from fedcert_check.confidence import ConfidenceReport as ConfidenceReport
    from fedcert_check.confidence import check_confidence as check_confidence
    from fedcert_check.cost import ProofLimits as ProofLimits
    from fedcert_check.errors import FedcertError as FedcertError
    from fedcert_check.errors import InvalidCertificate as InvalidCertificate
    from fedcert_check.errors import TooCostly as TooCostly
    from fedcert_check.run_folder import RunReport as RunReport
    from fedcert_check.run_folder import check_run as check_run
    from fedcert_check.sampling import Sample as Sample


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `fedcert --help` loads neither numpy nor flint."""
    if name not in _HOME:
        raise AttributeError(f"module 'fedcert_check' has no attribute {name!r}")
    return getattr(import_module(f"fedcert_check.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    """The public names, those that are not imported yet too."""
    return sorted({*globals(), *_HOME})
