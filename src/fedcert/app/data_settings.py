"""Settings that follow from the data of a run: defaults of small data sets, clients that data name."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from fedcert.app.architecture import Architecture
from fedcert.app.given import Given
from fedcert.data import DATASETS, Table
from fedcert.data.csv_table import digest_of, read_bytes
from fedcert.data.errors_of_columns import read_errors_file, written
from fedcert.data.hospitals import HOSPITALS
from fedcert.data.table import plain_names
from fedcert.errors import InvalidConfig
from fedcert.model.layers import Linear
from fedcert.model.network import Network

DIGITS_EPOCHS = 50  # ten times the paper's: digits has a tenth of its examples
TABLES: dict[str, Any] = {
    "concentration": None,
    "hidden": (16,),
    "weights": "size",
    "epsilon": (0.0, 1.0, 2.0),
}
"""Defaults for tables, whose radii are multiples of the measurement error."""
TABLE_TRAINING = {"epochs": 30, "batch_size": 16, "learning_rate": 5e-3}
TRAINER_TABLES = ("training", "laplace")
"""The tables of settings of a trainer, which share the defaults of the data."""
UNKNOWN_ERRORS = (0.0, 0.05, 0.1)
"""Default radii where no measurement errors are stated: shares of each column's scale."""
TABLE_OPTIONS = tuple(field.name for field in fields(Table) if field.name != "sha256")


def fitted(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the defaults of their data.

    Args:
        values: settings by name, not validated yet.
    """
    if values.get("table") is not None:
        return _fitted_to_table(values)
    if values.get("given") is not None:
        return _fitted_to_given(values)
    match values.get("dataset", "digits"):
        case "digits":
            return _filled(values, _all_inputs(values), {"epochs": DIGITS_EPOCHS})
        case "heart-disease":
            named = TABLES | _all_inputs(values) | {"clients": len(HOSPITALS)}
            return _filled(values, named, TABLE_TRAINING)
    return dict(values)


def disagreement(
    dataset: str,
    own: Table | Given | None,
    clients: int,
    concentration: float | None,
    architecture: Architecture,
) -> str | None:
    """What does not fit together in these settings, if anything.

    Args:
        dataset: the name of the data set.
        own: the user's own table or inputs, if there are any.
        clients: how many there are.
        concentration: of a partition of the examples among the clients.
        architecture: of the network.
    """
    if own is not None:
        if dataset in DATASETS or plain_names([dataset], "") != [dataset]:
            what = "a table" if isinstance(own, Table) else "your own inputs"
            return f"dataset: {dataset[:80]!r} cannot be the name of {what}: give letters, digits and ._+-"
    elif dataset not in DATASETS:
        return f"dataset: must be one of {', '.join(DATASETS)} (given {dataset[:80]!r}), or of --data"
    named = own is not None or dataset == "heart-disease"
    if named and architecture.channels:
        return f"network: {architecture} needs images; {dataset} has measurements: take an mlp"
    if named and concentration is not None:
        return "concentration: the data say whose each example is, so that nothing is shared out at random"
    if not named and concentration is None:
        return "concentration: a number > 0 is needed to share out the examples"
    if dataset == "heart-disease" and clients != len(HOSPITALS):
        return f"clients: heart-disease has {len(HOSPITALS)}, its hospitals (given {clients})"
    return None


def table_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a command as settings: those that describe a table become one setting.

    Args:
        options: by name; `errors` is the path of a TOML file.
    """
    own = {name: options[name] for name in TABLE_OPTIONS if name in options}
    rest = {name: value for name, value in options.items() if name not in own}
    if not own:
        return rest
    for name, option in (("data", "--data"), ("target", "--target"), ("client_column", "--client-column")):
        if name not in own:
            raise InvalidConfig(f"a table needs --data, --target and --client-column: {option} is missing")
    if "errors" in own:
        own["errors"] = read_errors_file(Path(own["errors"]))
    return rest | {"table": own}


def notices(table: Table | None) -> list[str]:
    """What a user should know of a table before it is used.

    Args:
        table: of the run, if there is one.
    """
    if table is None or table.missing != "drop":
        return []
    columns = table.columns()
    kept = len(columns.numbers)
    return [f"{table.data}: {columns.dropped:,} rows with missing values were left out, {kept:,} are used"]


def _fitted_to_table(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with what the table says: its digest, its name, and how many clients it names.

    A result that is read again has them already, and its table need not be there.
    """
    entries = values["table"]
    if not isinstance(entries, Mapping):
        return dict(values)  # what is wrong with it is said by the validation
    own = dict(entries)
    own["errors"] = _pairs(own.get("errors", ()))
    epsilon = TABLES["epsilon"] if own["errors"] else UNKNOWN_ERRORS
    defaults = TABLES | _all_inputs(values) | {"epsilon": epsilon}
    if not own.get("sha256") and {"data", "target", "client_column"} <= own.keys():
        path = Path(own["data"]).absolute()
        own |= {"data": path, "sha256": digest_of(read_bytes(path))}
        left_out: Literal["refuse", "drop"] = "drop" if own.get("missing") == "drop" else "refuse"
        named = Table(path, str(own["target"]), str(own["client_column"]), missing=left_out)
        stem = plain_names([path.stem], "table")[0]
        defaults["dataset"] = f"table-{stem}" if stem in DATASETS else stem
        defaults["clients"] = _agreed(values.get("clients"), len(named.clients()))
    return _filled({**values, "table": own}, defaults, TABLE_TRAINING)


def _fitted_to_given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with what a user's own network and inputs say: widths, names, the digest of the file."""
    entries = values["given"]
    if not isinstance(entries, Mapping):
        return dict(values)  # what is wrong with it is said by the validation
    own = {**entries}
    try:
        given = Given(tuple(own["layers"]), Path(own["file"]).absolute(), bool(own.get("boxes", False)))
    except (KeyError, TypeError):
        return dict(values)
    own["file"] = given.file
    if not own.get("sha256"):
        own["sha256"] = digest_of(read_bytes(given.file))
    if given.needs_radius and "epsilon" not in values:
        raise InvalidConfig("epsilon: say how far inputs may vary, such as --epsilon 0.01,0.03")
    stem = plain_names([given.file.stem], "inputs")[0]
    widths = _widths(given.network)
    defaults = {"dataset": f"own-{stem}" if stem in DATASETS else stem, "epsilon": (0.0,)}
    fixed = {"concentration": None, "hidden": tuple(widths[:-1]), "inputs": "given", "properties": "all"}
    for name, value in fixed.items():
        if str(values.get(name, value)).strip("()[],") != str(value).strip("()[],"):
            raise InvalidConfig(f"{name}: {values[name]}, but with your own model and inputs it is {value}")
    return {**defaults, **values, **fixed, "given": own}


def _widths(network: Network) -> list[int]:
    """The number of outputs of each fully connected layer."""
    return [layer.outputs for layer in network.leaves if isinstance(layer, Linear)]


def _agreed(given: Any, found: int) -> int:
    if given is not None and str(given) != str(found):
        raise InvalidConfig(f"clients: {given} asked for, but the table names {found}")
    return found


def _pairs(errors: Any) -> Any:
    """Errors by column as pairs, which can be compared and hashed."""
    if isinstance(errors, Mapping):
        return tuple(written(errors).items())
    return (
        tuple(map(tuple, errors)) if isinstance(errors, Sequence) and not isinstance(errors, str) else errors
    )


def _all_inputs(values: Mapping[str, Any]) -> dict[str, Any]:
    """Small test sets are certified as a whole, unless inputs are selected."""
    return {} if values.get("inputs") == "correct" else {"properties": "all"}


def _filled(
    values: Mapping[str, Any], defaults: Mapping[str, Any], training: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings with defaults, those of every trainer among them."""
    given = {name: values.get(name, {}) for name in TRAINER_TABLES}
    trained = {name: {**training, **own} for name, own in given.items() if isinstance(own, Mapping)}
    return {**defaults, **values, **trained}
