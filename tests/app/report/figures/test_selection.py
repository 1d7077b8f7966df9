from grid_cells import cell, paper_grid, sweeps

from fedcert.app.report.figures.selection import is_papers, main_cells, pair_name, scale_words


def test_the_papers_grid_is_chosen_at_its_own_scale() -> None:
    chosen = main_cells([*sweeps(), *paper_grid("learned"), *paper_grid(1e-5), cell(dataset="digits")])
    assert len(chosen) == 162
    assert {one.scale for one in chosen} == {1e-5}
    assert all(map(is_papers, chosen))


def test_another_scale_can_be_asked_for() -> None:
    chosen = main_cells(paper_grid(1e-5, "learned"), "learned")
    assert len(chosen) == 162
    assert {one.scale for one in chosen} == {"learned"}


def test_else_the_largest_group_of_equal_settings() -> None:
    cells = [cell(dataset="digits", epsilon=0.01, clients=n) for n in (2, 3, 4)]
    cells += [cell(dataset="digits", epsilon=0.02, clients=n) for n in (2, 3)]
    assert [one.clients for one in main_cells(cells)] == [2, 3, 4]
    assert main_cells([]) == []


def test_words() -> None:
    assert pair_name(("fashion-mnist", "2×64"), "\n") == "FMNIST\n2×64"
    assert scale_words([cell()]) == "scale 1e-05"
    assert scale_words([cell(scale="learned")]) == "learned scale"
