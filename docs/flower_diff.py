"""Writes into docs/flower.md what an app must change, from the two apps in examples/flower.

python docs/flower_diff.py            # rewrites the diff
python docs/flower_diff.py --check    # exit 1 if it is out of date
"""

import difflib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "flower.md"
EXAMPLE = ROOT / "examples" / "flower"
BEGIN, END = "<!-- diff: docs/flower_diff.py -->", "<!-- end of the diff -->"
FILES = ("client_app.py", "server_app.py")


def diff() -> str:
    """The lines that change, file by file."""
    found: list[str] = []
    for name in FILES:
        plain, certified = (
            (EXAMPLE / folder / name).read_text(encoding="utf-8").splitlines()
            for folder in ("plain_federation", "certified_federation")
        )
        found += difflib.unified_diff(plain, certified, name, name, n=0, lineterm="")
    return "\n".join(["```diff", *(line for line in found if not line.startswith("@@")), "```"])


def changed() -> list[str]:
    """The lines that are added or removed."""
    return [line for line in diff().splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")]


def main() -> int:
    """Rewrite the diff in the page, or say whether it is out of date."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}\n{diff()}\n{END}{after}"
    if "--check" in sys.argv[1:]:
        return int(wanted != page)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
