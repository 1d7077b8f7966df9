from collections import Counter
from statistics import fmean, stdev

import pytest
from grid_runs import paper_grid, run, sweeps

from reproduction.paper import (
    BETWEEN,
    IID,
    LAWS,
    NON_IID,
    Entry,
    PaperRow,
    configurations,
    direct_shares,
    follows_protocol,
    group_of,
    in_papers_grid,
    in_papers_table,
    pairs,
    papers_grid,
    pooled,
    pooled_column,
    rows_of,
    table2,
    values_in_steps,
)


def test_all_rows_are_there_as_printed() -> None:
    rows = table2()
    assert len(rows) == len({(r.dataset, r.architecture, r.clients, r.group) for r in rows}) == 36
    first = rows[0]
    assert (first.architecture, first.dataset, first.clients, first.group) == ("1×64", "mnist", 2, "Non-IID")
    assert first.entries["fedavg", "transported"] == Entry(52.85, 11.63)
    assert first.entries["pog", "mc_ibp"] == Entry(96.67, 2.89)
    assert rows[-1].entries["fedavg", "seconds"] == Entry(662.59, 31.35)
    assert all(len(row.entries) == 11 for row in rows)
    assert [len(rows_of(*pair)) for pair in pairs()] == [6] * 6


def test_groups_hold_three_concentrations_each() -> None:
    assert {group_of(c) for c in NON_IID} == {"Non-IID"}
    assert {group_of(c) for c in IID} == {"IID"}
    assert {group_of(c) for c in (*BETWEEN, 0.1, 100.0)} == {None}
    assert len(NON_IID) == len(IID) == len(BETWEEN) == 3


@pytest.mark.parametrize("values", [(95.0, 95.0, 100.0), (0.0, 50.0, 100.0), (85.0, 90.0)])
def test_values_in_steps_finds_what_was_averaged(values: tuple[float, ...]) -> None:
    entry = Entry(round(fmean(values), 2), round(stdev(values), 2))
    assert values in values_in_steps(entry, count=len(values))
    assert not values_in_steps(Entry(entry.mean + 0.02, entry.deviation), count=len(values))


def test_mc_ibp_entries_are_means_of_three_values_in_steps_of_five() -> None:
    entries = [row.entries[law, "mc_ibp"] for row in table2() for law in LAWS]
    three = [bool(values_in_steps(entry)) for entry in entries]
    two = [bool(values_in_steps(entry, count=2)) for entry in entries]
    fifty = [bool(values_in_steps(entry, step=2.0)) for entry in entries]
    assert (len(entries), sum(three), sum(fifty)) == (72, 67, 16)
    assert Counter(zip(three, two, strict=True))[False, True] == 3
    left = {entry for entry, *found in zip(entries, three, two, strict=True) if not any(found)}
    assert left == {Entry(96.68, 2.88)}  # twice: 95, 95 and 100 but for one draw in 6,000


def test_rows_of_two_configurations() -> None:
    short = [(row.dataset, row.architecture, row.clients, row.group) for row in table2() for law in LAWS
             if configurations(row, law) == 2]  # fmt: skip
    assert short == [("fashion-mnist", "2×64", clients, "IID") for clients in (2, 3, 5)]


def test_pooling_is_the_deviation_of_all_values() -> None:
    groups = [(1.0, 2.0, 6.0), (4.0, 4.5), (9.0, 9.5, 10.0)]
    entries = [Entry(fmean(group), stdev(group)) for group in groups]
    found = pooled(entries, [len(group) for group in groups])
    values = [value for group in groups for value in group]
    assert (found.mean, found.deviation) == pytest.approx((fmean(values), stdev(values)))


def test_a_deviation_in_the_text_is_that_of_eighteen_configurations() -> None:
    found = pooled_column(rows_of("fashion-mnist", "1×128"), "pog", "seconds")
    assert round(found.mean, 1) == 1594.0  # quoted: 1593.97 ± 2664.92
    assert round(found.deviation, 2) == 2664.92


def laws_agree(row: PaperRow) -> bool:
    """Whether PoG and FedAvg have the same figures, time aside."""
    quantities = ("acc", "local", "direct", "mc_ibp")
    return all(row.entries["pog", name] == row.entries["fedavg", name] for name in quantities)


def test_one_layer_columns_of_both_laws_are_equal() -> None:
    agreeing = Counter(row.architecture for row in table2() if laws_agree(row))
    assert agreeing == {"1×64": 12, "1×128": 12, "2×64": 3}


def test_the_ceilings_are_reached_where_everything_is_accepted() -> None:
    shares = [
        (row.architecture, round(100 * share, 2))
        for row, share in direct_shares()
        if row.entries["fedavg", "direct"].deviation == 0
    ]
    assert Counter(shares) == {("1×64", 95.73): 1, ("1×128", 92.74): 2}
    assert max(share for _, share in direct_shares()) < 0.96


@pytest.mark.parametrize(("architecture", "ceiling"), [("1×64", 0.9573), ("1×128", 0.9274)])
def test_few_direct_figures_are_mc_ibp_times_the_ceiling(architecture: str, ceiling: float) -> None:
    shares = [share for row, share in direct_shares() if row.architecture == architecture]
    assert sum(abs(share - ceiling) < 1e-4 for share in shares) == 2  # of 12: elsewhere boxes are refused too


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, True),
        ({"scale": "learned", "seed": 7, "clients": 100, "events": ("box",)}, True),
        ({"attack_samples": 5}, True),
        ({"radius": 0.5, "confidence_draws": 10, "estimates": ("mc-ibp",)}, True),
        ({"inputs": "first"}, False),
        ({"epsilon": (0.001, 0.01)}, False),
        ({"epsilon": 0.01}, False),
        ({"properties": 20}, False),
        ({"training": {"epochs": 6}}, False),
        ({"rule": "pog"}, False),
        ({"screen": False}, False),
    ],
)
def test_only_the_papers_settings_stand_beside_its_figures(
    settings: dict[str, object], expected: bool
) -> None:
    assert follows_protocol(run(**settings)) is expected


def test_the_papers_grid_has_162_federations_at_each_scale() -> None:
    runs = [*sweeps(), *paper_grid("learned"), *paper_grid(1e-5), run(dataset="digits")]
    for scale in (1e-5, "learned"):
        chosen = papers_grid(runs, scale)
        assert len(chosen) == 162
        assert {one.scale for one in chosen} == {scale}
        assert all(map(in_papers_grid, chosen))


def test_the_table_averages_the_federations_of_both_groups_at_the_papers_scale() -> None:
    assert sum(map(in_papers_table, paper_grid(1e-5, "learned"))) == 36 * 3
