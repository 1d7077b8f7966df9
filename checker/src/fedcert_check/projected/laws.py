"""The laws that claims of `projected` events speak of: what is deployed, a client's share of it, its own."""

from collections.abc import Sequence

import numpy as np

from fedcert_check.balls import Balls, exact, zeros
from fedcert_check.blocks import BlockGaussian
from fedcert_check.document import Document
from fedcert_check.image_layers import Conv2d
from fedcert_check.layers import Linear
from fedcert_check.masses import Gaussian, gaussian
from fedcert_check.projected.any_layer import Layer
from fedcert_check.projected.block_laws import AnyGaussian, block_stack
from fedcert_check.projected.convolution import ConvLayer
from fedcert_check.projected.layers import random_layer
from fedcert_check.projected.stack import Build, Stack, stacked
from fedcert_check.rules import LinearRule, linear
from fedcert_check.stated import StatedGaussian


def deployed(document: Document, laws: Sequence[AnyGaussian] | None = None) -> Stack:
    """The layers under N(v + Σ_i w_i μ_i, Σ_i w_i² Cov_i), the law of a linear rule, or under a stated law.

    Args:
        document: the certificate.
        laws: one for each client; those of the messages where None.
    """
    if isinstance(document.rule, StatedGaussian):
        return own(document, document.rule.law)
    return _under(document, linear(document.rule), _stated(document) if laws is None else laws)


def shares(document: Document, laws: Sequence[AnyGaussian] | None = None) -> list[Stack]:
    """Each client's share of the deployed noise, of covariance w_i² Cov_i.

    Args:
        document: the certificate.
        laws: one for each client; those of the messages where None.
    """
    nothing, found = zeros(document.dimension), list[Stack]()
    drawn = _stated(document) if laws is None else laws
    for weight, law in zip(linear(document.rule).weights, drawn, strict=True):
        if isinstance(law, BlockGaussian):
            found.append(_under(document, LinearRule("share", weight[None]), [law]))
        else:
            variance = (exact(weight) * law.scale) ** 2
            found.append(stacked(document.network, independent(nothing, variance)))
    return found


def own(document: Document, law: AnyGaussian) -> Stack:
    """The layers under one client's own law."""
    return _under(document, LinearRule("own", np.ones((1, 1))), [law])


def _under(document: Document, rule: LinearRule, laws: Sequence[AnyGaussian]) -> Stack:
    diagonal = [law for law in laws if isinstance(law, Gaussian)]
    if len(diagonal) == len(laws):
        return stacked(document.network, independent(*rule.moments(diagonal)))
    return block_stack(document.network, rule, laws)


def independent(loc: Balls, variance: Balls) -> Build:
    """Layers whose parameters are independent normals.

    Args:
        loc: the means of all parameters.
        variance: their variances.
    """

    def build(layer: Linear | Conv2d, start: int) -> Layer:
        weights, biases = layer.sizes
        middle, stop = start + weights, start + weights + biases
        M, S2 = (own[start:middle].reshape(biases, -1) for own in (loc, variance))
        m, s2 = (own[middle:stop] for own in (loc, variance))
        return ConvLayer(layer, M, m, S2, s2) if isinstance(layer, Conv2d) else random_layer(M, m, S2, s2)

    return build


def _stated(document: Document) -> list[AnyGaussian]:
    return [gaussian(law) for law in document.laws]
