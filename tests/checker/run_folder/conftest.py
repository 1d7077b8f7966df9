"""A run to tamper with."""

import shutil
from pathlib import Path

import pytest
from run_folders import write_run


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("pristine"))


@pytest.fixture
def folder(pristine: Path, tmp_path: Path) -> Path:
    """A run that may be tampered with."""
    return Path(shutil.copytree(pristine, tmp_path / "run"))
