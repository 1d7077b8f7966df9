"""What the library posteriors draws is the law that is read of it."""

from typing import Any

import pytest
import torch
from integrations import assert_law, library, small_data, small_module
from torch import Tensor, nn
from torch.func import functional_call

from fedcert.adapters import from_posteriors
from fedcert.errors import InvalidLaw

posteriors = library("posteriors")
torchopt = library("torchopt")
MODEL = small_module()
PARAMETERS = {name: own.detach() for name, own in MODEL.named_parameters()}


def log_posterior(parameters: Any, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    x, y = batch
    logits = functional_call(MODEL, dict(parameters.items()), (x,))
    prior = sum(own.square().sum() for own in parameters.values())
    return -nn.functional.cross_entropy(logits, y) - 0.1 * prior, torch.tensor([])


def states() -> dict[str, tuple[Any, Any]]:
    """The state of each diagonal method after some updates, and how the library samples from it."""
    batch = small_data()
    vi = posteriors.vi.diag.build(log_posterior, torchopt.adam(lr=0.05), init_log_sds=-1.0)
    found = {"vi": (vi.init(PARAMETERS), vi.update, posteriors.vi.diag.sample)}
    fisher = posteriors.laplace.diag_fisher.build(log_posterior, init_prec_diag=2.0)
    found["laplace"] = (fisher.init(PARAMETERS), fisher.update, posteriors.laplace.diag_fisher.sample)
    filtering = posteriors.ekf.diag_fisher.build(log_posterior, lr=0.1, init_sds=0.3)
    found["filter"] = (filtering.init(PARAMETERS), filtering.update, posteriors.ekf.diag_fisher.sample)
    trained = {}
    for name, (state, update, sample) in found.items():
        for _ in range(3):
            state, _ = update(state, batch)
        trained[name] = state, sample
    return trained


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("method", ["vi", "laplace", "filter"])
def test_samples_have_the_moments_of_the_law(method: str) -> None:
    torch.manual_seed(0)
    state, sample = states()[method]
    found = from_posteriors(MODEL, state)
    draws = dict(sample(state, torch.Size([4000])).items())
    assert_law(found, list(PARAMETERS), draws)
    mean = torch.cat([state.params[name].flatten() for name in PARAMETERS])
    assert torch.equal(found.law.loc, mean.double())


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_deviations_are_the_librarys_own_numbers() -> None:
    found = states()
    expected = {
        "vi": torch.exp(found["vi"][0].log_sd_diag["0.weight"]),
        "laplace": found["laplace"][0].prec_diag["0.weight"].sqrt().reciprocal(),
        "filter": found["filter"][0].sd_diag["0.weight"],
    }
    for method, own in expected.items():
        assert torch.equal(from_posteriors(MODEL, found[method][0]).law.scale[:10], own.flatten().double())


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_parameters_that_a_state_leaves_out_are_fixed() -> None:
    last = {name: own for name, own in PARAMETERS.items() if name.startswith("2.")}
    state = posteriors.laplace.diag_fisher.init(last, 4.0)
    law = from_posteriors(MODEL, state).law
    assert law.scale.tolist() == [0.0] * 15 + [0.5] * 18


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_other_states_are_refused_by_name() -> None:
    dense = posteriors.vi.dense.init(PARAMETERS, torchopt.adam())
    with pytest.raises(
        InvalidLaw, match=r"posteriors\.vi\.dense\.VIDenseState: supported are posteriors\.vi\.diag"
    ):
        from_posteriors(MODEL, dense)
    with pytest.raises(InvalidLaw, match="SGLDState"):
        from_posteriors(MODEL, posteriors.sgmcmc.sgld.init(PARAMETERS))
    with pytest.raises(InvalidLaw, match=r"dict: supported are"):
        from_posteriors(MODEL, PARAMETERS)
    single = posteriors.laplace.diag_fisher.init(torch.zeros(3), 1.0)
    with pytest.raises(InvalidLaw, match="no dictionary"):
        from_posteriors(MODEL, single)
