"""Laws by laplace-torch against the curvature, written down by hand."""

import sys
from typing import Any

import pytest
import torch
from integrations import library
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from fedcert.data.digits import digits
from fedcert.errors import InvalidLaw, MissingLibrary, UnsupportedLayer
from fedcert.laws import BlockGaussian
from fedcert.laws.blocks import DenseBlock, KroneckerBlock
from fedcert.model.layers import AvgPool2d, Conv2d, Linear
from fedcert.model.network import Network, cnn, mlp
from fedcert.randomness import stream
from fedcert.training.laplace import Laplace
from fedcert.training.protocol import Trainer
from fedcert.training.structured_laplace import StructuredLaplace

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
MLP, CNN = mlp(64, 5, 10), cnn((1, 8, 8), (2, 3), 10)
QUICK = Laplace(epochs=6, batch_size=32, learning_rate=1e-2, kl_coefficient=1e-3, prior_precision=30.0)
EXAMPLES = digits().subset(300, 10, stream(0, "subset"))[0]
X, LABEL = EXAMPLES.x.float(), EXAMPLES.label


@pytest.fixture
def laplace() -> Any:
    return library("laplace")


def train(network: Network, structure: Any, method: Laplace = QUICK) -> BlockGaussian:
    initial = network.initialise(stream(0, "initialisation"))
    return StructuredLaplace(method, structure)(network, X, LABEL, initial, stream(0, "training"))


def of_last_layer(network: Network, law: BlockGaussian) -> tuple[int, Tensor, Tensor]:
    """Where the last layer's parameters begin, the features, and diag p − p pᵀ of each example."""
    before = Network(network.layers[:-1])
    features = before(law.loc[: before.parameters], X.double())
    p = network(law.loc, X.double()).softmax(-1)
    return before.parameters, features, p.diag_embed() - p.unsqueeze(-1) * p.unsqueeze(-2)


def covariance(block: Any) -> Tensor:
    if isinstance(block, KroneckerBlock):
        factor = torch.kron(block.left, block.right) * block.scale.flatten()
        return factor @ factor.mT
    return block.factor @ block.factor.mT


def assert_inverse(covariance: Tensor, precision: Tensor) -> None:
    product = covariance @ precision
    torch.testing.assert_close(product, torch.eye(len(product)).double(), rtol=0, atol=1e-5)


def full_precision(features: Tensor, outputs: Tensor, beta: float, delta: float) -> Tensor:
    """Mean over examples of Jᵀ (diag p − p pᵀ) J, over β, and δ: weights first, then biases."""
    seen = torch.cat([features, torch.ones_like(features[:, :1])], -1)
    curvature = torch.einsum("nab,nk,nl->akbl", outputs, seen, seen) / len(seen) / beta
    k, m = features.shape[1], outputs.shape[1]
    order = [a * (k + 1) + j for a in range(m) for j in range(k)] + [a * (k + 1) + k for a in range(m)]
    matrix = curvature.reshape(m * (k + 1), -1)[order][:, order]
    return matrix + delta * torch.eye(len(matrix)).double()


@pytest.mark.usefixtures("laplace")
@pytest.mark.parametrize("network", [MLP, CNN], ids=["mlp", "cnn"])
def test_the_full_last_layer_is_that_of_the_gauss_newton_matrix(network: Network) -> None:
    law = train(network, "last-layer-full")
    start, features, outputs = of_last_layer(network, law)
    (block,) = law.blocks
    assert isinstance(block, DenseBlock)
    assert (block.start, block.start + block.size) == (start, network.parameters)
    assert_inverse(covariance(block), full_precision(features, outputs, 1e-3, 30.0))


@pytest.mark.usefixtures("laplace")
@pytest.mark.parametrize("network", [MLP, CNN], ids=["mlp", "cnn"])
def test_the_kronecker_factors_of_the_last_layer_are_means_over_examples(network: Network) -> None:
    law = train(network, "last-layer-kron")
    start, features, outputs = of_last_layer(network, law)
    weight, bias = law.blocks
    B, A = outputs.mean(0), features.mT @ features / len(features)
    assert (weight.start, bias.start) == (start, start + weight.size)
    precision = torch.kron(B, A) / 1e-3
    assert_inverse(covariance(weight), precision + 30 * torch.eye(len(precision)).double())
    assert_inverse(covariance(bias), B / 1e-3 + 30 * torch.eye(10).double())


@pytest.mark.usefixtures("laplace")
def test_all_layers_have_kronecker_factors() -> None:
    law = train(MLP, "kron")
    last = train(MLP, "last-layer-kron")
    assert [own.start for own in law.blocks] == [0, 320, 325, 375]
    assert torch.equal(law.loc, last.loc)
    for own, alone in zip(law.blocks[2:], last.blocks, strict=True):
        torch.testing.assert_close(covariance(own), covariance(alone))
    inputs = X.double().mT @ X.double() / len(X)
    torch.testing.assert_close(law.blocks[0].right @ law.blocks[0].right.mT, torch.eye(64).double())
    in_basis = law.blocks[0].right.mT @ inputs @ law.blocks[0].right
    assert (in_basis - in_basis.diagonal().diag()).abs().max() < 1e-6 * inputs.diagonal().max()


@pytest.mark.usefixtures("laplace")
def test_kernels_have_the_kronecker_factors_that_the_library_draws_with(laplace: Any) -> None:
    law = train(CNN, "kron")
    assert [(own.start, own.size) for own in law.blocks] == [
        (own.start, own.size) for own in StructuredLaplace(QUICK, "kron").untrained(CNN, law.loc).blocks
    ]
    module = nn.Sequential(
        nn.Conv2d(1, 2, 4, 2, 1),
        nn.ReLU(),
        nn.Conv2d(2, 3, 4, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(12, 10),
    ).double()
    nn.utils.vector_to_parameters(law.loc, module.parameters())
    la = laplace.Laplace(
        module, "classification", "all", "kron", prior_precision=30.0, temperature=len(X) * 1e-3
    )
    la.fit(DataLoader(TensorDataset(X.double().unflatten(-1, (1, 8, 8)), LABEL), batch_size=len(X)))
    stated = la.posterior_precision.to_matrix(-1)
    for own in law.blocks:
        place = slice(own.start, own.start + own.size)
        torch.testing.assert_close(covariance(own), stated[place, place].double(), rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("structure", ["last-layer-full", "last-layer-kron"])
def test_the_prior_maximises_the_marginal_likelihood_of_the_library(laplace: Any, structure: str) -> None:
    chosen = Laplace(epochs=6, batch_size=32, learning_rate=1e-2, kl_coefficient=1e-3)
    law = train(MLP, structure, chosen)
    start, features, _ = of_last_layer(MLP, law)
    delta = 1 / torch.linalg.eigvalsh(covariance(law.blocks[0])).max().item()  # logits may all be shifted
    head = nn.Sequential(nn.Linear(5, 10)).double()
    nn.utils.vector_to_parameters(law.loc[start:], head.parameters())
    la = laplace.Laplace(head, "classification", "all", structure[11:], temperature=len(X) * 1e-3)
    la.fit(DataLoader(TensorDataset(features, LABEL), batch_size=len(X)))
    evidence = [la.log_marginal_likelihood(torch.tensor(delta * by)).item() for by in (0.95, 1.0, 1.05)]
    assert evidence[1] > max(evidence[0], evidence[2])


@pytest.mark.usefixtures("laplace")
def test_the_mode_is_that_of_the_diagonal_law_and_nothing_else_is_random() -> None:
    law = train(CNN, "last-layer-full")
    initial = CNN.initialise(stream(0, "initialisation"))
    assert torch.equal(law.loc, QUICK(CNN, X, LABEL, initial, stream(0, "training")).loc)
    state = torch.random.get_rng_state()
    again = train(CNN, "last-layer-full")
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(law.blocks[0].factor, again.blocks[0].factor)
    fixed = Network(CNN.layers[:-1]).parameters
    drawn = law.sample(5, stream(0, "drawn"))
    assert torch.equal(drawn[:, :fixed], law.loc[:fixed].expand(5, -1))
    assert (drawn[:, fixed:] != law.loc[fixed:]).any(0).all()


@pytest.mark.usefixtures("laplace")
@pytest.mark.parametrize("structure", ["kron", "last-layer-kron", "last-layer-full"])
def test_what_is_known_before_training_is_about_the_same_parameters(structure: Any) -> None:
    trainer = StructuredLaplace(QUICK, structure)
    assert isinstance(trainer, Trainer)
    law, before = train(MLP, structure), trainer.untrained(MLP, torch.zeros(MLP.parameters).double())
    assert [(own.start, own.size) for own in law.blocks] == [(own.start, own.size) for own in before.blocks]


@pytest.mark.usefixtures("laplace")
def test_laws_that_nothing_certifies_are_refused() -> None:
    pooled = Network((Conv2d((1, 8, 8), 2, (3, 3)), AvgPool2d((2, 6, 6), (2, 2), (2, 2)), Linear(18, 10)))
    with pytest.raises(UnsupportedLayer, match="kron: there is no law for the weights of AvgPool2d"):
        train(pooled, "kron")
    wide = mlp(64, 1000, 10)
    with pytest.raises(InvalidLaw, match="last-layer-full: 10010 random parameters"):
        StructuredLaplace(QUICK, "last-layer-full").untrained(wide, torch.zeros(wide.parameters).double())


def test_a_missing_library_is_named_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "laplace", None)
    with pytest.raises(MissingLibrary, match=r"pip install 'fedcert\[laplace\]'"):
        train(MLP, "kron", Laplace(epochs=10**9))
