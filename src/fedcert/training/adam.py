"""Adam (Kingma and Ba, 2015), to the last bit as torch.optim computes it on a processor.

torch.optim imports torch's compiler when an optimiser is made, which takes as long as importing torch itself.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


class Adam:
    """θ ← θ − α m̂ / (√v̂ + ε) with running means m of the gradient and v of its square, bias corrected.

    Attributes:
        parameters: the tensors that are moved, in place.
        rate: α, the learning rate.
        steps: t, how many steps were taken.
    """

    FIRST, SECOND, EPSILON = 0.9, 0.999, 1e-8

    def __init__(self, parameters: Sequence[Tensor], rate: float) -> None:
        self.parameters = list(parameters)
        self.rate, self.steps = rate, 0
        self._moments = [(torch.zeros_like(own), torch.zeros_like(own)) for own in self.parameters]

    def step(self, loss: Tensor) -> None:
        """Take one step down the gradient of a loss.

        Args:
            loss: a scalar, computed from the parameters.
        """
        self.descend(torch.autograd.grad(loss, self.parameters))

    @torch.no_grad()
    def descend(self, gradients: Sequence[Tensor]) -> None:
        """Take one step down given gradients.

        Args:
            gradients: of the parameters.
        """
        self.steps += 1
        size = self.rate / (1 - self.FIRST**self.steps)
        second = (1 - self.SECOND**self.steps) ** 0.5
        for own, gradient, (mean, square) in zip(self.parameters, gradients, self._moments, strict=True):
            mean.lerp_(gradient, 1 - self.FIRST)
            square.mul_(self.SECOND).addcmul_(gradient, gradient, value=1 - self.SECOND)
            own.addcdiv_(mean, square.sqrt().div_(second).add_(self.EPSILON), value=-size)

    def keep(self, rows: int) -> None:
        """Go on with the first rows of every parameter alone.

        Args:
            rows: how many.
        """
        self.parameters = [own.detach()[:rows].requires_grad_() for own in self.parameters]
        self._moments = [(mean[:rows], square[:rows]) for mean, square in self._moments]
