"""What pytest does not collect for doctests: modules that need a library or a place that is not here."""

import warnings
from importlib.util import find_spec

collect_ignore_glob = ["tests/examples/flower/misbehaving_client.py"]  # part of a Flower app
if find_spec("flwr") is None:
    collect_ignore_glob += ["src/fedcert/flower/*.py"]
else:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what libraries warn of while they are imported is not ours
        import flwr.serverapp.strategy  # noqa: F401
