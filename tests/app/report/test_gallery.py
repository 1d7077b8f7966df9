import pytest
from report_samples import finished

from fedcert.app.report.gallery import grid_cards, run_cards


def test_a_run_shows_every_property_with_every_claim_the_strongest_first() -> None:
    cards = run_cards(finished())
    assert [(card.label, card.attacked) for card in cards] == [(3, True), (7, False)]
    assert [bound.claim for bound in cards[0].bounds] == [
        "direct · fedavg · projected",
        "local · fedavg · projected",
        "direct · pog · projected",
    ]
    assert [card.bounds[0].text for card in cards] == ["12.34 – 25.00 %", "99.99 – 100.00 %"]
    assert cards[0].bounds[0].survival == 271 / 300


def test_a_grid_shows_each_input_once_and_the_least_proven_first() -> None:
    runs = [finished(seed=seed) for seed in (0, 1, 2)]  # one input in common, one of its own each
    cards = grid_cards(runs)
    assert len(cards) == 4
    assert len({card.image for card in cards}) == 4
    assert [card.lower for card in cards] == sorted(card.lower for card in cards)
    assert all(len(card.bounds) == 1 for card in cards)


def test_an_input_is_shown_where_least_is_proven_of_it() -> None:
    weak, strong = finished(seed=1), finished(seed=1, concentration=0.5)
    for entry in weak.properties:
        for row in entry["bounds"]:
            row["lower"] /= 2
    for runs in ([weak, strong], [strong, weak]):
        assert all("α\u00a010" in card.title for card in grid_cards(runs))


@pytest.mark.slow
def test_a_grid_shows_a_limited_number_of_each_data_set() -> None:
    digits = [finished(seed=seed) for seed in range(40)]
    mnist = [finished(seed=seed, dataset="mnist") for seed in range(60, 63)]
    for each in mnist:
        for entry in each.properties:
            entry["image"] += "mnist"
    cards = grid_cards([*digits, *mnist], max_cards=16)
    assert sum(card.dataset == "digits" for card in cards) == 8
    assert sum(card.dataset == "mnist" for card in cards) == 4
    assert cards == grid_cards([*digits, *mnist], max_cards=16)
