import pytest
import torch
from torch import Tensor
from torch.nn.functional import nll_loss

from fedcert.model.network import mlp
from fedcert.randomness import stream
from fedcert.training import fisher
from fedcert.training.fisher import diagonal_fisher

NETWORK = mlp(3, 4, 3)
THETA = NETWORK.initialise(stream(0, "fisher")).double()
X = torch.randn(7, 3, generator=stream(1, "fisher")).double()


def by_backpropagation(x: Tensor) -> Tensor:
    """One gradient for each input and label, weighted by the label's probability."""
    total = torch.zeros_like(THETA)
    for one in x:
        for k in range(NETWORK.outputs):
            theta = THETA.clone().requires_grad_()
            log_p = NETWORK(theta, one[None]).log_softmax(-1)
            nll_loss(log_p, torch.tensor([k])).backward()
            assert theta.grad is not None
            total += log_p[0, k].exp().item() * theta.grad.square()
    return total / len(x)


@pytest.mark.parametrize("held", [1, 10**3, 2**24])
def test_the_fisher_information_is_that_of_gradients_one_by_one(
    held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fisher, "MAX_HELD_ELEMENTS", held)
    torch.testing.assert_close(diagonal_fisher(NETWORK, THETA, X), by_backpropagation(X), rtol=1e-12, atol=0)


def test_it_is_the_diagonal_of_the_gauss_newton_matrix() -> None:
    total = torch.zeros_like(THETA)
    for one in X:
        J = torch.autograd.functional.jacobian(lambda theta, one=one: NETWORK(theta, one[None])[0], THETA)
        p = NETWORK(THETA, one[None])[0].softmax(-1)
        total += (J.T @ (p.diag() - p.outer(p)) @ J).diag()
    torch.testing.assert_close(diagonal_fisher(NETWORK, THETA, X), total / len(X), rtol=1e-10, atol=1e-15)


def test_logistic_regression_has_the_textbook_information() -> None:
    """Two classes and one input: p (1 − p) x² for both weights, p (1 − p) for both biases."""
    theta, x = torch.tensor([0.7, -0.4, 0.2, 0.1]).double(), torch.tensor([[1.5], [-2.0]]).double()
    p = torch.sigmoid(1.1 * x.squeeze(-1) + 0.1)
    weight, bias = (p * (1 - p) * x.squeeze(-1) ** 2).mean(), (p * (1 - p)).mean()
    found = diagonal_fisher(mlp(1, 2), theta, x)
    torch.testing.assert_close(found, torch.stack([weight, weight, bias, bias]), rtol=1e-6, atol=0)
