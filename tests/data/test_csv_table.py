from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedcert.data import csv_table
from fedcert.data.csv_table import parse, read_bytes
from fedcert.errors import DataError

PATH = Path("wards.csv")


def test_columns_are_numbers_and_one_says_whose_rows_they_are() -> None:
    found = parse(PATH, b"\xef\xbb\xbfage,ward,ill\r\n63, A ,1\r\n\r\n1e2,B,0\n", "ward", drop=False)
    assert found.names == ("age", "ill")
    assert found.numbers == [[63.0, 1.0], [100.0, 0.0]]
    assert found.clients == ["A", "B"]
    assert found.column("ill") == [1.0, 0.0]


@pytest.mark.parametrize("cell", ["", " ", "?", "NA", "nan", "NULL"])
def test_missing_values_are_refused_by_place_or_their_rows_left_out(cell: str) -> None:
    content = f"age,ward\n1,A\n{cell},B\n3,C\n".encode()
    with pytest.raises(DataError, match=r"row 3, column 'age': the value is missing.*--missing drop"):
        parse(PATH, content, "ward", drop=False)
    found = parse(PATH, content, "ward", drop=True)
    assert (found.clients, found.dropped) == (["A", "C"], 1)


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "old", "1,5", "0x10", "1_000", "1e400", "--1", "１e"])
def test_what_is_no_finite_number_is_refused_by_row_and_column(cell: str) -> None:
    with pytest.raises(DataError, match="row 2, column 'age'"):
        parse(PATH, f'age,ward\n"{cell}",A\n'.encode(), "ward", drop=True)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "header and at least one row"),
        (b"age,ward\n", "header and at least one row"),
        (b"age,age\n1,2\n", "two of the same name"),
        (b"age,\n1,2\n", "without a name"),
        (b"age,ward\n1\n", "row 2 has 1 cells"),
        (b"age,ward\n1,2,3\n", "row 2 has 3 cells"),
        (b"age,site\n1,A\n", "no column 'ward': the columns are age, site"),
        (b"age,ward\n1e16,A\n", "beyond"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b'age,ward\n"1,A\n', "not readable"),
        (b"age,ward\n" + b"1" * 200_000 + b",A\n", "not readable"),
    ],
)
def test_malformed_files_are_refused(content: bytes, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        parse(PATH, content, "ward", drop=False)


@given(st.binary(max_size=200))
def test_any_bytes_are_columns_or_refused(content: bytes) -> None:
    try:
        found = parse(PATH, content, "ward", drop=True)
    except DataError:
        return
    assert all(len(row) == len(found.names) for row in found.numbers)


def test_files_that_are_absent_or_huge_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_bytes(tmp_path / "absent.csv")
    (tmp_path / "long.csv").write_bytes(b"12345")
    monkeypatch.setattr(csv_table, "MAX_BYTES", 4)
    with pytest.raises(DataError, match="5 bytes, more than 4"):
        read_bytes(tmp_path / "long.csv")
