import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedcert.app.config import RunConfig, setting_names
from fedcert.app.spelling import require_known, suggestion
from fedcert.errors import InvalidConfig

NAMES = {"clients": (), "train_examples": (), "training": ("epochs", "batch_size")}


def test_names_with_hyphens_and_underscores_are_known_at_every_level() -> None:
    require_known({"train-examples": 1, "clients": 2, "training": {"batch-size": 3, "epochs": 4}}, NAMES)
    require_known({"train_examples": 1, "training": "not a table: that is for others to say"}, NAMES)


def test_all_settings_are_known_by_their_own_names() -> None:
    config = RunConfig().model_dump(mode="json")
    require_known(config, setting_names())
    assert config.keys() == setting_names().keys()
    assert set(config["training"]) == set(setting_names()["training"])


@given(st.text(), st.sampled_from(["", "training"]))
def test_every_other_name_is_refused_in_one_printable_line(name: str, inside: str) -> None:
    known = NAMES["training"] if inside else NAMES
    if name.replace("-", "_") in known:
        return
    with pytest.raises(InvalidConfig, match="no setting") as error:
        require_known({inside: {name: 1}} if inside else {name: 1}, NAMES)
    assert str(error.value).isprintable()
    assert ("[training]" in str(error.value)) == bool(inside)


def test_a_very_long_name_is_cut() -> None:
    with pytest.raises(InvalidConfig) as error:
        require_known({"x" * 10**6: 1}, NAMES)
    assert len(str(error.value)) < 200


def test_what_resembles_nothing_gets_the_whole_list() -> None:
    assert suggestion("xyz", NAMES) == "must be one of clients, train-examples, training"
