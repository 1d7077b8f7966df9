"""One affine layer under a law: what the network sees of its random weights.

A layer computes a = (M + W̃) h + m + b̃ with means M, m and centred noise W̃, b̃. Bounds of the network need M
and m through products with rows B, and the noise through the scalar B·(W̃ h + b̃) alone: its deviation at a
point, and its supremum over inputs that move. A law that answers these questions can be certified.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeGuard, runtime_checkable

from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.covariance import Covariance

MAX_NORMAL = 40.0
"""No standard normal of a network is farther from 0 than this, except with probability `FAR_NORMALS`."""
FAR_NORMALS = 2.0**-1000
"""Above 2 n_w Q(40) for any network that fits into a machine: Q(40) < 2^-1159."""
UNDERFLOW = 2.0**-480
"""Times a scale: far above the square root of a sum of underflows."""


class Outputs(NamedTuple):
    """μ + t Z at a point, for each output of a layer; the exact law's values are within `error` of these.

    That holds for the same Z, unless one of the |Z| exceeds `MAX_NORMAL`.

    Attributes:
        mean: μ.
        deviation: t; 0 where nothing that the output depends on is random.
        error: bound of the distance.
    """

    mean: Float64[Tensor, "P m"]
    deviation: Float64[Tensor, "P m"]
    error: Float64[Tensor, "P m"]


@dataclass(frozen=True)
class MovedInputs:
    """v(x) with |v| ≤ δ and |v_k(x) − v_k(y)| ≤ L_k |Δ_k(x) − Δ_k(y)|: how a region moves what a layer reads.

    Attributes:
        delta: δ.
        steepness: L: 0 for what cannot move, 1 for all else.
        layer: the layer before, whose outputs Δ moves.
        inputs: bounds of what moves that layer's inputs.
    """

    delta: Float64[Tensor, "P k"]
    steepness: Float64[Tensor, "P k"]
    layer: "RandomAffine"
    inputs: Float64[Tensor, "P p"]


@runtime_checkable
class RowNoise(Protocol):
    """B·(W̃ h + b̃) for rows B: Gaussian for every fixed h.

    `weight` and `bias` bound the deviations of (B W̃)_k and of B·b̃, which may depend on each other.
    """

    @property
    def weight(self) -> Float64[Tensor, "P R k"]:
        """Bounds of the deviations of B W̃, input by input."""
        ...

    @property
    def bias(self) -> Float64[Tensor, "P R"]:
        """Bounds of the deviations of B·b̃."""
        ...

    def at(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """Bounds of the deviations at fixed inputs h."""
        ...

    def within(self, lower: Float64[Tensor, "P k"], upper: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """Bounds of the deviations at all inputs between lower and upper."""
        ...

    def over(self, delta: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """Bounds of sup |B W̃ v| over |v| ≤ δ, but for Q(u)."""
        ...

    def over_moved(self, moved: MovedInputs, u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """Bounds of sup_x B W̃ v(x), and of sup_x −B W̃ v(x), for noise independent of the layers before.

        They fail with a probability of at most 2 Q(u) each, and of 3 Q(u) together.
        """
        ...


@runtime_checkable
class IndependentRowNoise(RowNoise, Protocol):
    """Noise whose parts (B W̃)_k and B·b̃ are independent of each other."""

    def at_rectified(
        self, mean: Float64[Tensor, "P k"], deviation: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]
    ) -> Float64[Tensor, "P R"]:
        """Bounds of the deviations given h, for h_k = relu(μ_k + t_k Z_k), Z independent, but for Q(u).

        Upper bounds of μ and t may be given.
        """
        ...


@runtime_checkable
class CarriedNoise(RowNoise, Protocol):
    """Noise whose law is known along every direction: N·t for N = B W̃ and fixed t.

    `along`, `covariances` and `steepest` speak of one law, whose variances are nowhere smaller than those of
    the noise; `at_least` speaks of the noise itself.
    """

    def at_least(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """Lower bounds of the deviations at fixed inputs h."""
        ...

    def along(self, directions: Float64[Tensor, "P k J"]) -> Float64[Tensor, "P R J"]:
        """Bounds of the deviations of N·t, for each column t."""
        ...

    def covariances(
        self, h: Float64[Tensor, "P k"]
    ) -> tuple[Float64[Tensor, "P R k"], Float64[Tensor, "P R k"]]:
        """Cov(N_k, N·h + N_b) at fixed inputs h, and bounds of its error."""
        ...

    def steepest(self, delta: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """Bounds of the deviations of N·v for all |v| ≤ δ."""
        ...


@runtime_checkable
class RandomAffine(Protocol):
    """One affine layer under a law.

    Its noise is independent of that of all other layers, unless it is a `JoinedAffine`.

    Attributes:
        inputs: k, how many numbers the layer reads.
        outputs: m, how many it computes.
        independent: whether the noise of different outputs, and of different inputs, is independent.
        fixed_weights: whether W is known: W̃ = 0.
        fixed: whether the whole layer is: b̃ = 0, too.
    """

    @property
    def inputs(self) -> int:
        """k, how many numbers the layer reads."""
        ...

    @property
    def outputs(self) -> int:
        """m, how many numbers the layer computes."""
        ...

    @property
    def independent(self) -> bool:
        """Whether the noise of different outputs, and of different inputs, is independent."""
        ...

    @property
    def fixed_weights(self) -> bool:
        """Whether W is known: no event about W̃ can fail."""
        ...

    @property
    def fixed(self) -> bool:
        """Whether W and b are known."""
        ...

    def product(
        self, rows: Float64[Tensor, "*batch m"]
    ) -> tuple[Float64[Tensor, "*batch k"], Float64[Tensor, "*batch k"]]:
        """B M for rows B, and a bound of its distance from the exact law's."""
        ...

    def offset(
        self, rows: Float64[Tensor, "*batch m"]
    ) -> tuple[Float64[Tensor, "*batch"], Float64[Tensor, "*batch"]]:
        """B·m for rows B, and a bound of its distance from the exact law's."""
        ...

    def noise(self, rows: Float64[Tensor, "P R m"]) -> RowNoise:
        """B·(W̃ h + b̃) for rows B."""
        ...

    def ceiling(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P m"]:
        """A crude bound of |W h + b|, for inputs up to h and normals up to `MAX_NORMAL`."""
        ...

    def at(self, x: Float64[Tensor, "P k"]) -> Outputs:
        """The law of each output at a fixed input x.

        Where `independent` is false, `deviation` only bounds from above, and `error` is that of the mean.
        """
        ...

    def movement(
        self, rows: Float64[Tensor, "P R m"], radius: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]
    ) -> Float64[Tensor, "P R"]:
        """A bound of sup |B W v| over |v| ≤ δ, mean and noise, but for Q(u) a row."""
        ...

    def spread_inputs(
        self, rows: Float64[Tensor, "P R m"], inputs: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]
    ) -> Float64[Tensor, "P R"]:
        """About Σ_j δ_j √Σ_k B_k² W_kj², from above but for rounding and for Q(u)."""
        ...


@runtime_checkable
class IndependentAffine(RandomAffine, Protocol):
    """A layer whose weights and biases are independent: the exact treatment of the first layer needs it."""

    def noise(self, rows: Float64[Tensor, "P R m"]) -> IndependentRowNoise:
        """B·(W̃ h + b̃) for rows B."""
        ...

    def looseness(self, deviation: Float64[Tensor, "*batch"]) -> Float64[Tensor, "*batch"]:
        """A bound of what a deviation of `noise` exceeds the exact law's by."""
        ...

    def movement(
        self,
        rows: Float64[Tensor, "P R m"],
        radius: Float64[Tensor, "P k"],
        u: Float64[Tensor, "P"],
        shaking: Float64[Tensor, "P R m"] | None = None,
    ) -> Float64[Tensor, "P R"]:
        """A bound of sup |B W v| over |v| ≤ δ, mean and noise, but for Q(u) a row.

        With `shaking`, of E sup |(B + N) W v|, the mean over independent normals N of these deviations.
        """
        ...


@runtime_checkable
class JoinedAffine(RandomAffine, Protocol):
    """A layer whose noise may depend on that of the other layers of the same law.

    Σ_l B_l·(W̃_l h_l + b̃_l) is then one projection c·θ̃ of all parameters, for fixed inputs h_l.
    """

    @property
    def joint(self) -> Covariance:
        """The covariance of all layers' parameters, layer by layer."""
        ...

    def coefficients(
        self, rows: Float64[Tensor, "P R m"], h: Float64[Tensor, "P k"]
    ) -> tuple[Float64[Tensor, "P R n"], Float64[Tensor, "P R n"]]:
        """This layer's part of c: its parameters in B·(W̃ h + b̃), and bounds of what cancelling sums lose.

        One rounding of each coefficient is the covariance's to charge.
        """
        ...


def independent(layers: Sequence[RandomAffine]) -> TypeGuard[Sequence[IndependentAffine]]:
    """Whether all weights and biases of these layers are independent.

    Args:
        layers: of a network.
    """
    return all(isinstance(layer, IndependentAffine) and layer.independent for layer in layers)
