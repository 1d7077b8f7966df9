"""Posteriors that others released, as networks and laws of ours.

All of them state a mean and one more number for each kernel and bias, in the order of Keras: kernels are
(inputs, outputs), ours (outputs, inputs). The second number is read as a deviation, because each verifier
draws weights and measures intervals with it as one: `sample_net` and `single_erf` of Batten et al.,
`gen_samples` and `compute_erf_prob` of Wicker et al. 2020, `PosteriorModel.sample` and `compute_erf_prob` of
their journal version. The training scripts of 2020, however, store the *variance* under that name, and Batten
et al. took some of the networks over: `variances=True` answers for the posterior that was trained, not for
the one that was verified.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from published_pickles import read_arrays

from fedcert.model.network import Network, mlp

Layers = Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]
"""Kernel and bias of each layer, as Keras orders them."""

ADDED = 1e-9
"""What the verifier of the journal version adds to every deviation, so that none is 0."""


@dataclass(frozen=True)
class Released:
    """A released posterior.

    Attributes:
        name: depth × width, and what else tells it apart.
        path: the file or folder that it was read from.
        network: the network.
        means: of all parameters, in our order.
        deviations: likewise.
    """

    name: str
    path: Path
    network: Network
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]


def from_keras(means: Layers, deviations: Layers) -> tuple[Network, NDArray[np.float64], NDArray[np.float64]]:
    """A network of linear layers with ReLUs between, its means and its deviations.

    Args:
        means: of each layer's kernel and bias.
        deviations: likewise.
    """
    if len(means) != len(deviations) or not means:
        raise ValueError(f"means of {len(means)} layers, deviations of {len(deviations)}")
    widths = [means[0][0].shape[0]]
    for kernel, bias in means:
        if kernel.shape != (widths[-1], *bias.shape) or bias.ndim != 1:
            raise ValueError(f"a kernel {kernel.shape} and a bias {bias.shape} after {widths[-1]} neurons")
        widths.append(bias.shape[0])
    for own, other in zip(means, deviations, strict=True):
        if any(a.shape != b.shape for a, b in zip(own, other, strict=True)):
            raise ValueError("deviations have other shapes than means")
    loc, scale = _flat(means), _flat(deviations)
    if not np.isfinite(loc).all() or not (np.isfinite(scale) & (scale >= 0)).all():
        raise ValueError("means must be finite, and deviations too and not negative")
    return mlp(*widths), loc, scale


def _flat(layers: Layers) -> NDArray[np.float64]:
    parts = [part.ravel() for kernel, bias in layers for part in (kernel.T, bias)]
    return np.concatenate(parts).astype(np.float64)


def _pairs(arrays: Sequence[NDArray[np.float32]]) -> Layers:
    if len(arrays) % 2:
        raise ValueError(f"{len(arrays)} arrays are no kernels and biases")
    return list(zip(arrays[::2], arrays[1::2], strict=True))


def _released(name: str, path: Path, means: Layers, stored: Layers, variances: bool) -> Released:
    deviations = [(np.sqrt(k), np.sqrt(b)) for k, b in stored] if variances else stored
    return Released(name, path, *from_keras(means, deviations))


def batten(checkout: Path, variances: bool = False) -> Iterator[Released]:
    """MNIST networks of "Tight Verification of Probabilistic Robustness in Bayesian Neural Networks".

    Args:
        checkout: a clone of benbatten/TightVerificationOfProbabilisticRobustnessInBNNs.
        variances: whether the numbers beside the means are variances.
    """
    for path in _found(checkout, "verifier/Networks/MNIST/*.h5"):
        named = re.fullmatch(r"(?:wick_MNIST|MNIST_MLP)_(\d+)_(\d+)", path.stem)
        if named:
            means, stored = ([tuple(layer) for layer in one] for one in read_arrays(path))
            yield _released("{}×{}".format(*named.groups()), path, means, stored, variances)


def wicker2020(checkout: Path, variances: bool = False) -> Iterator[Released]:
    """MNIST networks of "Probabilistic Safety for Bayesian Neural Networks".

    Args:
        checkout: a clone of matthewwicker/ProbabilisticSafetyforBNNs.
        variances: whether the numbers beside the means are variances.
    """
    for depth, folder in ((1, "concurMNIST"), (2, "concurMNIST2")):
        for path in _found(checkout, f"MNIST/{folder}/MNIST_Networks/VIMODEL_MNIST_{depth}_*_relu.net.npz"):
            arrays = read_arrays(path)
            half, width = len(arrays) // 2, path.name.split("_")[3]
            yield _released(f"{depth}×{width}", path, _pairs(arrays[:half]), _pairs(arrays[half:]), variances)


def wicker2021(checkout: Path) -> Iterator[Released]:
    """MNIST networks of "Adversarial Robustness Certification for Bayesian Neural Networks".

    Args:
        checkout: a clone of matthewwicker/AdversarialRobustnessCertificationForBNNs.
    """
    for path in _found(checkout, "MNIST/Posteriors/*_FCN_Posterior_*_*_*_*_*/mean.npy"):
        method, width, depth, _attack, share, radius = re.split("_FCN_Posterior_|_", path.parent.name)
        means, stored = (read_arrays(path.with_name(name)) for name in ("mean.npy", "var.npy"))
        positive = [one.astype(np.float64) + ADDED for one in stored]
        name = f"{method} {depth}×{width} λ={share} ε={radius}"  # of adversarial training
        yield _released(name, path.parent, _pairs(means), _pairs(positive), variances=False)


def _found(checkout: Path, pattern: str) -> list[Path]:
    """Files in the order of the numbers in their names."""
    if not checkout.is_dir():
        raise FileNotFoundError(f"{checkout}: no such folder; clone the repository there")
    files = checkout.glob(pattern)
    return sorted(files, key=lambda path: [int(n) for n in re.findall(r"\d+", path.as_posix())])
