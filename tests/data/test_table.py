import re
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedcert.data.csv_table import digest_of
from fedcert.data.table import Table, plain_names
from fedcert.errors import DataError, InvalidConfig
from fedcert.wire.subject import checked_features
from fedcert_check.features import measured
from fedcert_check.validation import PLAIN_NAME

ROWS = [(40 + i, 100 + 3 * i, "North ward" if i % 3 else "É", i % 2) for i in range(24)]


def written(folder: Path, rows: object = None, header: str = "age,bp,ward,ill") -> Path:
    path = folder / "wards.csv"
    lines = [",".join(map(str, row)) for row in (ROWS if rows is None else rows)]
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def table(path: Path, **others: object) -> Table:
    return Table(path, "ill", "ward", **others)


def test_a_table_becomes_examples_of_each_client(tmp_path: Path) -> None:
    data = table(written(tmp_path), errors=(("bp", "5 mmHg"),)).dataset(seed=0)
    assert data.clients == ("client", "North-ward")
    assert (data.classes, data.image_shape) == (2, None)
    assert data.test.client.bincount().tolist() == [2, 4]
    assert data.train.client.bincount().tolist() == [6, 12]
    assert [feature.name for feature in data.features] == ["age", "bp"]
    assert [feature.unit for feature in data.features] == ["", "mmHg"]
    found = torch.cat([data.train.x, data.test.x]).numpy()
    assert sorted(map(tuple, measured(found, checked_features(data.features)).tolist())) == sorted(
        row[:2] for row in ROWS
    )
    assert torch.equal(data.test.error, torch.tensor([[0.0, 5 / data.features[1].scale]] * 6).double())


def test_scales_are_powers_of_two_and_shifts_multiples_of_them(tmp_path: Path) -> None:
    for feature in table(written(tmp_path)).dataset(seed=0).features:
        assert feature.scale in {2.0**k for k in range(-9, 9)}
        assert feature.shift % feature.scale == 0


def test_without_errors_every_column_varies_by_its_scale(tmp_path: Path) -> None:
    assert (table(written(tmp_path)).dataset(seed=0).test.error == 1).all()


def test_the_seed_chooses_the_test_rows(tmp_path: Path) -> None:
    path = written(tmp_path)
    first, again, other = (table(path).dataset(seed).test.x for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([(1, 2, "A", 0), (1, 3, "A", 0)], "one class"),
        ([(1, 2, "A", 1), (1, 3, "A", 2)], "integers 0, 1, … without a gap"),
        ([(1, 2, "A", 0.5), (1, 3, "A", 1)], "integers"),
        ([(1, 2, "A", 0), (1, 3, "B", 1)], "enough rows"),
        ([(1, "?", "A", 0)], "no row without a missing value"),
    ],
)
def test_tables_that_teach_nothing_are_refused(tmp_path: Path, rows: object, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        table(written(tmp_path, rows), missing="drop").dataset(seed=0)


def test_one_client_is_a_federation_too(tmp_path: Path) -> None:
    data = table(written(tmp_path, [(i, 0, "A", i % 2) for i in range(8)])).dataset(seed=0)
    assert (data.clients, len(data.train), len(data.test)) == (("A",), 6, 2)
    assert data.features[1].scale == 1.0  # a column that does not vary


def test_columns_are_named_if_they_do_not_exist(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(DataError, match="no column 'sick'"):
        Table(path, "sick", "ward").dataset(seed=0)
    with pytest.raises(DataError, match="no column 'site'"):
        Table(path, "ill", "site").dataset(seed=0)
    with pytest.raises(InvalidConfig, match="no column 'bpm' of measurements: did you mean 'bp'"):
        table(path, errors=(("bpm", "5"),)).dataset(seed=0)
    with pytest.raises(InvalidConfig, match="no column 'ill' of measurements"):
        table(path, errors=(("ill", "5"),)).dataset(seed=0)
    with pytest.raises(DataError, match="no column beside"):
        table(written(tmp_path, [("A", 0), ("A", 1)], "ward,ill")).dataset(seed=0)


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    named = table(path, sha256=digest_of(path.read_bytes()))
    named.dataset(seed=0)
    path.write_text(path.read_text().replace("40", "41"))
    with pytest.raises(DataError, match="digest differs"):
        named.dataset(seed=0)


@given(st.lists(st.text(max_size=80), unique=True, max_size=8))
def test_names_are_plain_and_different(given_names: list[str]) -> None:
    found = plain_names(given_names, "client")
    assert all(PLAIN_NAME.fullmatch(name) for name in found)
    assert len({name.casefold() for name in found}) == len(given_names)


def test_settings_that_make_no_sense_are_refused() -> None:
    for share in (0.0, 1.0, float("nan")):
        with pytest.raises(InvalidConfig, match="test_share"):
            table(Path("x.csv"), test_share=share)
    with pytest.raises(InvalidConfig, match=re.escape("cannot be that of the clients")):
        Table(Path("x.csv"), "ward", "ward")
