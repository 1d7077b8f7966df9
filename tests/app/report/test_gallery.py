import pytest
from report_samples import files, finished, searched

from fedcert.app.report.gallery import grid_cards, run_cards
from fedcert.app.report.runs import FinishedRun


def test_a_run_shows_every_property_with_every_claim_the_strongest_first() -> None:
    cards = run_cards(finished())
    assert [(card.label, card.attacked) for card in cards] == [(3, True), (7, False)]
    assert [shown.claim for shown in cards[0].claims] == [
        "direct · fedavg · projected",
        "local · fedavg · projected",
        "direct · pog · projected",
    ]
    bounds = [card.claims[0].at for card in cards]
    assert [[radius for radius, _ in at] for at in bounds] == [["0.001"]] * 2
    assert [at[0][1].text for at in bounds] == ["12.34 – 25.00 %", "99.99 – 100.00 %"]
    assert bounds[0][0][1].survival == 271 / 300
    assert [card.title for card in cards] == ["test input 0", "test input 1"]


def test_cards_show_every_radius_and_come_least_proven_first() -> None:
    run = finished(epsilon=(0.001, 0.5))
    for entry in run.properties:
        entry["bounds"] = [row | {"lower": 1 - row["lower"], "upper": None} for row in entry["bounds"]]
    cards = run_cards(run)
    assert [card.place for card in cards] == [1, 0]
    for card in cards:
        assert [radius for radius, _ in card.claims[0].at] == ["0.001", "0.5"]
        first, second = (bounds for _, bounds in card.claims[0].at)
        assert first.survival is not None
        assert second.survival is None  # networks were attacked at the first radius only


def test_a_card_names_the_radius_of_the_attack() -> None:
    (first, *_) = run_cards(finished(epsilon=(0.001, 0.5)))
    assert first.attack == f"attack {'succeeds' if first.attacked else 'fails'} at radius 0.001"


def test_a_card_tells_certified_radii_and_leaves_families_out() -> None:
    cards = run_cards(FinishedRun(*files(searched())))
    assert [card.radii for card in cards] == [
        ["certified radius 0.0123 (probability ≥ 50 %)", "certified radius 0.0000 (probability ≥ 95 %)"],
        ["certified radius 0.2500 (probability ≥ 50 %)", "certified radius 0.0599 (probability ≥ 95 %)"],
    ]
    assert run_cards(finished(), ["projected"]) == []


def test_an_input_of_unknown_position_is_named_by_its_own() -> None:
    run = finished()
    for entry in run.properties:
        entry["index"] = -1
    assert [card.title for card in run_cards(run)] == ["property 0", "property 1"]


def test_a_grid_shows_each_input_once_and_the_least_proven_first() -> None:
    runs = [finished(seed=seed) for seed in (0, 1, 2)]  # one input in common, one of its own each
    cards = grid_cards(runs)
    assert len(cards) == 4
    assert len({card.image for card in cards}) == 4
    lower = [card.claims[0].lower for card in cards]
    assert lower == sorted(lower)
    assert all(len(card.claims) == 1 for card in cards)


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
