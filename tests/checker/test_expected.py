"""What is said of the time before a check begins."""

from pathlib import Path

import pytest
from hostile import corrupt_neighbour
from run_folders import write_run

from fedcert_check.cost import DEFAULT_LIMITS, GIB, ProofLimits
from fedcert_check.expected import Expected, expect
from fedcert_check.sampling import Sample


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return sorted((write_run(tmp_path_factory.mktemp("run")) / "certificates").iterdir())


def test_all_certificates_are_counted_and_a_sample_takes_its_share(paths: list[Path]) -> None:
    whole = expect(paths, None, 1, DEFAULT_LIMITS)
    assert whole.certificates == len(paths)
    assert whole.seconds > 0
    half = expect(paths, None, 1, DEFAULT_LIMITS, Sample(2, 0))
    assert half.seconds == pytest.approx(whole.seconds / 2)
    more = expect(paths, None, 1, DEFAULT_LIMITS, Sample(9, 0))
    assert more.seconds == whole.seconds


def test_what_cannot_be_proved_is_left_out(tmp_path: Path, paths: list[Path]) -> None:
    good = corrupt_neighbour(tmp_path)
    torn = tmp_path / "torn.safetensors"
    torn.write_bytes(b"")
    assert expect([good, torn, tmp_path / "nowhere"], None, 1, DEFAULT_LIMITS).certificates == 1
    assert expect(paths, None, 1, ProofLimits(GIB, 0.0)).certificates == 0


def test_the_line_promises_a_limit_and_not_a_time() -> None:
    assert Expected(1, 0.01).line == "proving 1 certificate: up to 1.0 s, often much less"
    assert Expected(6, 4000.0).line == "proving 6 certificates: up to 1 h 07 min, often much less"
