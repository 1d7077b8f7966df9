"""Rules that deploy a Gaussian law of their own, and names that such a law must deserve.

The claim is about N(M, G Gᵀ) with the numbers in the file; no bound relies on the name. A reader of the name
`pog` expects the product of the clients' densities, though, so what the file states is compared with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from fedcert_check.balls import Interval
from fedcert_check.blocks import DENSE, DIAGONAL, Block, BlockGaussian
from fedcert_check.errors import InvalidCertificate
from fedcert_check.laws import DiagonalGaussian, Law
from fedcert_check.published import (
    MAX_RANDOM,
    NEGLIGIBLE,
    PRODUCTS,
    SETTINGS,
    TOLERANCE,
    read_settings,
    rounding,
)
from fedcert_check.validation import Array, natural, require, require_fields, shaped

GAUSSIAN = "gaussian"
NAMES = (*PRODUCTS, "prior-corrected", "reverse-kl")
"""Laws that are products of densities."""
UNTOLD = 1e-3
"""A part of a deviation, or of a variance, below which double precision must tell laws apart at the worst."""


@dataclass(frozen=True)
class StatedGaussian:
    """Θ_g ~ N(M, G Gᵀ), independently of the clients' draws.

    Attributes:
        name: of a product of densities.
        clients: n.
        law: N(M, G Gᵀ).
        settings: what the law was made with.
    """

    name: str
    clients: int
    law: BlockGaussian
    settings: Mapping[str, Any]

    @classmethod
    def read(cls, entry: dict[str, Any], arrays: Mapping[str, Array], dimension: int) -> "StatedGaussian":
        """The rule of a claim.

        Args:
            entry: the rule's description.
            arrays: the certificate's tensors.
            dimension: n_w.
        """
        name, clients = entry["name"], entry["clients"]
        stated = {"settings"} if name in SETTINGS else set()
        require_fields(entry, {"type", "name", "clients", "start", *stated}, "a stated law")
        require(name in NAMES, f"a law that is stated for a rule is a {' or '.join(NAMES)}, not a {name}")
        loc = shaped("rule.loc", arrays.get("rule.loc"), np.float64, dimension)
        factor = shaped("rule.factor", arrays.get("rule.factor"), np.float64, None, None)
        require(
            factor.shape[1] <= MAX_RANDOM,
            f"a law of {factor.shape[1]} dependent parameters, more than {MAX_RANDOM}",
        )
        start, (rows, columns) = natural(entry["start"], 0, "the first parameter"), factor.shape
        block = Block(DENSE, start, rows, columns, factor.reshape(-1))
        require(block.stop <= dimension, f"a factor up to parameter {block.stop} of {dimension}")
        settings = read_settings(name, entry.get("settings"), clients)
        return cls(name, clients, BlockGaussian(loc, (block,)), settings)

    @property
    def nbytes(self) -> int:
        """The size of the rule's arrays."""
        return sum(array.nbytes for array in self.law.arrays)

    def image(self, boxes: Sequence[Interval]) -> NoReturn:
        """Raise: what is deployed is no function of the clients' parameters."""
        self.refuse()

    def deployed(self, laws: Sequence[DiagonalGaussian]) -> NoReturn:
        """Raise: the deployed parameters are not independent."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise, for claims about boxes, cells or the clients' draws."""
        raise InvalidCertificate(
            f"the rule {self.name} deploys a law of its own, no function of the clients' draws: no such claim"
            " can be made"
        )

    def require_deserved(self, laws: Sequence[Law]) -> None:
        """Raise unless N(M, G Gᵀ) is the product of the clients' densities, up to rounding.

        With K_i such that C_i^-1 = K_iᵀ K_i, the precision is P = Σ_i w_i K_iᵀ K_i − (n − 1)/σ_0², so that
        Gᵀ P G = 1, numbers without units. The mean is c + G Gᵀ (Σ_i w_i K_iᵀ K_i (μ_i − c) + (n − 1)/σ_0² c)
        for any c. Each parameter's is held against its own deviation and its own values, since G may be any
        root, whose columns mix parameters.

        Args:
            laws: of the clients.
        """
        (block,) = self.law.blocks
        random = np.zeros(len(self.law.loc), dtype=bool)
        random[block.start : block.stop] = block.matrix.any(1)
        G = block.matrix[random[block.start : block.stop]]
        require(
            G.shape[0] == G.shape[1],
            f"the rule {self.name}: a factor of {G.shape[1]} columns for {len(G)} random parameters",
        )
        weights = np.asarray(self.settings.get("weights", np.ones((self.clients, 1))))[:, 0]
        scale = np.float64(self.settings.get("prior_scale", np.inf))
        with np.errstate(all="ignore"):  # whatever is not a number is not within the tolerance
            locs = np.stack([np.asarray(law.components[0].loc) for law in laws])
            average = np.average(locs, axis=0, weights=weights)
            centre, prior = average[random], (self.clients - 1) / scale**2
            found, pull, size = -prior * (G.T @ G), prior * centre, prior * abs(centre)
            for w, law in zip(weights.tolist(), laws, strict=True):
                loc, factor = _moments(law, random, self.name)
                K = _root_of_precision(factor, self.name)
                seen, away = K @ G, loc[random] - centre
                found, pull = found + w * (seen.T @ seen), pull + w * (K.T @ (K @ away))
                size = size + w * (abs(K.T) @ (abs(K) @ abs(away)))
            values = rounding(len(laws)) * len(laws) ** 0.5 * abs(locs[weights > 0]).max(0)
            deviation = np.sqrt((G**2).sum(1))
            allowed = values[random] + NEGLIGIBLE * deviation
            lost = rounding(len(G)) * (abs(G) @ (abs(G.T) @ size))  # by this very computation
            expected = centre + G @ (G.T @ pull)
            same = bool((abs(found - np.eye(len(G))) <= TOLERANCE).all())
            same &= bool((abs(self.law.loc[random] - expected) <= allowed).all())
            same &= bool((lost <= UNTOLD * deviation + values[random]).all())
            same &= bool((abs(self.law.loc - average) <= values)[~random].all())
        require(same, f"the rule is called {self.name} and does not deploy that law of these clients")


def _moments(law: Law, random: Array, name: str) -> tuple[Array, Array]:
    """A client's mean, and a factor of its covariance on the random parameters, which must be its own."""
    require(len(law.components) == 1, f"{name} is made from one Gaussian of each client")
    (own,) = law.components
    size = len(random)
    if isinstance(own, DiagonalGaussian):
        own = BlockGaussian(own.loc, (Block(DIAGONAL, 0, size, 1, own.scale),))
    columns, theirs = [], np.zeros(size, dtype=bool)
    for block in own.blocks:
        require(block.code in (DIAGONAL, DENSE), f"{name} has no proof for a Kronecker-factored law")
        theirs[block.start : block.stop] |= block.matrix.any(1)
    require(bool((theirs == random).all()), f"the rule {name} leaves other parameters random than a client")
    places = np.flatnonzero(random)
    every = sum(block.first if block.code == DIAGONAL else block.second for block in own.blocks)
    require(every <= 4 * MAX_RANDOM, f"{name}: {every} normals of one client, more than {4 * MAX_RANDOM}")
    for block in own.blocks:
        inside = np.flatnonzero((places >= block.start) & (places < block.stop))
        rows = block.matrix[places[inside] - block.start]
        part = np.zeros((len(places), len(inside) if block.code == DIAGONAL else block.second))
        if block.code == DIAGONAL:
            part[inside, range(len(inside))] = rows[:, 0]
        else:
            part[inside] = rows
        columns.append(part)
    return own.loc, np.concatenate(columns, axis=1)


def _root_of_precision(factor: Array, name: str) -> Array:
    """K with C^-1 = KᵀK for C = F Fᵀ: the transposed inverse of the triangle R of Fᵀ = Q R."""
    require(factor.shape[1] >= len(factor), f"{name}: a client's covariance is singular")
    triangle: Array = np.linalg.qr(factor.T, mode="r")  # type: ignore[assignment]
    unit = np.eye(len(triangle))
    try:
        root = np.asarray(np.linalg.solve(triangle.T, unit))
    except np.linalg.LinAlgError as error:
        raise InvalidCertificate(f"{name}: a client's covariance is singular") from error
    with np.errstate(all="ignore"):
        seen, size = root @ factor, abs(root) @ abs(factor)
        close = bool((abs(seen @ seen.T - unit) <= TOLERANCE).all())
        told = bool((rounding(sum(factor.shape)) * (size**2).sum(1) <= UNTOLD).all())
    require(close and told, f"{name}: double precision cannot invert a client's covariance")
    return root
