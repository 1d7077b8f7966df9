from report_samples import files, result

from fedcert.app.report.job import bounds, claim_name, setting, strongest


def test_the_strongest_claim_speaks_of_the_deployed_model() -> None:
    for rule in ("fedavg", "pog"):
        summary, _ = files(result(rule=rule))
        best = strongest(summary)
        assert best is not None
        assert claim_name(best) == f"direct · {rule} · projected"  # not local, which is larger


def test_nothing_may_be_claimed_of_the_deployed_model() -> None:
    summary, _ = files(result())
    assert strongest(summary | {"summary": summary["summary"][:1]}) is None


def test_no_attack_was_made_on_local_models() -> None:
    summary, _ = files(result())
    shown = [bounds(row, {"fedavg": 0.5}).survival for row in summary["summary"]]
    assert shown == [None, 0.5, None]


def test_a_setting_in_words() -> None:
    config = files(result(scale=1e-5, hidden=(64, 32), concentration=0.1))[0]["config"]
    assert setting(config) == "digits, 2 clients, α\u00a00.1, hidden 64×32, scale 1e-5"
