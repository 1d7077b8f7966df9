"""Transport by boxes in balls: the slack is that of the fast path, and what is farther than 40 is paid."""

import pytest
from agreement import both
from flint import arb

from fedcert.families.projected.boxes import Boxes
from fedcert_check.balls import tail
from fedcert_check.projected.boxes import Grid


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("bits", [8, 30])
def test_the_slack_is_that_of_the_fast_path(bits: int, depth: int) -> None:
    pair = both(depth, depth)
    tightened = Grid.of(pair.layers, bits).tightened(pair.region)
    charged = Boxes(bits).slack(pair.fast_layers, pair.properties)[0]
    for mine, before, theirs in zip(tightened.d, pair.region.d, charged.tolist(), strict=True):
        assert float(before - mine) == pytest.approx(theirs, rel=1e-6)


def test_networks_of_one_image_differ_by_less_than_the_slack() -> None:
    """All parameters 40 deviations away from 0, and an image's width farther still."""
    pair = both(3, 3)
    rule, network = pair.problem.rule, pair.problem.network
    law = rule.pushforward([own.components[0] for own in pair.problem.laws])
    far = law.loc + 40 * law.scale * law.loc.sign()
    farther = far + 2.0**-8 * far.abs() * law.loc.sign()
    x, C = pair.properties.regions.upper, pair.properties.C[0]
    moved = ((network(farther, x) - network(far, x)) @ C.mT)[0].abs()
    tightened = Grid.of(pair.layers, 8).tightened(pair.region)
    for mine, before, change in zip(tightened.d, pair.region.d, moved.tolist(), strict=True):
        assert arb(change) <= before - mine


def test_parameters_beyond_forty_deviations_are_paid_for() -> None:
    pair = both(2, 2)
    missed = Grid.of(pair.layers, 64).missed
    assert missed >= (2 * pair.problem.network.parameters * tail(arb(40))).lower()
    assert missed > 0
