"""A claimed conclusion is compared field by field."""

import json

import pytest
from stated_bounds import make_bounds

from fedcert_check.conclusions import conclude, verify

FOUND = conclude(make_bounds([0.9, 0.8], [0.95, 1.0]))


def test_what_was_written_is_verified_again() -> None:
    for conclusion in (*FOUND, *conclude(make_bounds([1.0], chosen="correct"))):
        assert verify(json.loads(json.dumps(conclusion.entry())), conclusion) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("value", 0.8500001),
        ("value", None),
        ("value", True),
        ("value", float("nan")),
        ("upper", None),
        ("epsilon", 0.01),
        ("rule", "pog"),
        ("name", "vote"),
        ("sentence", "All is well."),
        ("assumptions", []),
    ],
)
def test_every_field_counts(field: str, value: object) -> None:
    said = verify(FOUND[0].entry() | {field: value}, FOUND[0])
    assert said is not None
    assert "expected-accuracy (fedavg, radius 0.001)" in said
    assert f": {field} is {value!r}, but" in said


def test_fields_may_neither_be_missing_nor_added() -> None:
    entry = FOUND[0].entry()
    assert "note" in (verify(entry | {"note": "safe"}, FOUND[0]) or "")
    del entry["assumptions"]
    assert "has the fields" in (verify(entry, FOUND[0]) or "")


def test_true_is_no_number() -> None:
    (whole, *_) = conclude(make_bounds([1.0]))
    assert verify(whole.entry() | {"value": 1}, whole) is None
    assert "value is True" in (verify(whole.entry() | {"value": True}, whole) or "")


def test_long_sentences_are_shown_where_they_differ() -> None:
    entry = FOUND[0].entry()
    said = verify(entry | {"sentence": entry["sentence"].replace("radius 0.001", "radius 0.009")}, FOUND[0])
    assert said is not None
    assert "radius 0.009" in said
    assert "radius 0.001 around" in said
    shown = verify(entry | {"assumptions": [*entry["assumptions"][:-1], "None."]}, FOUND[0])
    assert "assumptions is 'None.', but 'The upper bound" in (shown or "")
