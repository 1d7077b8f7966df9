"""What a proof takes: every family says so, more of anything costs more, ordinary files are affordable."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from saved import certify_all, make_federation, make_rules

from fedcert_check.cost import (
    DEFAULT_LIMITS,
    GIB,
    MIN_SECONDS_PER_PROCESS,
    Cost,
    ProofLimits,
    affordable,
    size,
)
from fedcert_check.cost.rates import PROCESS_BYTES
from fedcert_check.document import Client, Document
from fedcert_check.errors import TooCostly
from fedcert_check.families import family_of
from fedcert_check.files import read
from fedcert_check.laws import DiagonalGaussian
from fedcert_check.layers import Linear, Network, ReLU
from fedcert_check.properties import Properties
from fedcert_check.rules import LinearRule

MNIST = (784, 512, 512, 10)
CLIENTS, PROPERTIES, CELLS = 5, 50, 10


def estimate(document: Document, jobs: int = 1) -> Cost:
    return family_of(document).estimate(document, jobs)


def make(
    kind: str, events: str, witness: dict, widths=MNIST, clients=CLIENTS, properties=PROPERTIES, cells=0
) -> Document:
    """A certificate of a trained network's size, with arrays that take no memory."""
    layers = [layer for a, b in pairwise(widths) for layer in (Linear(a, b), ReLU())]
    network = Network(tuple(layers[:-1]))
    boxes = np.broadcast_to(0.0, (cells, network.dimension))
    ones = np.broadcast_to(1.0, network.dimension)
    law = DiagonalGaussian(ones, ones)
    region, C = np.broadcast_to(0.0, (properties, widths[0])), np.zeros((properties, 9, widths[-1]))
    return Document(
        kind,
        events,
        LinearRule("fedavg", np.full((clients, 1), 1 / clients)),
        network,
        tuple(Client(f"client-{i}", "paper-box", law, boxes, boxes) for i in range(clients)),
        Properties(region, region, C, C[..., 0]),
        np.ones(properties),
        np.ones(properties) if (kind, events) == ("direct", "projected") else None,
        witness,
    )


def box(clients: int, blocks: list[str], view: int, widths=MNIST, radius: float = 4.0) -> dict:
    tensors, dimension = (
        2 * (len(widths) - 1),
        sum(b * (a + 1) for a, b in pairwise(widths)),
    )
    return {
        prefix + name: array
        for prefix in blocks
        for name, array in {
            "view": np.full(PROPERTIES, view, dtype=np.uint8),
            "radius.tensor": np.full((PROPERTIES, tensors), radius, dtype=np.float16),
            "radius.row": np.full(PROPERTIES, -1, dtype=np.int32),
            "radius.parameter": np.zeros((0, dimension), dtype=np.float16),
            "tiles.property": np.zeros(0, dtype=np.int32),
            "tiles.lower": np.zeros((0, clients, dimension)),
            "tiles.upper": np.zeros((0, clients, dimension)),
        }.items()
    }


def projected(clients: int = CLIENTS, properties: int = PROPERTIES, terms: int = 100, rows: int = 9) -> dict:
    """What the estimate looks at, for every kind of claim."""
    blocks = ["", "upper.", *(f"client.{i}." for i in range(clients))]
    asked = np.full((properties, rows), terms, dtype=np.int32)
    return {
        "method": np.zeros(properties, dtype=np.uint8),
        "cells": np.full(1, 512, dtype=np.int32),
        **{f"{block}tail.terms": asked for block in blocks},
    }


def accepted(*shape: int) -> np.ndarray:
    return np.ones(shape, dtype=bool)


ORDINARY = {
    "projected, local": lambda: make("local", "projected", projected()),
    "projected, direct": lambda: make("direct", "projected", projected()),
    "projected, transported": lambda: make("transported", "projected", projected()),
    "boxes, local": lambda: make("local", "box", box(1, [f"client-{i}." for i in range(CLIENTS)], 2)),
    "boxes, direct": lambda: make("direct", "box", box(1, [""], 2)),
    "boxes, lattice": lambda: make("transported", "box", box(CLIENTS, [""], 1)),
    "boxes, product": lambda: make("transported", "box", box(CLIENTS, [""], 2)),
    "cells, local": lambda: make(
        "local",
        "paper-box",
        {f"accepted.{i}": accepted(PROPERTIES, CELLS) for i in range(CLIENTS)},
        cells=CELLS,
    ),
    "cells, tuples": lambda: make(
        "transported",
        "paper-box",
        {"tuples": np.zeros((20, CLIENTS), dtype=np.int32), "accepted": accepted(20, PROPERTIES)},
        cells=CELLS,
    ),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_a_network_of_two_layers_of_512_is_within_the_limits(name: str) -> None:
    document = ORDINARY[name]()
    cost = estimate(document)
    assert affordable(document, estimate, 1, DEFAULT_LIMITS) == 1
    assert cost.seconds > 60
    assert cost.memory > GIB / 2


@pytest.mark.parametrize("kind", ["local", "direct", "transported"])
def test_memory_grows_with_the_square_of_the_width(kind: str) -> None:
    """Even where the parameters do not: rows are unit vectors of a layer."""
    narrow, wide = (estimate(make(kind, "projected", projected(), (1, w, 1))) for w in (1000, 60_000))
    assert wide.memory > 1000 * narrow.memory
    assert wide.seconds > 60 * narrow.seconds


def test_more_properties_and_clients_cost_more() -> None:
    for kind in ("local", "direct", "transported"):
        few, many, crowded = (
            estimate(make(kind, "projected", projected(n, p), clients=n, properties=p))
            for n, p in ((2, 5), (2, 50), (20, 5))
        )
        assert many.seconds > 8 * few.seconds
        assert crowded.seconds > few.seconds


def test_the_terms_that_a_witness_asks_for_are_counted() -> None:
    none, some, absurd = (
        estimate(make("direct", "projected", projected(terms=terms))).seconds
        for terms in (0, 1000, 2**31 - 1)
    )
    assert some > 1.5 * none
    assert absurd < 20 * some  # more than are allowed are refused


def test_a_smaller_radius_has_longer_polynomials() -> None:
    costs = [
        estimate(make("transported", "box", box(3, [""], 1, (2, 3), radius), (2, 3), 3))
        for radius in (1 / 64, 1, 8)
    ]
    assert costs[0].memory > 10 * costs[1].memory - GIB / 10
    assert costs[0].seconds > 10 * costs[1].seconds > 10 * costs[2].seconds


@pytest.mark.slow
def test_every_certificate_has_an_estimate(tmp_path: Path) -> None:
    federation = make_federation()
    for name, rule in make_rules(federation).items():
        if name in ("fedavg", "median"):
            for certificate in certify_all(federation, rule):
                path = federation.save(tmp_path, certificate, rule)
                document = read(path, tmp_path / "messages")
                cost = estimate(document)
                assert 0 < cost.memory < GIB / 10
                assert 0 <= cost.seconds < 600


def test_fewer_processes_work_where_memory_is_short() -> None:
    document = replace(ORDINARY["projected, direct"](), witness={})
    idle = PROCESS_BYTES + size(document)

    def costs(memory: float, seconds: float = 0.0) -> object:
        return lambda _document, _jobs: Cost(memory, seconds)

    enough = ProofLimits(memory=5 * (idle + GIB), seconds=100.0)
    assert affordable(document, costs(0.0, 100.0), 2, enough) == 2
    assert affordable(document, costs(float(GIB), 100.0), 8, enough) == 4
    assert affordable(document, costs(5.0 * GIB, 100.0), 8, enough) == 1
    assert affordable(document, costs(0.0, 100.0), 8, enough) == 8
    with pytest.raises(TooCostly, match="GiB of memory, more than"):
        affordable(document, costs(float(enough.memory)), 8, enough)
    with pytest.raises(TooCostly, match=r"up to 2 minutes of one core, more than 1\.67"):
        affordable(document, costs(0.0, 120.0), 8, enough)


@pytest.mark.parametrize(("processes", "expected"), [(0, 1), (1, 1), (3, 3), (100, 8)])
def test_another_process_needs_work_that_is_worth_its_start(processes: int, expected: int) -> None:
    document = replace(ORDINARY["projected, direct"](), witness={})
    cost = Cost(0.0, 1.01 * processes * MIN_SECONDS_PER_PROCESS)
    assert affordable(document, lambda _document, _jobs: cost, 8, DEFAULT_LIMITS) == expected
