from typing import Any

import pytest
import torch
from small_runs import SMALL_RUN

from fedcert.app.config import RunConfig
from fedcert.app.run import RunResult, run
from fedcert.certificate import Certificate, Estimate
from fedcert.errors import DataError, FedcertError, InvalidConfig, InvalidLaw, InvalidWeights
from fedcert.model.network import mlp
from fedcert.rules import RuleContext, build_rule

pytestmark = pytest.mark.slow

TINY = SMALL_RUN | {
    "weights": "size",
    "scale": 1e-5,
    "inputs": "correct",
    "properties": 4,
    "centers": 5,
    "mc_samples": 20,
    "attack_samples": 20,
    "aggregate_samples": 30,
}


def tiny(**changes: Any) -> RunResult:
    return run(RunConfig(**TINY | changes))


@pytest.fixture(scope="module", params=["fedavg", "pog"])
def result(request: pytest.FixtureRequest) -> RunResult:
    return tiny(rule=request.param)


def certificates(result: RunResult) -> list[Certificate]:
    return [one.certificate for one in result.proven]


def estimates(result: RunResult) -> list[Estimate]:
    return [one for _, one in result.estimates]


def numbers(result: RunResult) -> dict[str, Any]:
    """All that a run found, but for the time it took."""
    return {
        "accuracy": result.accuracy,
        "certificates": [
            (c.claim, c.lower.tolist(), None if c.upper is None else c.upper.tolist())
            for c in certificates(result)
        ],
        "estimates": [(at, e.name, e.rule, e.successes.tolist(), e.samples) for at, e in result.estimates],
        "messages": [
            (m.client, m.examples, m.law.loc.tolist(), m.law.scale.tolist(), m.cells.log_mass.tolist())
            for m in result.messages
        ],
        "inputs": (result.inputs.examples.x.tolist(), result.inputs.examples.label.tolist()),
        "histograms": result.histograms.tolist(),
    }


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others() -> None:
    first, again, other = numbers(tiny()), numbers(tiny()), numbers(tiny(seed=1))
    assert first == again
    for part, content in first.items():
        assert other[part] != content or part in ("accuracy", "estimates")


def test_a_run_certifies_the_deployed_rule_in_three_ways_and_the_other_directly(result: RunResult) -> None:
    rule = result.config.rule
    (other,) = {"fedavg", "pog"} - {rule}
    claims = [(c.claim.events, c.claim.kind, c.claim.rule) for c in certificates(result)]
    kinds = [("local", rule), ("transported", rule), ("direct", rule), ("direct", other)]
    assert claims == [(family, *kind) for family in ("paper-box", "box", "projected") for kind in kinds]
    with_upper = [c.claim for c in certificates(result) if c.upper is not None]
    assert [(claim.events, claim.kind) for claim in with_upper] == [("projected", "direct")] * 2
    assert all(len(c.lower) == result.config.properties for c in certificates(result))
    assert all(one.seconds > 0 for one in result.proven)


def test_a_run_estimates_every_rule_and_samples_clients_for_the_deployed_one(result: RunResult) -> None:
    samples = {(e.name, e.rule): e.samples for e in estimates(result)}
    assert samples == {
        ("mc-ibp", "fedavg"): result.config.mc_samples,
        ("mc-ibp", "pog"): result.config.mc_samples,
        ("attack-survival", "fedavg"): result.config.attack_samples,
        ("attack-survival", "pog"): result.config.attack_samples,
        ("aggregated-sampling", result.config.rule): result.config.aggregate_samples,
    }
    assert len(result.estimates) == len(samples)


def test_something_is_certified_and_no_certificate_contradicts_the_samples(result: RunResult) -> None:
    limits = {(e.name, e.rule): e.confidence_interval(1 - 1e-9) for e in estimates(result)}
    for certificate in certificates(result):
        claim = certificate.claim
        assert certificate.mean_lower > 0
        if claim.kind != "local":
            proven = "mc-ibp" if claim.events == "paper-box" else "attack-survival"
            assert certificate.mean_lower <= limits[proven, claim.rule][1]
        if certificate.mean_upper is not None:
            assert certificate.mean_upper >= limits["mc-ibp", claim.rule][0]


def test_at_the_learned_scale_projections_certify_more_than_boxes() -> None:
    result = tiny(scale="learned")
    bounds = {(c.claim.events, c.claim.kind, c.claim.rule): c for c in certificates(result)}
    for rule in ("fedavg", "pog"):
        assert bounds["paper-box", "direct", rule].mean_lower < 1e-6
        assert bounds["projected", "direct", rule].mean_lower > bounds["box", "direct", rule].mean_lower
    transported = bounds["projected", "transported", "fedavg"].lower
    upper = bounds["projected", "direct", "fedavg"].upper
    assert upper is not None
    assert (transported <= upper).all()


def test_the_properties_are_inputs_that_the_deployed_model_classifies_correctly(result: RunResult) -> None:
    laws = [message.law for message in result.messages]
    rule = build_rule(result.config.rule, RuleContext(laws, [m.examples for m in result.messages], "size"))
    network = mlp(64, *result.config.hidden, 10)
    predicted = network(rule([law.loc for law in laws]), result.inputs.examples.x).argmax(-1)
    assert len(result.inputs) == result.config.properties
    assert torch.equal(predicted, result.inputs.examples.label)
    assert result.accuracy_on_inputs == 1


def test_the_clients_hold_all_training_examples_between_them(result: RunResult) -> None:
    examples = [message.examples for message in result.messages]
    assert examples == result.histograms.sum(1).tolist()
    assert sum(examples) == result.config.train_examples
    assert [message.client for message in result.messages] == ["client-0", "client-1"]


def test_every_stage_is_timed(result: RunResult) -> None:
    stages = {"data", "training", "properties", "messages", "certification", "estimates"}
    assert set(result.timings) == stages
    assert all(seconds >= 0 for seconds in result.timings.values())


def test_the_posterior_scale_is_the_configured_one_or_learned() -> None:
    fixed, learned = (tiny(scale=scale, screen=False, events="box") for scale in (1e-3, "learned"))
    for message, other in zip(fixed.messages, learned.messages, strict=True):
        assert (message.law.scale == 1e-3).all()
        assert len(other.law.scale.unique()) > 1
        assert torch.equal(message.law.loc, other.law.loc)


def test_where_nothing_can_be_proven_the_bounds_are_zero() -> None:
    result = tiny(epsilon=1.0)
    assert all(len(message.cells) == 0 for message in result.messages)
    for certificate in certificates(result):
        assert certificate.mean_lower == 0
        assert certificate.upper is None or certificate.mean_upper == pytest.approx(0, abs=1e-6)


def test_without_screening_the_cells_serve_every_property() -> None:
    screened, unscreened = (tiny(screen=screen, events="paper-box") for screen in (True, False))
    assert all(len(message.cells.member) == TINY["properties"] for message in screened.messages)
    assert all(len(message.cells.member) == 1 for message in unscreened.messages)


@pytest.mark.parametrize("rule", ["fedavg", "pog"])
def test_equal_laws_have_equal_direct_certificates(rule: str) -> None:
    """With one scale for all clients and uniform weights, both rules are the plain mean."""
    result = tiny(rule=rule, weights="uniform")
    direct = {(c.claim.events, c.claim.rule): c for c in certificates(result) if c.claim.kind == "direct"}
    for events in ("paper-box", "box", "projected"):
        fedavg, pog = (direct[events, name] for name in ("fedavg", "pog"))
        assert torch.allclose(fedavg.lower, pog.lower, rtol=0, atol=1e-9)
        if fedavg.upper is not None and pog.upper is not None:
            assert torch.allclose(fedavg.upper, pog.upper, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"properties": 81}, "81 asked for, but digits has 80 test inputs"),
        ({"properties": 80}, "fewer properties"),
        ({"clients": 500}, "fewer clients"),
    ],
)
def test_more_than_the_data_can_give_is_an_error_that_says_what_to_change(
    change: dict[str, Any], problem: str
) -> None:
    with pytest.raises(DataError, match=problem):
        tiny(**change)


@pytest.mark.parametrize("rule", ["median", "trimmed-mean", "server-step"])
def test_every_rule_can_be_deployed(rule: str) -> None:
    """Rules without a closed-form law have no direct claim of their own; fedavg and pog always have."""
    result = tiny(rule=rule, clients=3, events=("box", "projected"))
    claims = [(c.claim.events, c.claim.kind, c.claim.rule) for c in certificates(result)]
    linear = rule == "server-step"
    direct = [("direct", rule)] * linear + [("direct", "fedavg"), ("direct", "pog")]
    boxes = [("local", rule), ("transported", rule), *direct]
    projected = [("local", rule), *[("transported", rule)] * linear, *direct]
    assert claims == [("box", *c) for c in boxes] + [("projected", *c) for c in projected]
    assert {e.rule for e in estimates(result) if e.name == "attack-survival"} == {name for _, name in direct}
    transported = certificates(result)[1]
    assert transported.mean_lower > 0.5
    assert {e.rule for e in estimates(result) if e.name == "aggregated-sampling"} == {rule}
    assert all(len(message.cells) == 0 for message in result.messages)


QUICK = {"epochs": 40, "batch_size": 32, "learning_rate": 0.01, "kl_coefficient": 1e-5}
PROJECTED = {"events": ("projected",), "claims": ("transported", "direct"), "compare": (), "scale": "learned"}


@pytest.mark.parametrize("rule", ["prior-corrected", "wasserstein", "reverse-kl", "forward-kl"])
def test_a_published_law_can_be_deployed(rule: str) -> None:
    result = tiny(rule=rule, weights="uniform", properties=2, **PROJECTED)
    assert [(c.claim.kind, c.claim.rule) for c in certificates(result)] == [
        ("transported", rule),
        ("direct", rule),
    ]
    assert certificates(result)[1].mean_lower > 0.5


@pytest.mark.parametrize("posterior", ["laplace", "ensemble"])
def test_other_posteriors_are_certified(posterior: str) -> None:
    result = tiny(posterior=posterior, members=2, laplace=QUICK, properties=2, **PROJECTED)
    components = [len(message.law.components) for message in result.messages]
    assert components == [2 if posterior == "ensemble" else 1] * 2
    assert certificates(result)[1].mean_lower > 0.3


def test_explicit_weights_may_be_negative_in_a_linear_rule_only() -> None:
    result = tiny(rule="linear", weights=(0.8, 0.5, -0.3), clients=3, events=("box", "projected"))
    claims = [(c.claim.events, c.claim.kind, c.claim.rule) for c in certificates(result)]
    for events in ("box", "projected"):
        assert (events, "transported", "linear") in claims
        assert (events, "direct", "linear") in claims
    with pytest.raises(InvalidWeights, match="negative"):
        tiny(rule="fedavg", weights=(0.8, 0.5, -0.3), clients=3)
    with pytest.raises(InvalidConfig, match="one weight for each client"):
        tiny(rule="linear", weights=(0.5, 0.5), clients=3)


def test_boxes_do_not_collapse_where_the_papers_cells_do() -> None:
    """Skewed clients: screening leaves the paper's tuples without cells, though the average is safe."""
    result = tiny(clients=4, concentration=0.3, properties=8, events=("paper-box", "box"))
    lower = {(c.claim.events, c.claim.kind): c.mean_lower for c in certificates(result)}
    assert lower["box", "transported"] > lower["paper-box", "transported"] + 0.3
    assert lower["box", "transported"] > 0.97 * lower["box", "direct"]


def test_several_radii_are_certified_in_one_run_as_each_would_be_alone() -> None:
    asked = {"events": ("projected",), "scale": "learned", "properties": 2}
    both = tiny(epsilon=(0.001, 0.05), **asked)
    found = {(one.epsilon, one.certificate.claim): one.certificate for one in both.proven}
    assert [one.epsilon for one in both.proven] == 4 * [0.001] + 4 * [0.05]
    assert {epsilon for epsilon, _ in both.estimates} == set(both.attacked) == {0.001, 0.05}
    for epsilon in (0.001, 0.05):
        for one in tiny(epsilon=epsilon, **asked).proven:
            assert torch.equal(one.certificate.lower, found[epsilon, one.certificate.claim].lower)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"properties": 81}, DataError, "81 asked for"),
        ({"rule": "linear", "weights": (0.5, 0.25, 0.25)}, InvalidConfig, "2 numbers"),
        ({"rule": "fedavg", "weights": (1.5, -0.5)}, InvalidWeights, "negative"),
        ({"rule": "server-step", "weights": (0.5, 0.5)}, InvalidConfig, "uniform or size"),
        (
            {"rule": "median", "events": ("projected",), "claims": ("transported", "direct"), "compare": ()},
            InvalidConfig,
            "no transported or direct claim under the rule median: ask for paper-box or box events",
        ),
        ({"posterior": "ensemble", "rule": "wasserstein", "compare": ()}, InvalidLaw, "one Gaussian of each"),
        ({"posterior": "ensemble", "compare": ("pog",)}, InvalidLaw, "pooling take mixtures"),
        ({"posterior": "laplace", "rule": "prior-corrected"}, InvalidConfig, "give prior_scale"),
        ({"rule": "conflation", "weights": (0.5, 0.5)}, InvalidConfig, "takes no numbers"),
        ({"claims": ("local",), "radius": 0.5}, InvalidConfig, "which radii and softmax decisions need"),
        ({"claims": ("local",), "softmax_margins": 1.0}, InvalidConfig, "which radii and softmax"),
    ],
)
def test_what_cannot_be_certified_is_refused_before_any_client_is_trained(
    settings: dict[str, Any], error: type[FedcertError], said: str
) -> None:
    def once(name: str, make: Any, form: Any) -> Any:
        raise AssertionError(f"{name} is made")

    with pytest.raises(error, match=said):
        run(RunConfig(**TINY | settings), once=once)
