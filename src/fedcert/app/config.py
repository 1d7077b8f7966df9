"""The configuration of a run; `--preset paper` is the paper's protocol."""

import re
import reprlib
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeFloat,
    PositiveFloat,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from fedcert.app.architecture import Architecture, overriding, with_network
from fedcert.app.data_settings import disagreement, fitted
from fedcert.app.given import Given
from fedcert.app.jsonfile import read_json
from fedcert.app.law_settings import law_disagreement
from fedcert.app.presets import PRESETS
from fedcert.app.settings import (
    EstimateName,
    EventsName,
    Members,
    Natural,
    Positive,
    PosteriorName,
    Rate,
    RuleName,
    Scale,
    Share,
    StructureName,
    Weight,
    distinct,
    read_events,
    read_scale,
    read_weights,
    several,
    split,
)
from fedcert.app.spelling import require_known, underscored
from fedcert.certificate import Kind
from fedcert.data import Table
from fedcert.errors import InvalidConfig, UnreadableFile
from fedcert.rules.builders import WeightsName
from fedcert.training.bayes_by_backprop import BayesByBackprop
from fedcert.training.ensemble import Ensemble
from fedcert.training.laplace import Laplace
from fedcert.training.protocol import Trainer
from fedcert.training.structured_laplace import StructuredLaplace

MNIST_PROPERTIES = 200  # default number of inputs that become properties, except for small test sets: all
TRAINERS = {"training": BayesByBackprop, "laplace": Laplace}
"""The tables of settings that a trainer has to itself."""


class RunConfig(BaseModel):
    """Everything that determines the numbers of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    dataset: str = "digits"
    data_dir: Path | None = None
    table: Table | None = None
    given: Given | None = None
    train_examples: Positive = 12_000
    test_examples: Positive = 10_000
    clients: Positive = 3
    concentration: PositiveFloat | None = 10.0
    network: str | None = "mlp:64"
    hidden: Annotated[tuple[Positive, ...], BeforeValidator(split)] = (64,)
    posterior: PosteriorName = "bbb"
    structure: StructureName = "diag"
    prior_precision: PositiveFloat | None = None
    training: BayesByBackprop = BayesByBackprop()
    laplace: Laplace = Laplace()
    members: Members = 3
    train_together: bool = False
    scale: Annotated[Scale, BeforeValidator(read_scale)] = "learned"
    rule: RuleName = "fedavg"
    weights: Annotated[WeightsName | tuple[Weight, ...], BeforeValidator(read_weights)] = "uniform"
    trim: Natural = 1
    server_rate: Rate = 1.0
    prior_scale: PositiveFloat | None = None
    compare: Annotated[tuple[RuleName, ...], BeforeValidator(split)] = ()
    events: Annotated[tuple[EventsName, ...], BeforeValidator(read_events), Field(min_length=1)] = (
        "projected",
    )
    claims: Annotated[tuple[Kind, ...], BeforeValidator(split), Field(min_length=1)] = (
        "transported",
        "direct",
    )
    inputs: Literal["first", "random", "correct", "given"] = "first"
    properties: Positive | Literal["all"] = MNIST_PROPERTIES
    epsilon: Annotated[
        tuple[NonNegativeFloat, ...],
        BeforeValidator(several),
        AfterValidator(distinct),
        Field(min_length=1),
    ] = (0.001, 0.01, 0.03)
    radius: Annotated[tuple[Share, ...], BeforeValidator(several), AfterValidator(distinct)] = ()
    margin: FiniteFloat = 0.0
    gamma: Annotated[tuple[PositiveFloat, ...], BeforeValidator(split), Field(min_length=1)] = (
        3.0,
        4.0,
        5.0,
        6.0,
        7.0,
    )
    centers: Positive = 200
    cells: Positive = 8
    budget: Positive = 20_000
    screen: bool = True
    softmax_margins: Annotated[
        tuple[FiniteFloat, ...], BeforeValidator(several), AfterValidator(distinct)
    ] = ()
    confidence_draws: Natural = 0
    confidence: Share = 0.95
    estimates: Annotated[tuple[EstimateName, ...], BeforeValidator(split)] = ("attack-survival",)
    mc_samples: Positive = 300
    attack_samples: Positive = 300
    aggregate_samples: Positive = 3_000
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    device: str = "cpu"

    @model_validator(mode="before")
    @classmethod
    def _fit_to_data(cls, values: Any) -> Any:
        return with_network(values, fitted(values)) if isinstance(values, dict) else values

    @model_validator(mode="after")
    def _agrees_with_data(self) -> "RunConfig":
        if self.inputs == "correct" and self.properties == "all":
            raise ValueError("properties: with inputs = correct, give their number")
        if (self.inputs == "given") != (self.given is not None):
            raise ValueError(
                "inputs: 'given' stands for a file of your own inputs, which fedcert certify takes"
            )
        if self.train_together and self.posterior != "bbb":
            raise ValueError(
                "train_together: only clients that learn by Bayes by Backprop (bbb) train together"
            )
        own = self.table or self.given
        wrong = disagreement(self.dataset, own, self.clients, self.concentration, self.architecture)
        wrong = wrong or law_disagreement(
            self.posterior, self.structure, self.prior_precision, self.laplace.prior_precision, self.scale
        )
        if wrong:
            raise ValueError(wrong)
        _ = self.trainer  # its own settings may contradict each other
        return self

    @property
    def architecture(self) -> Architecture:
        """The network that clients train; of a user's own network, its fully connected hidden layers."""
        return Architecture((), self.hidden) if self.network is None else Architecture.read(self.network)

    @property
    def shared_prior(self) -> float | None:
        """σ_0 of the prior N(0, σ_0² I) that all clients trained with, if it is known."""
        if self.prior_scale is not None or self.given is not None:
            return self.prior_scale
        if self.posterior == "bbb":
            return self.training.prior_scale
        laplace = self._laplace
        return laplace.prior_scale if laplace.prior_precision is None else laplace.prior_precision**-0.5

    @property
    def trainer(self) -> Trainer:
        """What makes a client's posterior."""
        if self.posterior == "bbb":
            return self.training
        if self.posterior == "ensemble":
            return Ensemble(self._laplace, self.members)
        return self._laplace if self.structure == "diag" else StructuredLaplace(self._laplace, self.structure)

    @property
    def _laplace(self) -> Laplace:
        given = self.prior_precision
        return self.laplace if given is None else replace(self.laplace, prior_precision=given)

    @field_validator("device")
    @classmethod
    def _known_device(cls, value: str) -> str:
        try:
            torch.ones(1, dtype=torch.float64, device=value).sum().item()
        except (RuntimeError, AssertionError, ImportError, TypeError) as error:
            raise ValueError(f"torch cannot compute on it ({str(error).splitlines()[0][:80]})") from error
        return value


PLACE_SETTINGS = {"data_dir", "device"}
"""Settings that say where a run is made; they are not part of its identity."""
TRAINING_SETTINGS = {
    "dataset", "table", "train_examples", "test_examples", "clients", "concentration", "network", "hidden",
    "posterior", "structure", "prior_precision", "training", "laplace", "members", "train_together", "seed",
}  # fmt: skip
"""Settings that determine the clients' posteriors."""
UNREAD_SETTINGS = {
    "bbb": frozenset({"laplace", "members", "structure", "prior_precision"}),
    "laplace": frozenset({"training", "members", "train_together"}),
    "ensemble": frozenset({"training", "structure", "train_together"}),
}
"""Settings that a run with this kind of posterior does not read."""


def load_config(path: Path | None, overrides: dict[str, Any], preset: str | None = None) -> RunConfig:
    """The configuration from a preset, a file and options; the file overrides the preset, options both.

    Args:
        path: a TOML file, or the result.json of a run to repeat; None for no file.
        overrides: the values given as options.
        preset: the name of a preset; None for no preset.
    """
    if preset is not None and preset not in PRESETS:
        raise InvalidConfig(f"preset: must be one of {', '.join(PRESETS)} (given {preset!r})")
    read = {} if path is None else _read(path)
    origin = dict.fromkeys(read.keys() - overrides.keys(), f"{path}: ")
    return make_config(overriding(PRESETS.get(preset or "", {}) | read, overrides), origin)


def make_config(values: dict[str, Any], origin: Mapping[str, str] | None = None) -> RunConfig:
    """The configuration with these settings; raises `InvalidConfig`, which names each wrong setting.

    Args:
        values: settings by name.
        origin: a prefix for the name of each setting that comes from a file.
    """
    origin = origin or {}
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        complaints = [complaint(p, depth=2) for p in error.errors()]
        problems = [origin.get(re.split(r"[:.]", own)[0].replace("-", "_"), "") + own for own in complaints]
        raise InvalidConfig("; ".join(problems)) from error


def complaint(problem: ErrorDetails, depth: int) -> str:
    """What is wrong and where, in one line of moderate length.

    Args:
        problem: an error that pydantic found.
        depth: the number of names in the location to show; deeper ones tell the members of a union apart.
    """
    names = [str(name) if str(name).isprintable() else ascii(name) for name in problem["loc"][:depth]]
    place = f"{'.'.join(name[:80] for name in names)}: " if names else ""
    given = problem["input"]
    shown = "" if isinstance(given, dict | list) else f" (given {reprlib.repr(given)})"
    return f"{place}{problem['msg'].removeprefix('Value error, ')}{shown}"


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.suffix == ".json":
            values = read_json(path)
        else:
            values = {"config": tomllib.loads(path.read_text(encoding="utf-8"))}
    except UnreadableFile as error:
        raise InvalidConfig(str(error)) from error
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidConfig(f"{path}: not a readable configuration ({error})") from error
    if not isinstance(values, dict) or not isinstance(values.get("config"), dict):
        raise InvalidConfig(f"{path}: no table of settings; give a TOML file or the result.json of a run")
    try:
        require_known(values["config"], setting_names())
    except InvalidConfig as error:
        raise InvalidConfig(f"{path}: {error}") from error
    return underscored(values["config"])


def setting_names() -> dict[str, tuple[str, ...]]:
    """The names of all settings, each with the names inside it if it is a table."""
    tables = {**TRAINERS, "table": Table, "given": Given}
    inside = {name: tuple(field.name for field in fields(own)) for name, own in tables.items()}
    return {name: inside.get(name, ()) for name in RunConfig.model_fields}
