"""Two state dicts become a posterior, by the names of a module or by the order of a network's layers."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import fedcert
from fedcert.adapters.posterior import Posterior
from fedcert.adapters.state_dicts import from_state_dicts
from fedcert.errors import InvalidLaw, ShapeMismatch, UnreadableFile
from fedcert.laws import DiagonalGaussian
from fedcert.model.from_torch import from_torch
from fedcert.model.network import mlp
from fedcert_check import certificates, check

MODULE = nn.Sequential(nn.Flatten(), nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
STATE = MODULE.state_dict()
SPREAD = {name: torch.rand_like(own) + 0.1 for name, own in STATE.items()}
WIDE = nn.Sequential(*(nn.Linear(1, 1) for _ in range(12)))


def test_a_module_and_its_network_give_the_same_law() -> None:
    by_name, in_order = (from_state_dicts(model, STATE, SPREAD) for model in (MODULE, mlp(2, 3, 2)))
    assert by_name.network == in_order.network == mlp(2, 3, 2)
    for own in (by_name.law, in_order.law):
        assert own.loc.tolist() == torch.cat([value.flatten() for value in STATE.values()]).tolist()
        assert own.scale.tolist() == torch.cat([value.flatten() for value in SPREAD.values()]).tolist()


def test_layers_of_a_residual_addition_are_matched_too() -> None:
    body = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    module = nn.Sequential(
        nn.Linear(2, 3), fedcert.Residual(body, nn.Linear(3, 2)), nn.ReLU(), nn.Linear(2, 2)
    )
    means = module.state_dict()
    deviations = {name: torch.full_like(own, 0.1) for name, own in means.items()}
    first, second = (from_state_dicts(own, means, deviations) for own in (module, from_torch(module)))
    assert first.network == second.network
    assert torch.equal(first.law.loc, second.law.loc)
    assert torch.equal(first.law.loc, nn.utils.parameters_to_vector(module.parameters()).double())


def test_files_of_state_dicts_are_read_and_nothing_in_them_is_run(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("means.pt", "deviations.pt")]
    for path, own in zip(paths, (STATE, SPREAD), strict=True):
        torch.save(own, path)
    found = from_state_dicts(MODULE, str(paths[0]), paths[1])
    assert torch.equal(found.law.loc, from_state_dicts(MODULE, STATE, SPREAD).law.loc)
    assert torch.equal(found.law.scale, from_state_dicts(MODULE, STATE, SPREAD).law.scale)
    torch.save(MODULE, paths[0])  # a pickled module
    for wrong in (paths[0], tmp_path / "nowhere.pt", __file__):
        with pytest.raises(UnreadableFile, match="means: no state dict"):
            from_state_dicts(MODULE, wrong, SPREAD)
    torch.save([1.0], paths[1])
    with pytest.raises(InvalidLaw, match="means: a state dict is needed, or the path of one, not a list"):
        from_state_dicts(MODULE, paths[1], SPREAD)


def test_a_pair_of_state_dicts_is_told_who_reads_it() -> None:
    with pytest.raises(InvalidLaw, match="posterior 0 is a pair of state dicts: read it with"):
        fedcert.certify_classification([(STATE, SPREAD)], MODULE, [[0.1, 0.2]], [0], epsilon=0.1)


def test_the_order_of_the_entries_does_not_matter_and_10_comes_after_2() -> None:
    state = WIDE.state_dict()
    spread = {name: torch.ones_like(own) for name, own in state.items()}
    found = from_state_dicts(from_torch(WIDE), dict(sorted(state.items(), reverse=True)), spread)
    assert found.law.loc.tolist() == [own.item() for own in state.values()]


@pytest.mark.parametrize(
    ("means", "deviations", "words"),
    [
        ({"1.weight": STATE["1.weight"]}, {}, "1 modules .* 2 layers"),
        ({**STATE, "5.weight": torch.ones(1)}, {}, "3 modules"),
        ({**STATE, "3.scale": torch.ones(1)}, {}, r"no parameter for 3\.scale"),
        (STATE, {"4.weight": torch.ones(1)}, r"a deviation of 4\.weight, which has no mean"),
        (
            {**STATE, "3.bias": torch.ones(3)},
            {},
            r"3\.bias has the shape \(3,\), but .* needs \(2,\)",
        ),
        ({"1.bias": STATE["1.bias"], "3.bias": STATE["3.bias"]}, {}, r"no mean of 1\.weight"),
    ],
)
def test_what_does_not_fit_a_network_is_named(means: Any, deviations: Any, words: str) -> None:
    with pytest.raises(ShapeMismatch, match=words):
        from_state_dicts(mlp(2, 3, 2), means, {**SPREAD, **deviations} if deviations else None)


def test_negative_deviations_are_refused() -> None:
    with pytest.raises(InvalidLaw, match="scale"):
        from_state_dicts(MODULE, STATE, {name: -own for name, own in SPREAD.items()})


def test_a_posterior_is_of_its_network_and_makes_its_message() -> None:
    law = DiagonalGaussian(torch.zeros(6).double(), torch.ones(6).double())
    with pytest.raises(ShapeMismatch, match="a law of 6 parameters for a network of 17"):
        Posterior(mlp(2, 3, 2), law)
    message = Posterior(mlp(2, 2), law).message("clinic-a", 120)
    assert (message.client, message.examples, len(message.cells), message.law) == ("clinic-a", 120, 0, law)


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
def test_a_folded_network_is_certified_and_proved(tmp_path: Path) -> None:
    """Normalisation and dropout leave a network of linear layers, which the checker knows."""
    clients = []
    for seed in range(2):
        torch.manual_seed(seed)
        module = nn.Sequential(nn.Linear(2, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(), nn.Linear(6, 2))
        module(torch.rand(64, 2))  # statistics of its own
        with torch.no_grad():
            module[0].weight.copy_(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]).repeat(3, 1))
            module[4].weight.copy_(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]).repeat(1, 3))
        spread = {
            name: torch.full_like(own, 0.02) for name, own in module.named_parameters() if name != "1.weight"
        }
        clients.append(fedcert.from_state_dicts(module.eval(), module.state_dict(), spread))
    x, y = [[0.9, 0.1], [0.1, 0.9]], [0, 1]
    result = fedcert.certify_classification(clients, x=x, y=y, epsilon=0.01)
    assert result.problem.network == mlp(2, 6, 2)
    assert (result.lower > 0.99).all()
    assert all(check(path).verdict for path in certificates(result.save(tmp_path / "run")))
