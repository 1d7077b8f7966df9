from report_samples import files, result

from fedcert.app.report.words import participants, setting


def test_a_setting_in_words() -> None:
    config = files(result(scale=1e-5, hidden=(64, 32), concentration=0.1))[0]["config"]
    assert setting(config) == "digits, 2 clients, α\u00a00.1, hidden 64×32, scale 1e-05"
    config = files(result(scale=1e-5, hidden=(64, 32), concentration=0.1, posterior="laplace"))[0]["config"]
    assert setting(config).endswith("hidden 64×32, scale 1e-05 (Laplace)")


def test_clients_that_are_missing_are_told() -> None:
    summary, _ = files(result())
    assert participants(summary) == "2 clients"
    assert participants(summary | {"clients": summary["clients"][:1]}) == "1 of 2 clients"
