"""Settings that follow from the data."""

import json
from pathlib import Path

import pytest

from fedcert.app.config import RunConfig, load_config
from fedcert.app.data_settings import notices, table_settings
from fedcert.app.recorded_config import RecordedConfig
from fedcert.errors import InvalidConfig

ROWS = "".join(f"{i},{i % 3},{'ab'[i % 2]},{i % 2}\n" for i in range(12))


@pytest.fixture
def wards(tmp_path: Path) -> Path:
    path = tmp_path / "wards.csv"
    path.write_text("age,bp,ward,ill\n" + ROWS)
    return path


def options(path: Path, **others: object) -> dict[str, object]:
    return table_settings({"data": path, "target": "ill", "client_column": "ward"} | others)


def test_the_hospitals_are_the_clients() -> None:
    config = load_config(None, {"dataset": "heart-disease"})
    assert (config.clients, config.concentration, config.hidden) == (4, None, (16,))
    assert (config.weights, config.epsilon, config.properties) == ("size", (0.0, 1.0, 2.0), "all")
    assert load_config(None, {"dataset": "heart-disease", "clients": 4}) == config
    assert load_config(None, {"dataset": "heart-disease", "hidden": "8"}).hidden == (8,)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"clients": 3}, "clients: heart-disease has 4, its hospitals"),
        ({"concentration": 0.5}, "concentration: the data say whose"),
    ],
)
def test_hospitals_cannot_be_shared_out(setting: dict[str, object], complaint: str) -> None:
    with pytest.raises(InvalidConfig, match=complaint):
        load_config(None, {"dataset": "heart-disease"} | setting)


def test_images_are_shared_out() -> None:
    with pytest.raises(InvalidConfig, match="concentration: a number > 0"):
        load_config(None, {"concentration": None})


def test_a_table_says_its_name_and_its_clients(wards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(wards.parent)
    config = load_config(None, options(Path("wards.csv")))
    assert (config.dataset, config.clients, config.epsilon) == ("wards", 2, (0.0, 0.05, 0.1))
    assert config.table.data == wards
    assert len(config.table.sha256) == 64


def test_errors_come_from_a_file_or_stand_in_the_configuration(wards: Path) -> None:
    errors = wards.with_name("errors.toml")
    errors.write_text('bp = "5 %"\n')
    config = load_config(None, options(wards, errors=errors))
    assert config.table.errors == (("bp", "5 %"),)
    assert config.epsilon == (0.0, 1.0, 2.0)
    written = wards.with_name("run.toml")
    written.write_text(
        f'[table]\ndata = "{wards}"\ntarget = "ill"\nclient-column = "ward"\n[table.errors]\nbp = "5 %"\n'
    )
    assert load_config(written, {}) == config


def test_a_result_is_read_where_the_table_is_not(wards: Path) -> None:
    config = load_config(None, options(wards, errors=_none(wards)))
    recorded = json.loads(config.model_dump_json())
    wards.unlink()
    assert RecordedConfig.model_validate(recorded).model_dump() == config.model_dump()
    assert RunConfig.model_validate(recorded) == config
    assert hash(config) == hash(RunConfig.model_validate(recorded))


def _none(wards: Path) -> Path:
    path = wards.with_name("none.toml")
    path.write_text("age = 1\n")
    return path


@pytest.mark.parametrize(
    ("others", "complaint"),
    [
        ({"clients": 3}, "clients: 3 asked for, but the table names 2"),
        ({"concentration": 1.0}, "concentration: the data say"),
        ({"dataset": "digits"}, "cannot be the name of a table"),
        ({"dataset": "two wards"}, "cannot be the name of a table"),
        ({"missing": "guess"}, "table.missing"),
        ({"test_share": 1.5}, "test_share"),
        ({"client_column": "ill"}, "cannot be that of the clients"),
    ],
)
def test_settings_that_do_not_fit_the_table_are_refused(
    wards: Path, others: dict[str, object], complaint: str
) -> None:
    with pytest.raises(InvalidConfig, match=complaint):
        load_config(None, options(wards, **others))


def test_a_table_of_the_name_of_a_data_set_gets_another(wards: Path) -> None:
    other = wards.rename(wards.with_name("digits.csv"))
    assert load_config(None, options(other)).dataset == "table-digits"


def test_columns_must_be_named_and_the_file_must_be_there(wards: Path) -> None:
    for name in ("data", "target", "client_column"):
        given = {"data": wards, "target": "ill", "client_column": "ward"}
        del given[name]
        with pytest.raises(InvalidConfig, match=f"--{name.replace('_', '-')} is missing"):
            table_settings(given)
    with pytest.raises(InvalidConfig, match="cannot be read"):
        load_config(None, options(wards.with_name("absent.csv")))
    assert table_settings({"clients": 3}) == {"clients": 3}


def test_rows_that_are_left_out_are_counted(wards: Path) -> None:
    wards.write_text(wards.read_text() + "?,1,a,1\n")
    with pytest.raises(InvalidConfig, match="row 14, column 'age'"):
        load_config(None, options(wards))
    config = load_config(None, options(wards, missing="drop"))
    assert notices(config.table) == [f"{wards}: 1 rows with missing values were left out, 12 are used"]
    assert notices(None) == []
