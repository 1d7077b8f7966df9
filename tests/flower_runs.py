"""The run in one process that a run over Flower is compared with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from fedcert.app.config import make_config
from fedcert.app.output import carry_out
from fedcert.app.run import run
from fedcert.app.summary import identity_of
from fedcert_check import check_run

HEART = {
    "dataset": "heart-disease", "clients": 4, "seed": 0, "epsilon": "1.0", "properties": 10,
    "training.epochs": 3,
}  # fmt: skip
DIGITS = {
    "dataset": "digits", "clients": 2, "seed": 5, "epsilon": "0.001", "properties": 8, "hidden": "8",
    "rule": "pog", "train-examples": 300, "training.epochs": 2,
}  # fmt: skip


def assert_same_run(out: Path, settings: Mapping[str, Any], folder: Path) -> None:
    """Messages and certificates are those of `fedcert run`, to the last bit, and the checker proves the run.

    Args:
        out: what the strategy wrote.
        settings: of the run.
        folder: for the run in this process.
    """
    values: dict[str, Any] = {"training": {}}
    for name, value in settings.items():
        table, _, inner = name.replace("-", "_").rpartition(".")
        (values[table] if table else values)[inner] = value
    config, threads = make_config(values), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        carry_out(lambda once: run(config, once=once), folder, identity_of(config))
    finally:
        torch.set_num_threads(threads)
    for name in ("messages", "certificates"):
        mine, other = (
            {path.name: path.read_bytes() for path in (each / name).iterdir()} for each in (out, folder)
        )
        assert mine == other, name
    assert len(list((out / "messages").iterdir())) == config.clients
    assert check_run(out).exit_code == 0
