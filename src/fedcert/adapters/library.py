"""Libraries that are not needed until their posteriors are read."""

import importlib
from dataclasses import dataclass
from typing import Any

from fedcert.errors import MissingLibrary


@dataclass(frozen=True)
class Library:
    """An optional library, and how it is installed.

    Attributes:
        name: as people know it.
        module: as Python imports it.
        extra: the extra of fedcert that installs it, or what it needs.
        alone: distributions to be installed without their dependencies: they ask for torchvision, which is
            not used here, and which has to match the installed torch.

    Examples:
        >>> Library("PyYAML", "no_such_module", "yaml").load()
        Traceback (most recent call last):
            ...
        fedcert.errors.MissingLibrary: PyYAML is needed here: pip install 'fedcert[yaml]'
        explained in docs/posteriors.md
    """

    name: str
    module: str
    extra: str
    alone: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """What installs it."""
        first = f"pip install 'fedcert[{self.extra}]'"
        return f"{first} && pip install --no-deps {' '.join(self.alone)}" if self.alone else first

    def load(self, submodule: str = "") -> Any:
        """Import it, or say how to install it.

        Args:
            submodule: of the library, such as "layers".
        """
        try:
            return importlib.import_module(f"{self.module}.{submodule}" if submodule else self.module)
        except ModuleNotFoundError as error:
            raise MissingLibrary(f"{self.name} is needed here: {self.command}") from error


LAPLACE = Library(
    "laplace-torch", "laplace", "laplace", (
        "laplace-torch==0.3", "asdfghjkl==0.1a4", "backpack-for-pytorch==1.7.1",
        "curvlinops-for-pytorch==3.0.1",
    ),
)  # fmt: skip
IVON = Library("ivon-opt", "ivon", "ivon")
BAYESIAN_TORCH = Library("bayesian-torch", "bayesian_torch", "bayesian-torch", ("bayesian-torch==0.5.0",))
POSTERIORS = Library("posteriors", "posteriors", "posteriors")
PYRO = Library("Pyro", "pyro", "pyro")
