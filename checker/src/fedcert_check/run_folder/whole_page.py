"""report.html as a whole: where a program is at hand that makes the page anew, every letter is compared.

fedcert makes the page of a run from result.json and properties.json alone, so that an edit of its words or
pictures shows even if the page was sealed again. `fedcert-check` by itself makes no pages, and says so.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from fedcert_check.errors import FedcertError
from fedcert_check.run_folder.compare import WORDS, Comparison
from fedcert_check.run_folder.findings import Finding
from fedcert_check.run_folder.gallery import GALLERY
from fedcert_check.run_folder.page import PAGE
from fedcert_check.run_folder.stated import RESULT
from fedcert_check.visible import visible

SAME = f"{PAGE} is, to the letter, what {RESULT} and {GALLERY} give; not checked: images of inputs"
UNUSABLE = (FedcertError, OSError, ValueError, TypeError, LookupError, StopIteration)
"""What a stranger's files may provoke in a program that makes pages."""
MakePage = Callable[[Path], str | None]
"""Makes the page of a run's folder anew; None for a run of a version whose pages it does not know."""


def compare_whole_page(folder: Path, before: Comparison, make_page: MakePage | None) -> Comparison:
    """What was found before, and the first line of the page that is another one than the files give.

    Args:
        folder: of the run.
        before: what came of comparing all files; nothing is added where one of them could not be read.
        make_page: makes the page anew; None if nothing at hand can.
    """
    if make_page is None or before.unreadable or PAGE not in before.compared:
        return before
    try:
        page = make_page(folder)
        content = (folder / PAGE).read_bytes().decode()
    except UNUSABLE as error:
        return replace(before, unreadable=(visible(f"{PAGE}: it cannot be made anew: {error}"),))
    if page is None:
        return before
    notes = [note for note in before.notes if note != WORDS]
    found = tuple(_first_other_line(content, page))
    return replace(before, findings=(*before.findings, *found), notes=(*notes, *(() if found else (SAME,))))


def _first_other_line(content: str, page: str) -> Iterator[Finding]:
    lines = zip_longest(content.split("\n"), page.split("\n"))
    for number, (said, made) in enumerate(lines, 1):
        if said != made:
            says = f"is not what fedcert writes for this {RESULT} and {GALLERY}"
            yield Finding(PAGE, f"line {number}", says)
            return
