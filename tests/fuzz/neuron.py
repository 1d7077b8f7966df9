"""The exact tail of a linear form in one rectified Gaussian neuron, by integration in ball arithmetic."""

import math
from dataclasses import dataclass, replace

from flint import acb, arb

from fuzz.balls import precision, tail


@dataclass(frozen=True)
class Neuron:
    """g + (A + N) h + N_b with h = relu(μ + t Z), N of deviation r and N_b of deviation r_b."""

    constant: arb
    coefficient: arb
    noise: arb
    bias_noise: arb
    mean: arb
    deviation: arb

    def shifted(self, by: float) -> "Neuron":
        with precision(200):
            return replace(self, constant=self.constant + arb(by))

    def rough(self) -> tuple[float, float]:
        """About its mean and its deviation."""
        h = max(float(self.mean), 0.0)
        parts = (self.coefficient * self.deviation, self.noise * h, self.bias_noise)
        return float(self.constant + self.coefficient * h), math.hypot(*(float(part) for part in parts))

    def tail(self) -> arb:
        """Pr(form ≤ 0), from below by what lies more than 12 deviations out: given h it is Gaussian."""
        with precision(64):
            start = max(float(-self.mean / self.deviation) + 1e-9, -12.0)

            def integrand(z: acb, _: bool) -> acb:
                h = self.mean + self.deviation * z
                spread = (self.noise * self.noise * h * h + self.bias_noise * self.bias_noise).sqrt()
                value = (self.constant + self.coefficient * h) / spread
                return (value / arb(2).sqrt()).erfc() / 2 * (-z * z / 2).exp()

            end = max(start, 0.0) + 12.0
            active = acb.integral(integrand, start, end, rel_tol=2**-40, abs_tol=2**-80).real
            inactive = tail(self.mean / self.deviation) * tail(self.constant / self.bias_noise)
            return active / (2 * arb.pi()).sqrt() + inactive
