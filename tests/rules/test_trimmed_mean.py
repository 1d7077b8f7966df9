import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rule_cases import exact_map, make_laws, make_rule
from rule_contract import check_tight_image, random_boxes

from fedcert.errors import InvalidWeights
from fedcert.randomness import stream
from fedcert.rules import LinearRule, TrimmedMean


@pytest.mark.slow
@pytest.mark.parametrize("name", ["median", "trimmed-mean"])
@given(seed=st.integers(0, 2**32), clients=st.integers(1, 6), dimension=st.integers(1, 4))
def test_the_image_is_exact_but_for_outward_rounding(name, seed, clients, dimension) -> None:
    generator = stream(seed, "rules")
    rule = make_rule(name, make_laws(generator, clients, dimension))
    check_tight_image(rule, exact_map(rule), random_boxes(generator, clients, dimension))


def test_one_far_client_moves_an_average_but_not_a_median() -> None:
    near = [torch.full((2,), float(i), dtype=torch.float64) for i in range(4)]
    far = torch.full((2,), 1e6, dtype=torch.float64)
    assert LinearRule.fedavg([1] * 5)([*near, far]).min() > 1e5
    for rule in (TrimmedMean.median(5), TrimmedMean(5, 1)):
        assert rule([*near, far]).max() <= 3


@pytest.mark.parametrize(("clients", "trim"), [(1, 0), (2, 0), (3, 1), (4, 1), (7, 3)])
def test_a_median_keeps_one_or_two_values(clients: int, trim: int) -> None:
    assert TrimmedMean.median(clients) == TrimmedMean(clients, trim, "median")


@pytest.mark.parametrize(
    "make", [lambda: TrimmedMean(4, 2), lambda: TrimmedMean(3, -1), lambda: TrimmedMean.median(0)]
)
def test_impossible_rules_raise(make) -> None:
    with pytest.raises(InvalidWeights):
        make()
