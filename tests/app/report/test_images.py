import base64
import io

import numpy as np
import pytest
from matplotlib.image import imread

from fedcert.app.report.images import BLUE, heat_map, input_image


def pixels(uri: str) -> np.ndarray:
    """What another decoder reads."""
    kind, data = uri.split(",")
    assert kind == "data:image/png;base64"
    return np.rint(255 * imread(io.BytesIO(base64.b64decode(data)), "png")).astype(int)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (28, 28)])
def test_an_input_is_drawn_in_grey_row_by_row(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).random(shape[0] * shape[1])
    assert np.array_equal(pixels(input_image(x, shape)), np.rint(255 * x).reshape(shape))


def test_a_heat_map_is_darkest_where_most_is() -> None:
    drawn = pixels(heat_map([[0, 5, 10], [2, 10, 0]]))
    assert drawn.shape == (2, 3, 4)
    assert drawn[..., 3].tolist() == [[0, 128, 255], [51, 255, 0]]
    assert tuple(drawn[0, 2, :3]) == BLUE


def test_clients_without_examples_have_an_empty_map() -> None:
    assert pixels(heat_map([[0, 0]]))[..., 3].tolist() == [[0, 0]]
