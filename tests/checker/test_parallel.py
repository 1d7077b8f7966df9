"""Work in pieces: the same results and the same precision in every process."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from flint import ctx
from saved import certify_all, make_federation, make_rules

from fedcert.progress import silent
from fedcert_check import check
from fedcert_check.balls import PRECISION
from fedcert_check.parallel import mapped, over_properties


def precision(item: int) -> tuple[int, int]:
    return item, ctx.prec


def test_work_is_done_at_the_checkers_precision() -> None:
    before = ctx.prec
    found = mapped(precision, range(5), 1, silent, "work")
    assert found == [(item, PRECISION) for item in range(5)]
    assert ctx.prec == before


class Asked:
    """A document of which only the number of properties counts."""

    def __init__(self, properties: int) -> None:
        self.properties = range(properties)


def squares(some: Sequence[int]) -> list[int]:
    return [p * p for p in some]


@pytest.mark.parametrize("count", [1, 7, 100])
def test_every_property_is_proved_once_and_in_order(count: int) -> None:
    split = getattr(over_properties, "__wrapped__", over_properties)  # the runtime checks want a document
    assert split(squares, Asked(count), 1, silent) == [p * p for p in range(count)]


def test_two_processes_prove_what_one_does(tmp_path: Path) -> None:
    federation = make_federation(widths=(2, 2))
    rule = make_rules(federation)["fedavg"]
    for number, certificate in enumerate(certify_all(federation, rule, 20)):
        path = federation.save(tmp_path / str(number), certificate, rule)
        assert check(path, jobs=1).proved == check(path, jobs=2).proved


def test_a_process_that_the_system_ends_is_said_to_have_run_out_of_memory() -> None:
    with pytest.raises(MemoryError, match="ended a process"):
        mapped(os._exit, [1, 1], 2, silent, "work")  # as where there is no memory for it
