"""The chain of lines in balls: prices, lies about signs, and the fast path's numbers."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from agreement import Both, both, lower_bound, upper_bound
from balls import array
from flint import arb

from fedcert.families.projected.chain import _Chain as FastChain
from fedcert.families.projected.choices import least_chained_violation
from fedcert.families.projected.references import Conditional, Reference, Static
from fedcert.families.projected.relaxation import Lines
from fedcert.families.projected.tails import Cells, Limit, Product
from fedcert.families.projected.tails import Projections as FastProjections
from fedcert_check.balls import ZERO, tail
from fedcert_check.projected.chain import _Chain, chained_violation
from fedcert_check.projected.layers import Unproven, unit
from fedcert_check.projected.ranges import ChainChoices
from fedcert_check.projected.tails import Projections

WAYS: dict[int, FastProjections] = {0: Limit(), 1: Product(), 64: Cells(64)}
KAPPA, FAILURE = 4.0, 1e-7


def fast_chain(pair: Both, static: bool, cells: int) -> FastChain:
    reference: Reference = Static() if static else Conditional()
    failure = torch.tensor([FAILURE], dtype=torch.float64)
    return FastChain(pair.federation, pair.properties, failure, reference, WAYS[cells])


def choices_of(chain: FastChain, static: bool, hidden: int) -> ChainChoices:
    """The fast path's choices, for a chain that has gone through all hidden layers."""
    sign, below, slope, reference = [], [], [], []
    for ranges in chain.view.known[:hidden]:
        lines = Lines.of(ranges.lower, ranges.upper)
        sign.append((2 * ranges.spread.slope[0].numpy() - 1).astype(np.int8))
        below.append(lines.below[0].numpy())
        slope.append(lines.slope[0].numpy())
        reference.append(Static().middle(ranges)[0][0].numpy())
    step = np.ones(2)
    return ChainChoices(static, KAPPA, FAILURE, sign, below, slope, step, reference)


def gone_through(pair: Both, static: bool, cells: int) -> tuple[_Chain, FastChain]:
    """Both chains, with all hidden layers known."""
    theirs = fast_chain(pair, static, cells)
    hidden = len(pair.layers) - 1
    for depth in range(hidden):
        theirs.add_layer(depth, torch.tensor([KAPPA], dtype=torch.float64))
    choices = choices_of(theirs, static, hidden)
    mine = _Chain(pair.layers, pair.clients, pair.region, choices, Projections(cells))
    for depth in range(hidden):
        mine.add_layer(depth)
    return mine, theirs


@pytest.mark.parametrize("cells", WAYS)
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_chains_are_those_of_the_fast_path(depth: int, static: bool, cells: int) -> None:
    pair = both(depth + 7 * cells, depth, scale=0.02)
    mine, theirs = gone_through(pair, static, cells)
    for own, other in zip(mine.known, theirs.view.known, strict=True):
        upper_bound(own.moved.radius, other.spread.radius[0])
        for ours, fast in ((own.mean, other.mean), (own.deviation, other.deviation)):
            size = fast[0].abs().max().item() + 1
            lower_bound(-ours, -fast[0], size)
        if static:
            centre, half = Static().middle(other)
            upper_bound(own.half, half[0])
            assert own.fixed.tolist() == centre[0].tolist()
    g, noise = mine.form(pair.region.C, depth - 1)
    fast_g, fast_noise = theirs.view.form(pair.properties.C)
    lower_bound(g, fast_g[0], 10)
    for ours, fast in zip(noise, fast_noise, strict=True):
        for row, numbers in zip(ours, fast[0], strict=True):
            lower_bound(-row, -numbers, 1e-3)
    found, step = theirs.margins(pair.properties)
    mine.choices = replace(mine.choices, step=step[0].numpy())
    tails, price = mine.margins()
    upper_bound(array(price), found.events)
    for ours, fast in zip(tails, found.tails[0].tolist(), strict=True):
        assert fast == 1.0 or ours <= arb(fast)
        assert fast == 1.0 or abs(ours - fast) <= 1e-8


@pytest.mark.parametrize("clients", [1, 2, 3])
@pytest.mark.parametrize("cells", [0, 1, 64])
@pytest.mark.parametrize("static", [False, True])
def test_every_event_is_paid(static: bool, cells: int, clients: int) -> None:
    """The prices of docs/soundness.md, 10.4."""
    pair = both(5, 4, clients=clients)
    neurons = [layer.outputs for layer in pair.layers[:-1]]
    hidden = [np.zeros(width, dtype=np.int8) for width in neurons]
    slopes = [np.full(width, 0.5) for width in neurons]
    choices = ChainChoices(static, KAPPA, FAILURE, hidden, slopes, slopes, np.ones(2), slopes)
    _, price = chained_violation(pair.layers, pair.clients, pair.region, choices, Projections(cells))
    side = {0: tail(arb(KAPPA)), 1: clients * tail(arb(KAPPA))}.get(
        cells, tail(arb(KAPPA)) + clients * tail(arb(8))
    )
    due, event = ZERO, tail((-2 * arb(FAILURE).log()).sqrt())
    for layer, width in enumerate(neurons, start=1):
        sides = 3 * side * (1 if static or layer == 1 else 2)
        due += width * (sides + (3 * (3 * layer - 2) + 2 * (layer - 1) * clients) * event)
    due += 2 * (10 + 3 * clients) * event
    assert price.overlaps(due)
    assert abs(price - due) < 1e-15


def chosen(pair: Both) -> ChainChoices:
    """What the fast path chooses."""
    _, found = least_chained_violation(pair.federation, pair.properties, Limit())
    mine = {name: tensor[0].numpy() for name, tensor in found.items()}
    hidden = range(len(pair.layers) - 1)
    sign, below, slope, reference = (
        [mine[f"{name}.{k}"] for k in hidden] for name in ("sign", "below", "slope", "reference")
    )
    numbers = float(mine["kappa"]), float(mine["failure"])
    return ChainChoices(bool(mine["method"] == 2), *numbers, sign, below, slope, mine["step"], reference)


def test_a_lie_about_a_sign_proves_nothing() -> None:
    pair = both(3, 3, scale=0.02)
    true = chosen(pair)
    given = pair.layers, pair.clients, pair.region
    tails, _ = chained_violation(*given, true, Projections(0))
    assert max(float(v.upper()) for v in tails) < 0.5
    caught = 0
    for layer, signs in enumerate(true.sign):
        for k, lie in [(k, lie) for k in range(len(signs)) for lie in (-1, 1) if lie != signs[k]]:
            changed = [own.copy() for own in true.sign]
            changed[layer][k] = lie
            try:
                chained_violation(*given, replace(true, sign=changed), Projections(0))
            except Unproven:
                caught += 1
    assert caught == sum(2 if v == 0 else 1 for own in true.sign for v in own)


@pytest.mark.parametrize("kappa", [0.0, -1.0])
def test_a_range_without_width_proves_nothing(kappa: float) -> None:
    pair = both(3, 2)
    with pytest.raises(Unproven):
        chained_violation(
            pair.layers, pair.clients, pair.region, replace(chosen(pair), kappa=kappa), Projections(0)
        )


def test_constraints_of_zeros_need_no_law() -> None:
    pair = both(3, 3, scale=1e30)
    nothing = replace(pair.region, C=pair.region.C * 0, d=array(1, -1))
    assert chained_violation(pair.layers, pair.clients, nothing, chosen(both(3, 3)), Projections(0)) == (
        [0, 1],
        0,
    )


@pytest.mark.parametrize("centre", [-3.0, 0.0, 0.1, 50.0])
def test_any_fixed_activation_is_within_its_half_width_of_the_range(centre: float) -> None:
    """ρ ≥ |h − c| for all h between the rectified ends of the range, wherever c is."""
    pair = both(4, 3, scale=0.02)
    honest, _ = gone_through(pair, static=True, cells=0)
    given = [np.full_like(own, centre) for own in honest.choices.reference]
    chain = _Chain(
        pair.layers, pair.clients, pair.region, replace(honest.choices, reference=given), Projections(0)
    )
    rows = unit(5)
    constant, noise = chain.form(np.concatenate([rows, -rows]), 0)
    chain.add_layer(0)
    bounds = chain.lowered(constant, noise)
    for low, minus_high, half in zip(bounds[:5], bounds[5:], chain.known[0].half, strict=True):
        for end in (low, -minus_high):
            assert half >= abs(max(end.mid(), ZERO) - centre) - 1e-12
