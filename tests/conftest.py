"""Settings that all tests share."""

import os
from collections.abc import Generator, Iterator

import jaxtyping
import pytest
import torch
from hypothesis import settings

settings.register_profile("patient", deadline=None, derandomize=True)  # shared machines: time is no contract
settings.register_profile(
    "explore", deadline=None
)  # pytest --hypothesis-profile=explore: new inputs every time
settings.load_profile("patient")

if "PYTEST_XDIST_WORKER" in os.environ:  # one worker a core: more threads would only spin
    torch.set_num_threads(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Every call in a fast test is checked against its annotations; slow tests run as a user's program does.

    Checking takes half the time of a test. FEDCERT_ANNOTATIONS=all checks slow tests too.
    """
    slow = item.get_closest_marker("slow") is not None
    jaxtyping.config.update("jaxtyping_disable", slow and os.environ.get("FEDCERT_ANNOTATIONS") != "all")
    try:
        return (yield)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def without_annotations() -> Iterator[None]:
    """Annotations are not checked, as in a user's program."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def forget_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers that a test registers are forgotten after it."""
    # not at the top: annotations are checked only in what is imported after this file
    from fedcert.model.layers import registry

    for table in ("_BY_NAME", "_BY_MODULE"):
        monkeypatch.setattr(registry, table, dict(getattr(registry, table)))
