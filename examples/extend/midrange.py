"""A rule of your own: the coordinate-wise midrange, halfway between the least and the greatest value."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedcert import Box, DiagonalGaussian, IntervalVerifier, Safe, linf_robustness, mlp
from fedcert.errors import ShapeMismatch
from fedcert.families.mean_box.certify import certify_boxes
from fedcert.families.mean_box.events import MeanBox
from fedcert.numerics.rounding import down, up
from fedcert.rules import RuleBuilder, RuleContext, build_rule, register_rule, register_rule_type


@dataclass(frozen=True)
class Midrange:
    """Each coordinate of (min_i θ_i + max_i θ_i) / 2 is continuous and non-decreasing in every θ_i."""

    clients: int
    name: str = "midrange"

    def __call__(self, thetas: Sequence[Tensor]) -> Tensor:
        """The parameters, in floating point."""
        return self._twice(thetas) / 2

    def image(self, boxes: Sequence[Box]) -> Box:
        """[A(ℓ_1, …, ℓ_n), A(u_1, …, u_n)]; the sum and its half are moved one float outward each."""
        lower, upper = self._twice([b.lower for b in boxes]), self._twice([b.upper for b in boxes])
        return Box(down(down(lower) / 2), up(up(upper) / 2))

    def to(self, device: torch.device | str) -> "Midrange":
        """The same rule; it holds no tensors."""
        return self

    def describe(self) -> tuple[dict[str, str | int], dict[str, Tensor]]:
        """What a certificate file says of the rule."""
        return {"type": "midrange", "name": self.name, "clients": self.clients}, {}

    def _twice(self, values: Sequence[Tensor]) -> Tensor:
        if len(values) != self.clients or len({value.shape for value in values}) > 1:
            raise ShapeMismatch(f"{self.clients} clients with one network, not {[v.shape for v in values]}")
        return torch.stack(list(values)).amin(0) + torch.stack(list(values)).amax(0)


register_rule(RuleBuilder("midrange", lambda context: Midrange(context.clients)))
register_rule_type("midrange", lambda header, _: Midrange(header["clients"], header["name"]))

if __name__ == "__main__":
    theta = torch.tensor([3, 0, 0, 3, 0, 0], dtype=torch.float64)  # the larger input is the class
    laws = [DiagonalGaussian(theta + 0.1 * i, torch.full_like(theta, 0.05)) for i in range(3)]
    properties = linf_robustness(torch.tensor([[0.7, 0.3]]), torch.tensor([0]), 0.01, classes=2)
    rule = build_rule("midrange", RuleContext(laws, sizes=[100, 100, 100]))
    print(certify_boxes(laws, rule, Safe(mlp(2, 2), properties, IntervalVerifier()), MeanBox()))
