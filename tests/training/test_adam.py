import subprocess
import sys

import pytest
import torch

from fedcert.randomness import stream
from fedcert.training.adam import Adam


def loss_of(a: torch.Tensor, b: torch.Tensor, t: int) -> torch.Tensor:
    """Steep in some coordinates, flat in others, and different at every step."""
    weights = torch.logspace(-6, 3, len(a))
    return (weights * (a - 1).square()).sum() + (a.sin() * b).sum() + (b - t).square().mean()


@pytest.mark.parametrize("rate", [1e-3, 0.1])
def test_steps_are_those_of_torch_to_the_last_bit(rate: float) -> None:
    generator = stream(0, "adam")
    start = [torch.randn(1001, generator=generator) for _ in range(2)]
    ours, theirs = ([own.clone().requires_grad_() for own in start] for _ in range(2))
    optimiser, reference = Adam(ours, rate), torch.optim.Adam(theirs, lr=rate)
    for t in range(50):
        optimiser.step(loss_of(*ours, t))
        reference.zero_grad()
        loss_of(*theirs, t).backward()
        reference.step()
    assert all(torch.equal(own, other) for own, other in zip(ours, theirs, strict=True))
    assert not torch.equal(ours[0], start[0])


def test_rows_that_are_kept_move_as_if_they_had_been_alone() -> None:
    start = torch.randn(5, 7, generator=stream(0, "rows"))
    both, alone = start.clone().requires_grad_(), start[:2].clone().requires_grad_()
    together, single = Adam([both], 0.1), Adam([alone], 0.1)
    for t in range(6):
        if t == 3:
            together.keep(2)
        together.step((together.parameters[0] - t).pow(4).sum())
        single.step((alone - t).pow(4).sum())
    assert torch.equal(together.parameters[0], alone)


@pytest.mark.slow
def test_training_does_not_import_the_compiler_of_torch() -> None:
    program = """
import sys, torch
from fedcert import mlp, stream
from fedcert.training.bayes_by_backprop import BayesByBackprop
network = mlp(2, 2)
x, label = torch.zeros(4, 2), torch.zeros(4, dtype=torch.int64)
BayesByBackprop(1)(network, x, label, network.initialise(stream(0, "i")), stream(0, "t"))
print([name for name in ("torch._dynamo", "scipy.stats", "sklearn", "matplotlib") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
