"""What was read of a module: its network, and how its named parameters become θ."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import ShapeMismatch
from fedcert.model.network import Network
from fedcert.model.torch_module.batch_norm import BatchNorm, Moments
from fedcert.numerics.convert import as_double

COUNTER = "num_batches_tracked"
"""What a state dict of a batch normalisation holds beside numbers that are used."""


@dataclass(frozen=True, eq=False)
class Entry:
    """Where one parameter of a layer comes from.

    Attributes:
        shape: its shape.
        name: of the module's parameter; None for a fixed one.
        fixed: the numbers of a fixed parameter, as of a bias that a module does without.
    """

    shape: tuple[int, ...]
    name: str | None = None
    fixed: Float64[Tensor, "..."] | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """Where the parameters of one layer come from.

    Attributes:
        entries: one for each parameter, in the layer's order.
        norms: batch normalisations after the layer, folded into it.
    """

    entries: tuple[Entry, ...]
    norms: tuple[BatchNorm, ...] = ()

    @property
    def parameters(self) -> list[str]:
        """The names of the module's parameters that it needs."""
        named = [entry.name for entry in self.entries if entry.name is not None]
        return named + [name for norm in self.norms for name in norm.parameters]

    @property
    def statistics(self) -> list[str]:
        """The names of the running statistics that it needs."""
        return [name for norm in self.norms for name in norm.statistics]

    def moments(self, values: "_Values") -> Sequence[Moments]:
        """Means and deviations of each parameter of the layer.

        Args:
            values: the module's parameters and statistics.
        """
        found = [values.entry(entry) for entry in self.entries]
        for norm in self.norms:
            weight, bias = found
            found = list(norm.fold(weight, bias, lambda name, width=norm.width: values(name, (width,))))  # type: ignore[misc]
        return found


@dataclass(frozen=True, eq=False)
class Reading:
    """A module as a network.

    Attributes:
        network: what the module computes.
        sources: for each of the network's leaves, where its parameters come from.
        own: the module's parameters and buffers.
    """

    network: Network
    sources: tuple[Source, ...]
    own: Mapping[str, Tensor]

    @property
    def theta(self) -> Float64[Tensor, "n_w"]:
        """The module's own weights as θ, folded where a batch normalisation is."""
        return self.vectors(self.own, {})[0]

    @property
    def parameters(self) -> list[str]:
        """The names of the module's parameters that the network depends on, in the order of θ."""
        return [name for source in self.sources for name in source.parameters]

    @property
    def statistics(self) -> list[str]:
        """The names of the module's running statistics that the network depends on."""
        return [name for source in self.sources for name in source.statistics]

    def vectors(
        self, means: Mapping[str, Tensor], deviations: Mapping[str, Tensor]
    ) -> tuple[Float64[Tensor, "n_w"], Float64[Tensor, "n_w"]]:
        """Means and deviations of θ, from those of the module's named parameters.

        Every parameter and running statistic that the network depends on needs a mean; a missing deviation
        is 0. Names that the module does not have raise; those that its forward does not use change nothing.

        Args:
            means: by name, as in a state dict.
            deviations: by name.
        """
        self._check_names(means, deviations)
        values = _Values(means, deviations)
        moments = [pair for source in self.sources for pair in source.moments(values)]
        loc = torch.cat([mean.flatten() for mean, _ in moments])
        return loc, torch.cat([deviation.flatten() for _, deviation in moments])

    @property
    def places(self) -> Mapping[str, int]:
        """Where each of the module's named parameters begins in θ.

        Those into which a batch normalisation is folded are not there: θ has other numbers in their place.
        """
        found: dict[str, int] = {}
        start = 0
        for source in self.sources:
            for entry in source.entries:
                if entry.name is not None and not source.norms:
                    found[entry.name] = start
                start += math.prod(entry.shape)
        return _Places(found)

    def factor(self, factors: Mapping[str, Tensor]) -> Float64[Tensor, "n_w q"]:
        """The factor F of θ = μ + F z, from those of the module's named parameters.

        Args:
            factors: by name, of the parameter's shape and one more axis of length q; a missing one is 0.
        """
        self._check_names(self.own, factors)
        columns = {value.shape[-1] for value in factors.values()}
        if len(columns) != 1:
            raise ShapeMismatch(f"factors of {sorted(columns)} columns, which must be one number")
        (q,) = columns
        rows = []
        for source in self.sources:
            if source.norms and any(name in factors for name in source.parameters):
                raise ShapeMismatch(
                    f"a batch normalisation follows {_shown(source.parameters)}: it is folded only into"
                    " layers whose parameters are independent or fixed"
                )
            rows += [_rows(entry, factors, q) for entry in source.entries]
        return torch.cat(rows)

    def _check_names(self, means: Mapping[str, Tensor], deviations: Mapping[str, Tensor]) -> None:
        missing = [name for name in self.parameters + self.statistics if name not in means]
        if missing:
            raise ShapeMismatch(f"no mean of {_shown(missing)}; means are given of {_shown(means)}")
        for what, given in (("a mean", means), ("a deviation", deviations)):
            foreign = [name for name in given if name not in self.own and not name.endswith(COUNTER)]
            if foreign:
                raise ShapeMismatch(f"{what} of {_shown(foreign)}, but the model has {_shown(self.own)}")


@dataclass(frozen=True, eq=False)
class _Values:
    """Means and deviations by name."""

    means: Mapping[str, Tensor]
    deviations: Mapping[str, Tensor]

    def __call__(self, name: str, shape: tuple[int, ...]) -> Moments:
        """Those of one parameter, which must have this shape."""
        mean = as_double(f"the mean of {name}", self.means[name]).cpu()
        given = self.deviations.get(name)
        deviation = torch.zeros_like(mean)
        if given is not None:
            deviation = as_double(f"the deviation of {name}", given).cpu()
        for what, found in (("mean", mean), ("deviation", deviation)):
            if tuple(found.shape) != shape:
                raise ShapeMismatch(f"the {what} of {name} has the shape {tuple(found.shape)}, not {shape}")
        return mean, deviation

    def entry(self, entry: Entry) -> Moments:
        """Those of one parameter of a layer."""
        if entry.name is not None:
            return self(entry.name, entry.shape)
        fixed = torch.zeros(math.prod(entry.shape), dtype=torch.float64).reshape(entry.shape)
        return (fixed if entry.fixed is None else entry.fixed), fixed


class _Places(dict[str, int]):
    """Places by name; a name without one raises."""

    def __missing__(self, name: str) -> int:
        raise ShapeMismatch(
            f"{name} has no place of its own among the network's parameters: a batch normalisation follows"
            " it, or the model does not use it"
        )


def _rows(entry: Entry, factors: Mapping[str, Tensor], columns: int) -> Float64[Tensor, "n q"]:
    """The rows of a factor that belong to one parameter of a layer."""
    if entry.name is None or entry.name not in factors:
        return torch.zeros(math.prod(entry.shape), columns, dtype=torch.float64)
    own = as_double(f"the factor of {entry.name}", factors[entry.name]).cpu()
    if tuple(own.shape) != (*entry.shape, columns):
        raise ShapeMismatch(f"the factor of {entry.name} has the shape {tuple(own.shape)}")
    return own.reshape(-1, columns)


def _shown(names: object, most: int = 12) -> str:
    """Names for an error message."""
    found = list(names)  # type: ignore[call-overload]
    return (
        ", ".join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "") or "nothing"
    )
