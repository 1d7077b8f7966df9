"""What laplace-torch draws is the law that is read of it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from integrations import assert_law, library, small_data, small_module
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from fedcert import BlockGaussian, DenseGaussian, certify_classification
from fedcert.adapters import from_laplace
from fedcert.errors import InvalidLaw, UnsupportedLayer
from fedcert.laws.block_layers import Blocks
from fedcert.model.network import mlp
from fedcert_check import check

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
laplace = library("laplace")
NAMES = ["0.weight", "0.bias", "2.weight", "2.bias"]


def fitted(model: nn.Module, subset: str = "all", structure: str = "diag", **options: Any) -> Any:
    la = laplace.Laplace(model, "classification", subset, structure, prior_precision=3.0, **options)
    la.fit(DataLoader(TensorDataset(*small_data()), batch_size=10))
    return la


def test_samples_have_the_moments_of_the_law() -> None:
    model = small_module()
    la = fitted(model, temperature=0.5)
    found = from_laplace(la)
    sizes = [own.numel() for own in model.parameters()]
    draws = la.sample(4000, generator=torch.Generator().manual_seed(1)).split(sizes, dim=1)
    assert_law(found, NAMES, dict(zip(NAMES, draws, strict=True)))
    assert found.network == mlp(2, 5, 3)
    assert torch.equal(found.law.loc, la.mean.double())
    assert torch.equal(found.law.scale, la.posterior_scale.double())


def test_samples_of_a_full_approximation_have_its_covariance() -> None:
    model = small_module()
    la = fitted(model, structure="full", temperature=0.5)
    found = from_laplace(la)
    assert isinstance(found.law, DenseGaussian)
    assert torch.equal(found.law.loc, la.mean.double())
    assert torch.equal(found.law.factor, la.posterior_scale.double())  # nn.Linear after nn.Linear: θ's order
    own, theirs = (
        law.double() - found.law.loc
        for law in (
            found.law.sample(20_000, torch.Generator().manual_seed(2)),
            la.sample(20_000, generator=torch.Generator().manual_seed(1)),
        )
    )
    covariance = found.law.covariance.matrix
    deviation = covariance.diagonal().sqrt()
    for drawn in (own, theirs):
        moments = drawn.mT @ drawn / len(drawn)
        apart = (moments - covariance) / (deviation[:, None] * deviation[None, :])
        assert apart.abs().max() < 6 * (2 / len(drawn)) ** 0.5
    assert (covariance / (deviation[:, None] * deviation[None, :])).abs().fill_diagonal_(0).max() > 0.1


def test_what_was_frozen_before_a_full_fit_is_fixed() -> None:
    model = small_module()
    model[0].requires_grad_(False)
    law = from_laplace(fitted(model, structure="full")).law
    assert isinstance(law, DenseGaussian)
    assert not law.factor[:15].any()
    assert law.factor[15:].any(1).all()


def test_a_full_posterior_is_certified_and_proved(tmp_path: Path) -> None:
    posteriors = []
    for seed in range(2):
        la = laplace.Laplace(small_module(), "classification", "all", "full", prior_precision=1e4)
        la.fit(DataLoader(TensorDataset(*small_data(seed)), batch_size=10))
        posteriors.append(from_laplace(la))
    x = torch.rand(6, 2, generator=torch.Generator().manual_seed(0))
    y = posteriors[0].network(posteriors[0].law.loc, x.double()).argmax(-1)
    result = certify_classification(posteriors, x=x, y=y, epsilon=0.001)
    assert result.lower.mean() > 0.5
    result.save(tmp_path)
    for path in sorted(tmp_path.glob("certificates/*.safetensors")):
        assert check(path).verdict


def test_the_mean_is_that_of_the_fit_whatever_the_model_does_later() -> None:
    model = small_module()
    la = fitted(model)
    mean = la.mean.double().clone()
    with torch.no_grad():
        model[0].weight.zero_()
    assert torch.equal(from_laplace(la).law.loc, mean)


def test_another_structure_is_refused_by_name() -> None:
    la = fitted(small_module(), "last_layer", "diag")
    other = type("SubnetLaplace", (type(la),), {})
    la.__class__ = other
    with pytest.raises(InvalidLaw, match=r"SubnetLaplace: supported are laplace\.DiagLaplace"):
        from_laplace(la)


def covariance_of(law: BlockGaussian) -> Tensor:
    """Of all parameters; those without a block have none."""
    dense = Blocks(law.loc, torch.zeros_like(law.loc), law.blocks, 0.0).dense()
    return dense.covariance.matrix


@pytest.mark.parametrize("prior", [3.0, [3.0, 5.0, 7.0, 9.0]])
def test_a_kronecker_posterior_has_the_covariance_that_the_library_states(prior: Any) -> None:
    la = laplace.Laplace(small_module(), "classification", "all", "kron", prior_precision=torch.tensor(prior))
    la.fit(DataLoader(TensorDataset(*small_data()), batch_size=10))
    law = from_laplace(la).law
    assert isinstance(law, BlockGaussian)
    assert torch.equal(law.loc, la.mean.double())
    assert torch.allclose(covariance_of(law).float(), la.posterior_precision.to_matrix(-1), atol=1e-5)
    drawn = la.sample(20_000, generator=torch.Generator().manual_seed(1)).double() - law.loc
    own = law.sample(20_000, torch.Generator().manual_seed(1)) - law.loc
    deviation = covariance_of(law).diagonal().sqrt()
    for samples in (drawn, own):
        apart = (samples.mT @ samples / len(samples) - covariance_of(law)) / deviation.outer(deviation)
        assert apart.abs().max() < 6 * (2 / len(samples)) ** 0.5


@pytest.mark.parametrize("structure", ["diag", "full", "kron"])
def test_a_posterior_of_the_last_layer_leaves_all_else_fixed(structure: str) -> None:
    model = small_module()
    la = fitted(model, "last_layer", structure)
    posterior = from_laplace(la)
    law = posterior.law
    assert posterior.network == mlp(2, 5, 3)
    assert torch.equal(law.loc, nn.utils.parameters_to_vector(model.parameters()).double())
    drawn = la.sample(20_000, generator=torch.Generator().manual_seed(1)).double() - law.loc[15:]
    own = law.sample(20_000, torch.Generator().manual_seed(2)) - law.loc
    assert not own[:, :15].any()
    one, other = (samples.mT @ samples / len(samples) for samples in (own[:, 15:], drawn))
    deviation = other.diagonal().sqrt()
    assert ((one - other) / deviation.outer(deviation)).abs().max() < 6 * 2 * (2 / len(own)) ** 0.5


@pytest.mark.parametrize(
    ("subset", "structure"), [("all", "kron"), *(("last_layer", s) for s in ("diag", "full", "kron"))]
)
def test_posteriors_with_structure_are_certified_and_proved(
    subset: str, structure: str, tmp_path: Path
) -> None:
    posteriors = []
    for seed in range(2):
        la = laplace.Laplace(small_module(), "classification", subset, structure, prior_precision=1e4)
        la.fit(DataLoader(TensorDataset(*small_data(seed)), batch_size=10))
        posteriors.append(from_laplace(la))
    x = torch.rand(6, 2, generator=torch.Generator().manual_seed(0))
    y = posteriors[0].network(posteriors[0].law.loc, x.double()).argmax(-1)
    result = certify_classification(posteriors, x=x, y=y, epsilon=0.001)
    assert result.lower.mean() > 0.5
    result.save(tmp_path)
    for path in sorted(tmp_path.glob("certificates/*.safetensors")):
        assert check(path).verdict


IMAGE = (1, 5, 5)


def small_images(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(30, *IMAGE, generator=generator), torch.arange(30) % 3


def fitted_to_images(subset: str, structure: str, prior: float, seed: int = 0) -> Any:
    groups = 1 if (subset, structure) == ("all", "kron") else 2  # the library factors kernels of one group
    module = nn.Sequential(
        nn.Conv2d(1, 4, 2, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 3, stride=2, groups=groups), nn.ReLU(),
        nn.Flatten(), nn.Linear(8, 3),
    )  # fmt: skip
    for own in module.parameters():
        own.data = torch.randn(own.shape, generator=torch.Generator().manual_seed(0))
    la = laplace.Laplace(module, "classification", subset, structure, prior_precision=prior)
    la.fit(DataLoader(TensorDataset(*small_images(seed)), batch_size=10))
    return la


def test_kernels_of_a_kronecker_posterior_have_the_moments_that_the_library_draws() -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3))
    la = laplace.Laplace(module, "classification", "all", "kron", prior_precision=3.0)
    la.fit(DataLoader(TensorDataset(*small_images()), batch_size=10))
    law = from_laplace(la, shape=IMAGE).law
    assert isinstance(law, BlockGaussian)
    assert [(block.start, block.size) for block in law.blocks] == [(0, 8), (8, 2), (10, 96), (106, 3)]
    assert torch.allclose(covariance_of(law).float(), la.posterior_precision.to_matrix(-1), atol=1e-5)
    drawn = la.sample(20_000, generator=torch.Generator().manual_seed(1)).double() - law.loc
    own = law.sample(20_000, torch.Generator().manual_seed(1)) - law.loc
    deviation = covariance_of(law).diagonal().sqrt()
    for samples in (drawn, own):
        apart = (samples.mT @ samples / len(samples) - covariance_of(law)) / deviation.outer(deviation)
        assert apart.abs().max() < 7 * (2 / len(samples)) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("subset", ["all", "last_layer"])
@pytest.mark.parametrize("structure", ["diag", "full", "kron"])
def test_posteriors_of_images_are_certified_and_proved(subset: str, structure: str, tmp_path: Path) -> None:
    posteriors = [
        from_laplace(fitted_to_images(subset, structure, 1e5, seed), shape=IMAGE) for seed in (0, 1)
    ]
    x = small_images()[0][:6]
    y = posteriors[0].network(posteriors[0].law.loc, x.double().flatten(1)).argmax(-1)
    result = certify_classification(posteriors, x=x, y=y, epsilon=0.001)
    assert result.lower.mean() > 0.5
    result.save(tmp_path)
    paths = sorted(tmp_path.glob("certificates/*.safetensors"))
    assert paths
    assert all(check(path).verdict for path in paths)


def test_images_without_their_shape_are_refused() -> None:
    with pytest.raises(UnsupportedLayer, match="shape"):
        from_laplace(fitted_to_images("last_layer", "diag", 1.0))


def test_an_approximation_that_was_not_fitted_is_refused() -> None:
    with pytest.raises(InvalidLaw, match="not fitted"):
        from_laplace(laplace.Laplace(small_module(), "classification", "all", "diag"))


def test_what_is_frozen_after_the_fit_stays_random() -> None:
    la = fitted(small_module())
    la.model[0].bias.requires_grad_(False)
    assert torch.equal(from_laplace(la).law.scale, la.posterior_scale.double())


def test_a_parameter_that_was_replaced_after_the_fit_is_noticed() -> None:
    la = fitted(small_module())
    la.model[0].bias = nn.Parameter(torch.zeros(5))
    with pytest.raises(InvalidLaw, match="none of the model's any more"):
        from_laplace(la)


def test_what_was_frozen_before_the_fit_is_fixed() -> None:
    model = small_module()
    model[0].requires_grad_(False)
    law = from_laplace(fitted(model)).law
    assert (law.scale[:15] == 0).all()
    assert (law.scale[15:] > 0).all()
    assert torch.equal(law.loc, nn.utils.parameters_to_vector(model.parameters()).double())
