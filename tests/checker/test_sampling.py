"""Some properties, drawn at random: the right number, each as likely, and proved as among all."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_folders import write_run
from saved import certify_all, make_federation, make_rules

from fedcert_check import check
from fedcert_check.sampling import Sample


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**64 - 1))
def test_a_sample_has_as_many_different_properties_as_asked_for(size: int, count: int, seed: int) -> None:
    chosen = Sample(size, seed).choose(count, "a.safetensors")
    if size >= count:
        assert chosen is None
        return
    assert len(set(chosen)) == size
    assert list(chosen) == sorted(chosen)
    assert 0 <= chosen[0] <= chosen[-1] < count
    assert chosen == Sample(size, seed).choose(count, "a.safetensors")


def test_every_property_may_be_drawn_and_files_have_samples_of_their_own() -> None:
    drawn = Counter(p for seed in range(600) for p in Sample(2, seed).choose(6, "a") or ())
    assert set(drawn) == set(range(6))
    assert min(drawn.values()) > 150  # 200 on average, with a deviation of 12
    names = [f"{i}.safetensors" for i in range(20)]
    assert len({Sample(3, 7).choose(50, name) for name in names}) > 15


def test_the_default_seed_cannot_be_foreseen() -> None:
    assert len({Sample.of(1).seed for _ in range(20)}) == 20
    assert Sample.of(1, 5) == Sample(1, 5)


@pytest.mark.slow
def test_a_property_is_proved_in_a_sample_as_among_all(tmp_path: Path) -> None:
    """Every family of events and every form of witness."""
    federation = make_federation(widths=(1, 2), scale=0.5)
    rule = make_rules(federation)["fedavg"]
    for number, certificate in enumerate(certify_all(federation, rule, 2)):
        path = federation.save(tmp_path / str(number), certificate, rule)
        whole, some = check(path).by_property, check(path, sample=Sample(2, number))
        assert len(some.by_property) == 2
        assert some.by_property.items() <= whole.items()
        assert some.outcome == "not refuted"
        assert not some.verdict


@pytest.mark.slow
def test_projected_events_too(tmp_path: Path) -> None:
    for path in sorted((write_run(tmp_path) / "certificates").iterdir()):
        whole, some = check(path).by_property, check(path, sample=Sample(2, 1)).by_property
        assert len(some) == 2
        assert some.items() <= whole.items()
