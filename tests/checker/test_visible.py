"""What is printed of foreign texts."""

from hypothesis import given
from hypothesis import strategies as st

from fedcert_check.visible import visible


@given(st.text(st.characters()))
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert visible(shown) == shown
    shown.encode()


def test_ordinary_texts_stay_as_they_are() -> None:
    assert visible("Größe ≤ 1: 'a b'") == "Größe ≤ 1: 'a b'"


def test_commands_line_ends_and_directions_are_spelled_out() -> None:
    assert visible("\x1b[2K\r\n\t\u202e\ud800\x9b") == r"\x1b[2K\r\n\t\u202e\ud800\x9b"
