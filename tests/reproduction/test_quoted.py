from reproduction.quoted import aggregates, quotes, retention

CONTRADICTED = {91.39, 46.89, 18.09, 4.02, 57, 3.86, 3.51}


def test_which_figures_of_the_text_contradict_the_table() -> None:
    found = quotes()
    assert len(found) == 20
    assert {quote.printed for quote in found if not quote.agrees} == CONTRADICTED


def test_the_claimed_advantages_of_pog_are_zero_in_the_table() -> None:
    advantages = [quote.recomputed for quote in quotes() if quote.printed in {3.86, 3.51}]
    assert advantages == [0, 0]


def test_quoted_aggregates_are_means_of_six_rows() -> None:
    direct, transported = aggregates("fedavg", "direct"), aggregates("fedavg", "transported")
    assert round(transported["mnist", "2×64"].mean, 2) == 22.51
    assert round(direct["fashion-mnist", "2×64"].mean, 2) == 72.58
    assert round(direct["mnist", "1×64"].mean, 2) == 91.20


def test_the_quoted_retention_fits_a_direct_figure_that_the_table_does_not_have() -> None:
    pair = "fashion-mnist", "1×128"
    transported, direct = aggregates("fedavg", "transported")[pair], aggregates("fedavg", "direct")[pair]
    assert round(retention()[pair]) == 54
    assert round(100 * transported.mean / (direct.mean - 3.51)) == 57
