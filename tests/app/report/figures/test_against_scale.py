from grid_cells import cell

from fedcert.app.report.figures.against_scale import against_scale


def test_two_scales_are_no_sweep() -> None:
    assert against_scale([cell(scale=scale) for scale in (1e-5, "learned")]) == []


def test_learned_scales_have_a_place_of_their_own() -> None:
    fixed = [cell(scale=scale, events=("box",)) for scale in (2e-5, 3e-5, 4e-5)]
    (without,) = against_scale(fixed)
    assert "learned" not in without.svg
    assert "2e-05" in without.svg
    (both,) = against_scale([*fixed, cell(scale="learned", events=("box",))])
    assert ">learned</text>" in both.svg
    assert "1 of 1" in both.caption
