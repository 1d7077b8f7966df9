"""What the noise of a layer takes, of any law: once for each law, and for each row that sees it."""

import numpy as np

from fedcert_check.blocks import DENSE, KRONECKER, BlockGaussian
from fedcert_check.cost.convolution import as_convolution, row_seconds, window_seconds
from fedcert_check.cost.kernel_work import kernel_noise
from fedcert_check.cost.rates import BALL_BYTES, ELEMENT_SECONDS, ENTRY_BYTES, PRODUCT_SECONDS, STEP_SECONDS
from fedcert_check.cost.work import NOTHING, Work
from fedcert_check.document import Document
from fedcert_check.image_layers import AvgPool2d, Conv2d
from fedcert_check.laws import Law
from fedcert_check.layers import Linear
from fedcert_check.projected.affine_part import affine_layers, start_of
from fedcert_check.projected.witness import CARRIED, STATIC
from fedcert_check.stated import StatedGaussian

INPUT_OPERATIONS, OUTPUT_OPERATIONS = 10, 4  # on a coefficient of a row
SUPREMA = 4  # over moving inputs, of each row and layer: movements, and noise lost beside a reference
MATRIX_BYTES = 2 * BALL_BYTES + 2 * ENTRY_BYTES  # of an entry of a covariance, as an array and as a matrix


def laws_of(document: Document) -> list[Law]:
    """The laws that layers are built from: the clients', and one that is stated for the rule."""
    stated = [document.rule.law] if isinstance(document.rule, StatedGaussian) else []
    return [*(client.law for client in document.clients), *stated]


def rows_at(document: Document, depth: int) -> int:
    """The number of rows that are carried back from a layer: neurons' both sides, and their movements."""
    layers = affine_layers(document.network)
    if depth == len(layers) - 1:
        return document.properties.d.shape[1]
    methods = [tensor for name, tensor in document.witness.items() if name.endswith("method")]
    static = all(bool(np.isin(tensor, (STATIC, CARRIED)).all()) for tensor in methods)
    return (2 if methods and static else 3) * layers[depth].outputs


def noises(document: Document, place: int) -> int:
    """The number of laws of the noise of a layer's parameters: none where no client's are random."""
    layer, start = affine_layers(document.network)[place], start_of(document.network, place)
    stop = start + (0 if isinstance(layer, AvgPool2d) else sum(layer.sizes))
    if not any(_random(law, start, stop) for law in laws_of(document)):
        return 0
    return 1 + len(document.clients) if "cells" in document.witness else 1


def _random(law: Law, start: int, stop: int) -> bool:
    if isinstance(law, BlockGaussian):
        return any(own.start < stop and start < own.stop for own in law.blocks)
    return any(bool((own.scale[start:stop] != 0).any()) for own in law.components)


def layer_work(document: Document, place: int) -> Work:
    """All blocks that are about one layer, and diagonal laws, with clients' shares where cells need them."""
    layer, shares = affine_layers(document.network)[place], noises(document, place)
    if not isinstance(layer, Linear):
        kernel = as_convolution(layer)
        size = len(document.clients) * sum(kernel.sizes)
        windows = (1 + shares) * window_seconds(kernel) / rows_at(document, place)
        row = row_seconds(kernel, shares) + windows
        work = Work(12 * size * ELEMENT_SECONDS, row, 12.0 * BALL_BYTES * size)
        return work if isinstance(layer, AvgPool2d) else work.plus(kernel_work(document, place))
    laws, mean = laws_of(document), layer.outputs * layer.inputs
    elements = INPUT_OPERATIONS * layer.inputs + OUTPUT_OPERATIONS * layer.outputs
    row = mean * PRODUCT_SECONDS + elements * ELEMENT_SECONDS
    work = Work(4 * mean * ELEMENT_SECONDS, row, 6 * BALL_BYTES * mean)
    if not any(isinstance(law, BlockGaussian) for law in laws):
        own = diagonal_work(layer)
        return work.plus(Work(len(laws) * own.build, shares * own.row, len(laws) * own.memory))
    twice = 2 if "cells" in document.witness else 1
    noise = block_noise(document, place)
    return work.plus(Work(noise.build, twice * noise.row, noise.memory))


def kernel_work(document: Document, place: int, layer: Conv2d | None = None) -> Work:
    """The parts of a kernel's noise that are not independent, and the clients' shares of them with cells.

    Args:
        document: the certificate.
        place: of the layer.
        layer: what one position sees, of whose filters there are three rows each; None for the whole image.
    """
    rows = rows_at(document, place) if layer is None else 3 * layer.filters
    own = layer or affine_layers(document.network)[place]
    assert isinstance(own, Conv2d)
    noise = kernel_noise(document, laws_of(document), place, own, rows)
    return noise._replace(row=noise.row * (2 if "cells" in document.witness else 1))


def block_noise(document: Document, place: int) -> Work:
    """The parts of a layer's noise; dense blocks of all clients are added up, and seen as one."""
    layer, work, seen = affine_layers(document.network)[place], NOTHING, 0.0
    assert isinstance(layer, Linear)
    start = start_of(document.network, place)
    stop, biases = start + sum(layer.sizes), start + layer.outputs * layer.inputs
    used = layer.outputs
    if place == len(affine_layers(document.network)) - 1:  # whose only rows are the constraints
        used = max(1, int(np.count_nonzero(document.properties.C, axis=-1).max(initial=0)))
    for law in laws_of(document):
        if not isinstance(law, BlockGaussian):
            work = work.plus(diagonal_work(layer))
            continue
        for own in law.blocks:
            if not (own.start < stop and start < own.stop):
                continue
            if own.code != DENSE:
                work = work.plus(kronecker_work(layer) if own.code == KRONECKER else diagonal_work(layer))
                continue
            size = min(stop, own.stop) - max(start, own.start)
            dense = dense_work(layer, own.second, size, used, own.start >= biases)
            work, seen = work.plus(dense._replace(row=0.0)), max(seen, dense.row)
    return work.plus(Work(0.0, seen, 0.0))


def dense_work(layer: Linear, columns: int, size: int, used: int, biases: bool) -> Work:
    """A factor of so many rows and columns.

    Args:
        layer: whose noise it is.
        columns: of the factor.
        size: number of parameters of the layer among its rows.
        used: the most neurons that a row of the layer speaks of.
        biases: whether these are biases alone.
    """
    m, k = layer.outputs, layer.inputs
    build = size * size * columns * PRODUCT_SECONDS + size * (columns + 2 * size) * ELEMENT_SECONDS
    if biases:
        return Work(
            build, m * m * PRODUCT_SECONDS + 4 * m * ELEMENT_SECONDS, MATRIX_BYTES * m * (m + columns)
        )
    n = m * k + m
    gram = (used * k) ** 2 * (PRODUCT_SECONDS + ELEMENT_SECONDS) + 4 * k * k * ELEMENT_SECONDS
    marginals = k * m * (m * PRODUCT_SECONDS + 4 * ELEMENT_SECONDS) + STEP_SECONDS
    at = n * n * PRODUCT_SECONDS + 4 * n * ELEMENT_SECONDS
    memory = MATRIX_BYTES * (2 * n * n + size * columns)
    return Work(build + n * n * ELEMENT_SECONDS, SUPREMA * gram + 2 * marginals + at, memory)


def kronecker_work(layer: Linear) -> Work:
    """U, V and D."""
    m, k = layer.outputs, layer.inputs
    entries = m * m + k * k + m * k
    build = k**3 * PRODUCT_SECONDS + 8 * entries * ELEMENT_SECONDS
    products = 2 * m * m + 2 * m * k + 2 * k * k
    row = (SUPREMA + 3) * (products * PRODUCT_SECONDS + 8 * (m + k) * ELEMENT_SECONDS + STEP_SECONDS)
    return Work(build, row + SUPREMA * k * k * ELEMENT_SECONDS, MATRIX_BYTES * 2 * entries)


def diagonal_work(layer: Linear) -> Work:
    """Variances."""
    m, k = layer.outputs, layer.inputs
    return Work(4 * m * k * ELEMENT_SECONDS, 6 * m * k * PRODUCT_SECONDS, MATRIX_BYTES * 2 * m * k)


def joined_work(document: Document) -> Work:
    """One covariance of all parameters, if some block is about several layers."""
    ends = np.cumsum([0, *(sum(layer.sizes) for layer in document.network.linear)])
    laws = [law for law in laws_of(document) if isinstance(law, BlockGaussian)]
    blocks = [own for law in laws for own in law.blocks]
    spanning = [
        own
        for own in blocks
        if own.code == DENSE and not ((ends[:-1] <= own.start) & (own.stop <= ends[1:])).any()
    ]
    if not spanning:
        return NOTHING
    n = document.dimension
    columns = sum(own.second if own.code == DENSE else own.size for own in blocks)
    build = n * n * columns * PRODUCT_SECONDS + n * (columns + 4 * n) * ELEMENT_SECONDS
    return Work(
        build, n * n * PRODUCT_SECONDS + 4 * n * ELEMENT_SECONDS, float(MATRIX_BYTES * n * (2 * n + columns))
    )
