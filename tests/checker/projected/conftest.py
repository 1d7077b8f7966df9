"""The checker's precision, which `prove` sets and its parts expect."""

from collections.abc import Iterator

import pytest
from balls import precision

from fedcert_check.projected import PRECISIONS


@pytest.fixture(autouse=True)
def bits() -> Iterator[None]:
    with precision(PRECISIONS[0]):
        yield
