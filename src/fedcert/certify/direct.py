"""Direct certificates: disjoint safe boxes under the law of the deployed model [III-G]."""

from jaxtyping import Float64
from torch import Tensor

from fedcert.certificate import Certificate, Claim
from fedcert.events.cells import Cells
from fedcert.verifiers import Safe


def verified_mass(cells: Cells, safe: Safe) -> Float64[Tensor, "P"]:
    """Σ_t q(C_t) over the cells of each property's collection that are proven safe (rounded down).

    The cells of a collection are disjoint, so their masses add up to q(∪ C_t) ≤ q(S).
    """
    return cells.mass(safe(cells.boxes).mT)


def certify_direct(cells: Cells, safe: Safe, rule: str, events: str) -> Certificate:
    """L^dir = Σ_t q_g(C_t) ≤ q_g(S) (eq. direct_fedavg_certificate).

    Args:
        cells: disjoint cells and their masses under the deployed law q_g.
        safe: the verifier and the properties.
        rule: the name of the rule whose deployed law q_g is.
        events: the name of the family the cells come from.
    """
    return Certificate(Claim("direct", rule, events), verified_mass(cells, safe).clamp(max=1.0))
