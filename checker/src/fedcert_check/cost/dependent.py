"""What it takes to prove claims of `projected` events with every ReLU a line.

Laws whose parameters depend on each other, convolutions and layers without a ReLU leave nothing else.
"""

from math import prod

import numpy as np

from fedcert_check.blocks import DENSE, BlockGaussian
from fedcert_check.cost import Cost
from fedcert_check.cost.convolution import (
    feature_seconds,
    local_convolutions,
    on_patches,
    position_seconds,
)
from fedcert_check.cost.layer_work import joined_work, kernel_work, laws_of, layer_work, noises, rows_at
from fedcert_check.cost.nodes import evaluations, kept_bytes
from fedcert_check.cost.rates import (
    BALL_BYTES,
    COEFFICIENT_SECONDS,
    ELEMENT_SECONDS,
    PRODUCT_SECONDS,
    STEP_SECONDS,
    TAIL_SECONDS,
)
from fedcert_check.document import Document
from fedcert_check.image_layers import AvgPool2d
from fedcert_check.parallel import pieces
from fedcert_check.projected.affine_part import affine_layers, first_random, start_of
from fedcert_check.projected.overlap import CELLS_PER_UNIT, REACH
from fedcert_check.projected.tails import MAX_CELLS, MAX_COUNTED_CLIENTS

PASSES = 4.0  # what is not proved with 64 bits is tried with 128 and with 256: some four times the work
STEPS = 12  # operations on arrays, however small, for each layer that rows are carried through
LIVE_ARRAYS = 5  # of rows, at a time


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
    seconds, memory, built, live = 0.0, kept_bytes(document, asked), 0.0, 0.0
    network, affine = document.network, affine_layers(document.network)
    last = len(affine) - 1
    for depth in range(last + 1):
        own = layer_work(document, depth)
        built, memory = built + twice * own.build, memory + twice * own.memory
        near = local_convolutions(network, depth) if depth < last else []
        if near:
            own_noises = [noises(document, place) for place in range(depth + 1)]
            each = position_seconds(near, own_noises) + 3 * near[-1].filters * sum(
                kernel_work(document, place, own).row
                for place, own in enumerate(on_patches(near))
                if not isinstance(affine[place], AvgPool2d)
            )
            seconds += prod(near[-1].grid.positions) * each
            continue
        rows, widest = rows_at(document, depth), 0
        for before in range(depth + 1):
            seconds += rows * layer_work(document, before).row + STEPS * STEP_SECONDS
            widest = max(widest, affine[before].inputs, affine[before].outputs)
        live = max(live, BALL_BYTES * rows * LIVE_ARRAYS * widest)
    seconds += carried_seconds(document) + shared_seconds(document)
    whole = joined_work(document)
    seconds += twice * whole.row * sum(rows_at(document, depth) for depth in range(last + 1))
    seconds += feature_seconds(network.layers[: first_random(network)])
    seconds += counting_seconds(document, clients, cells)
    evaluated = sum(float(own.tuples.sum()) for own in asked)
    repeated = len(pieces(len(document.asked), jobs))
    laws = sum(min(float(own.tuples.sum()), own.laws * repeated) for own in asked)
    total = PASSES * (evaluated * seconds + laws * (built + twice * whole.build))
    return Cost(memory + live + carried_bytes(document) + twice * whole.memory, total)


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
    meeting = features * features * PRODUCT_SECONDS + 2 * features * ELEMENT_SECONDS
    weights = start_of(document.network, len(before)) + head.outputs * features
    laws = [law for law in laws_of(document) if isinstance(law, BlockGaussian)]
    dense = any(own.code == DENSE and own.start < weights for law in laws for own in law.blocks)
    seen = constraints * len(before) * layer_work(document, len(before)).row
    return features * rows + (constraints if dense else 2) * directions * meeting + seen


def carried_bytes(document: Document) -> float:
    """Of the rows of all features, and of what each direction makes of them."""
    *before, head = affine_layers(document.network)
    if not carried_to_inputs(document) or not before:
        return 0.0
    widest = max(layer.inputs for layer in before)
    return 8.0 * BALL_BYTES * head.inputs * widest


def shared_seconds(document: Document) -> float:
    """Rows for pairs of constraints at the centre, and cells of the normal that constraints share."""
    tables = [tensor for name, tensor in document.witness.items() if name.endswith("shared")]
    sharing = max(
        (int((table >= 0).sum(-1).max(initial=0)) for table in tables if table.ndim == 2), default=0
    )
    if sharing < 2:
        return 0.0
    *before, _ = layers = affine_layers(document.network)
    pairs = sharing * (sharing + 1) // 2
    forward = sum(layer_work(document, depth).row for depth in range(len(before)))
    cell = sharing * (TAIL_SECONDS + 8 * ELEMENT_SECONDS)
    cells = 2 * REACH * CELLS_PER_UNIT + 1
    return forward + pairs * layer_work(document, len(layers) - 1).row + cells * cell


def counting_seconds(document: Document, clients: int, cells: int) -> float:
    """The tails of all constraints, by cells."""
    counted = 2 * min(clients, MAX_COUNTED_CLIENTS) * cells
    tail = 2 * TAIL_SECONDS + min(clients, MAX_COUNTED_CLIENTS) * COEFFICIENT_SECONDS
    return document.properties.d.shape[1] * counted * tail
