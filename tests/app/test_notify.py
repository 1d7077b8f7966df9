import pytest

from fedcert.app.notify import notify


def test_a_notice_is_one_line_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    notify("two\nlines,  and \x1b[2K")
    said = capsys.readouterr()
    assert said.err == "fedcert: two lines, and \\x1b[2K\n"
    assert said.out == ""
