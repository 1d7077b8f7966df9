"""The laws that claims of `projected` events speak of: what is deployed, a client's share of it, its own."""

from collections.abc import Sequence

import numpy as np

from fedcert_check.balls import exact, zeros
from fedcert_check.blocks import BlockGaussian
from fedcert_check.document import Document
from fedcert_check.masses import Gaussian, gaussian
from fedcert_check.projected.block_laws import AnyGaussian, block_layers
from fedcert_check.projected.dependent import Layer
from fedcert_check.projected.layers import layered
from fedcert_check.rules import LinearRule, linear
from fedcert_check.stated import StatedGaussian

Layers = Sequence[Layer]
"""All layers of a network under one law."""


def deployed(document: Document, laws: Sequence[AnyGaussian] | None = None) -> Layers:
    """The layers under N(v + Σ_i w_i μ_i, Σ_i w_i² Cov_i), the law of a linear rule, or under a stated law.

    Args:
        document: the certificate.
        laws: one for each client; those of the messages where None.
    """
    if isinstance(document.rule, StatedGaussian):
        return own(document, document.rule.law)
    return _under(document, linear(document.rule), _stated(document) if laws is None else laws)


def shares(document: Document, laws: Sequence[AnyGaussian] | None = None) -> list[Layers]:
    """Each client's share of the deployed noise, of covariance w_i² Cov_i.

    Args:
        document: the certificate.
        laws: one for each client; those of the messages where None.
    """
    nothing, found = zeros(document.dimension), list[Layers]()
    drawn = _stated(document) if laws is None else laws
    for weight, law in zip(linear(document.rule).weights, drawn, strict=True):
        if isinstance(law, BlockGaussian):
            found.append(_under(document, LinearRule("share", weight[None]), [law]))
        else:
            found.append(layered(document.network, nothing, (exact(weight) * law.scale) ** 2))
    return found


def own(document: Document, law: AnyGaussian) -> Layers:
    """The layers under one client's own law."""
    return _under(document, LinearRule("own", np.ones((1, 1))), [law])


def _under(document: Document, rule: LinearRule, laws: Sequence[AnyGaussian]) -> Layers:
    diagonal = [law for law in laws if isinstance(law, Gaussian)]
    if len(diagonal) == len(laws):
        return layered(document.network, *rule.moments(diagonal))
    return block_layers(document.network, rule, laws)


def _stated(document: Document) -> list[AnyGaussian]:
    return [gaussian(law) for law in document.laws]
