"""What it takes to prove claims of `projected` events with every ReLU a line.

Laws whose parameters depend on each other, convolutions and layers without a ReLU leave nothing else.
"""

from math import prod
from typing import NamedTuple

import numpy as np

from fedcert_check.blocks import DENSE, KRONECKER, BlockGaussian
from fedcert_check.cost import Cost
from fedcert_check.cost.convolution import (
    as_convolution,
    feature_seconds,
    local_convolutions,
    position_seconds,
    row_seconds,
    window_seconds,
)
from fedcert_check.cost.nodes import evaluations, kept_bytes
from fedcert_check.cost.rates import (
    BALL_BYTES,
    COEFFICIENT_SECONDS,
    ELEMENT_SECONDS,
    ENTRY_BYTES,
    PRODUCT_SECONDS,
    STEP_SECONDS,
    TAIL_SECONDS,
)
from fedcert_check.document import Document
from fedcert_check.laws import Law
from fedcert_check.layers import Linear
from fedcert_check.parallel import pieces
from fedcert_check.projected.affine_part import affine_layers, first_random, start_of
from fedcert_check.projected.overlap import CELLS_PER_UNIT, REACH
from fedcert_check.projected.tails import MAX_CELLS, MAX_COUNTED_CLIENTS
from fedcert_check.stated import StatedGaussian

PASSES = 4.0  # what is not proved with 64 bits is tried with 128 and with 256: some four times the work
SUPREMA = 4  # over moving inputs, of each row and layer: movements, and noise lost beside a reference
MATRIX_BYTES = 2 * BALL_BYTES + 2 * ENTRY_BYTES  # of an entry of a covariance, as an array and as a matrix


class Work(NamedTuple):
    """What one layer's noise, or that of all joined layers, takes.

    Attributes:
        build: seconds, once for each law.
        row: seconds for each row that sees it.
        memory: bytes.
    """

    build: float
    row: float
    memory: float

    def plus(self, other: "Work") -> "Work":
        """Both."""
        return Work(self.build + other.build, self.row + other.row, self.memory + other.memory)


NOTHING = Work(0.0, 0.0, 0.0)


def dependent_cost(document: Document, jobs: int) -> Cost:
    """The cost of laws, and of each property's bounds.

    Args:
        document: the certificate.
        jobs: number of processes.
    """
    clients = len(document.clients)
    local, of_cells = document.kind == "local", "cells" in document.witness
    prefixes = [f"client.{i}." for i in range(clients)] if local else [""]
    asked = [evaluations(document, prefix, 1 if local else clients) for prefix in prefixes]
    if document.upper is not None:
        asked.append(evaluations(document, "upper.", clients))
    cells = min(MAX_CELLS, max(0, int(document.tensor("cells", np.int32, 1)[0]))) if of_cells else 0
    twice = 2 if of_cells else 1  # the deployed law, and the clients' shares
    seconds, memory, built = 0.0, kept_bytes(document, asked), 0.0
    network, affine = document.network, affine_layers(document.network)
    last = len(affine) - 1
    for depth, layer in enumerate(affine):
        own = layer_work(document, depth)
        built, memory = built + twice * own.build, memory + twice * own.memory
        near = local_convolutions(network, depth) if depth < last else []
        if near:
            seconds += prod(near[-1].grid.positions) * position_seconds(near, clients if of_cells else 1)
            continue
        rows = rows_at(document, depth)
        for before in range(depth + 1):
            seconds += rows * twice * layer_work(document, before).row
        memory += BALL_BYTES * rows * 8 * max(layer.inputs, layer.outputs)
    seconds, memory = seconds + carried_seconds(document), memory + carried_bytes(document)
    seconds += shared_seconds(document)
    whole = joined_work(document)
    seconds += twice * whole.row * sum(rows_at(document, depth) for depth in range(last + 1))
    seconds += feature_seconds(network.layers[: first_random(network)])
    seconds += counting_seconds(document, clients, cells)
    evaluated = sum(float(own.tuples.sum()) for own in asked)
    repeated = len(pieces(len(asked[0].rows), jobs))
    laws = sum(min(float(own.tuples.sum()), own.laws * repeated) for own in asked)
    total = PASSES * (evaluated * seconds + laws * (built + twice * whole.build))
    return Cost(memory + twice * whole.memory, total)


def laws_of(document: Document) -> list[Law]:
    """The laws that layers are built from: the clients', and one that is stated for the rule."""
    stated = [document.rule.law] if isinstance(document.rule, StatedGaussian) else []
    return [*(client.law for client in document.clients), *stated]


def rows_at(document: Document, depth: int) -> int:
    """The number of rows that are carried back from a layer."""
    layers = affine_layers(document.network)
    return document.properties.d.shape[1] if depth == len(layers) - 1 else 3 * layers[depth].outputs


def layer_work(document: Document, place: int) -> Work:
    """All blocks that are about one layer, and the diagonal laws."""
    layer, work = affine_layers(document.network)[place], NOTHING
    if not isinstance(layer, Linear):
        kernel = as_convolution(layer)
        size = len(document.clients) * sum(kernel.sizes)
        windows = window_seconds(kernel) / rows_at(document, place)
        return Work(12 * size * ELEMENT_SECONDS, row_seconds(kernel) + windows, 12.0 * BALL_BYTES * size)
    start = start_of(document.network, place)
    stop = start + sum(layer.sizes)
    for law in laws_of(document):
        if not isinstance(law, BlockGaussian):
            work = work.plus(diagonal_work(layer))
            continue
        for own in law.blocks:
            if own.start < stop and start < own.stop:
                work = work.plus(
                    dense_work(layer, own.second, min(stop, own.stop) - max(start, own.start))
                    if own.code == DENSE
                    else kronecker_work(layer)
                    if own.code == KRONECKER
                    else diagonal_work(layer)
                )
    mean = layer.outputs * layer.inputs
    return work.plus(
        Work(4 * mean * ELEMENT_SECONDS, mean * PRODUCT_SECONDS + STEP_SECONDS, 6 * BALL_BYTES * mean)
    )


def dense_work(layer: Linear, columns: int, size: int) -> Work:
    """A factor of so many rows and columns."""
    m, k = layer.outputs, layer.inputs
    build = size * size * columns * PRODUCT_SECONDS + size * (columns + 2 * size) * ELEMENT_SECONDS
    if size <= m:
        return Work(
            build, m * m * PRODUCT_SECONDS + 4 * m * ELEMENT_SECONDS, MATRIX_BYTES * m * (m + columns)
        )
    n = m * k + m
    gram = (m * k) ** 2 * (PRODUCT_SECONDS + ELEMENT_SECONDS) + 4 * k * k * ELEMENT_SECONDS
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
    return Work(
        4 * m * k * ELEMENT_SECONDS, 6 * m * k * PRODUCT_SECONDS + STEP_SECONDS, MATRIX_BYTES * 2 * m * k
    )


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


def carried_to_inputs(document: Document) -> bool:
    """Whether some row of the witness carries the noise of a last layer to the inputs."""
    return any(
        name.endswith("carried") and tensor.dtype == np.uint8 and bool(tensor.any())
        for name, tensor in document.witness.items()
    )


def carried_seconds(document: Document) -> float:
    """Each feature is a row through all layers before the last, and each direction meets each constraint."""
    *before, head = affine_layers(document.network)
    if not carried_to_inputs(document) or not before:
        return 0.0
    features, constraints = head.inputs, document.properties.d.shape[1]
    rows = sum(layer_work(document, depth).row for depth in range(len(before)))
    directions = sum(layer.inputs for layer in before)
    meetings = features * features * PRODUCT_SECONDS + (features + 8) * ELEMENT_SECONDS
    return features * rows + constraints * directions * meetings


def carried_bytes(document: Document) -> float:
    """Of the rows of all features, and of what each direction makes of them."""
    *before, head = affine_layers(document.network)
    if not carried_to_inputs(document) or not before:
        return 0.0
    widest = max(layer.inputs for layer in before)
    return 8.0 * BALL_BYTES * head.inputs * widest


def shared_seconds(document: Document) -> float:
    """Rows for pairs of constraints at the centre, and cells of the normal that constraints share."""
    if not any(name.endswith("shared") for name in document.witness):
        return 0.0
    *before, _ = layers = affine_layers(document.network)
    constraints = document.properties.d.shape[1]
    pairs = constraints * (constraints + 1) // 2
    forward = sum(layer_work(document, depth).row for depth in range(len(before)))
    cell = constraints * (TAIL_SECONDS + 8 * ELEMENT_SECONDS)
    cells = 2 * REACH * CELLS_PER_UNIT + 1
    return forward + pairs * layer_work(document, len(layers) - 1).row + cells * cell


def counting_seconds(document: Document, clients: int, cells: int) -> float:
    """The tails of all constraints, by cells."""
    counted = 2 * min(clients, MAX_COUNTED_CLIENTS) * cells
    tail = 2 * TAIL_SECONDS + min(clients, MAX_COUNTED_CLIENTS) * COEFFICIENT_SECONDS
    return document.properties.d.shape[1] * counted * tail
