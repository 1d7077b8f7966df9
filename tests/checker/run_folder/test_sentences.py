"""The reader of pages; what it compares is tested with whole folders (`test_page.py`)."""

import pytest

from fedcert_check.errors import InvalidRun
from fedcert_check.run_folder.sentences import SentenceReader


@pytest.mark.parametrize("tag", ["b", "li"])
def test_a_page_of_deeply_nested_elements_is_not_read(tag: str) -> None:
    """Each text is added to every element that it stands in, which takes quadratic time."""
    reader = SentenceReader()
    with pytest.raises(InvalidRun, match="more than 100 elements"):
        reader.feed(f"<{tag}>x" * 10_000)
