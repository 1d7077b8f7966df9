"""What the noise of a kernel with dependent parameters takes, on an image or on what a position sees."""

from math import prod

from fedcert_check.blocks import DENSE, KRONECKER, BlockGaussian
from fedcert_check.cost.rates import BALL_BYTES, ELEMENT_SECONDS, ENTRY_BYTES, PRODUCT_SECONDS, STEP_SECONDS
from fedcert_check.cost.work import NOTHING, Work
from fedcert_check.document import Document
from fedcert_check.image_layers import Conv2d
from fedcert_check.laws import Law
from fedcert_check.projected.affine_part import start_of

SUPREMA, FORMS = 4, 3  # of each row: noise over inputs that move, and at a reference
MATRIX_BYTES = 2 * BALL_BYTES + 2 * ENTRY_BYTES  # of an entry of a covariance, as an array and as a matrix
PIXEL_STEPS = 6  # operations on arrays, however small, for each pixel and all rows together


def kernel_noise(document: Document, laws: list[Law], place: int, layer: Conv2d, rows: int) -> Work:
    """All Kronecker and dense blocks that are about a kernel; the dense ones are added up, and seen as one.

    Args:
        document: the certificate.
        laws: of the clients and of the rule.
        place: of the layer.
        layer: the layer itself, or on what one position sees.
        rows: how many are seen together.
    """
    start = start_of(document.network, place)
    stop, work, seen = start + sum(layer.sizes), NOTHING, 0.0
    for law in laws:
        for own in law.blocks if isinstance(law, BlockGaussian) else ():
            if own.start < stop and start < own.stop:
                if own.code == KRONECKER:
                    work = work.plus(_kronecker(layer, rows))
                elif own.code == DENSE:
                    size = min(stop, own.stop) - max(start, own.start)
                    dense = _dense(layer, rows, size, own.second)
                    work, seen = work.plus(dense._replace(row=0.0)), max(seen, dense.row)
    return work.plus(Work(0.0, seen, 0.0))


def _kronecker(layer: Conv2d, rows: int) -> Work:
    """Forms between U and V, and for each pixel the windows that see it times V."""
    f, K = layer.filters, layer.sizes[0] // layer.filters
    places = prod(layer.grid.positions)
    entries = places * K * layer.groups
    form = f * K * (f + K) * PRODUCT_SECONDS + 12 * f * K * ELEMENT_SECONDS + STEP_SECONDS
    pixels = (places * f * f + entries * f * K) * PRODUCT_SECONDS
    pixels += (4 * places * f + 2 * entries * f + 4 * layer.inputs * f * K) * ELEMENT_SECONDS
    pixels += layer.inputs * (PIXEL_STEPS * STEP_SECONDS + K * K * ELEMENT_SECONDS) / rows
    sizes = f * f + K * K + f * K
    build = (f**3 + K**3) * PRODUCT_SECONDS + 8 * sizes * ELEMENT_SECONDS
    return Work(build, SUPREMA * (form + pixels) + FORMS * form, MATRIX_BYTES * 2.0 * sizes)


def _dense(layer: Conv2d, rows: int, size: int, columns: int) -> Work:
    """Forms in the covariance, and for each pixel that of the weights that meet it."""
    f, (weights, biases) = layer.filters // layer.groups, layer.sizes
    n, places = weights + biases, prod(layer.grid.positions)
    entries = places * weights // layer.filters * layer.groups
    met = f * min(prod(layer.grid.kernel), places)  # weights that meet a pixel, at most
    form = n * n * PRODUCT_SECONDS + 4 * n * ELEMENT_SECONDS + STEP_SECONDS
    pixels = entries * f * (met * PRODUCT_SECONDS + 4 * ELEMENT_SECONDS)
    pixels += layer.inputs * (PIXEL_STEPS * STEP_SECONDS + met * met * ELEMENT_SECONDS) / rows
    build = (
        size * size * columns * PRODUCT_SECONDS + (size * (columns + 2 * size) + 3 * n * n) * ELEMENT_SECONDS
    )
    memory = MATRIX_BYTES * (3.0 * n * n + size * columns)
    return Work(build, SUPREMA * (form + pixels) + FORMS * form, memory)
