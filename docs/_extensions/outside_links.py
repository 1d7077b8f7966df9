"""Links to files outside docs/: to a page that includes the file, to the repository, or plain text.

Pages are read in two places, in the repository and on the site, and only the former has the files beside
them.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PAGES = {  # files outside docs/ that are pages of the site
    "README.md": "index",
    "CHANGELOG.md": "project/changes",
    "CONTRIBUTING.md": "project/contributing",
    "SECURITY.md": "project/security",
    "benchmarks/RESULTS.md": "project/benchmarks",
    "checker/README.md": "project/checker",
}
LINK = re.compile(r"(?<!!)\[(?P<words>[^\[\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def rewrite(text: str, page: Path, docs: Path, address: str | None) -> str:
    """A page whose links all lead somewhere on the site.

    Args:
        text: of the page.
        page: its file.
        docs: the folder of the site's sources.
        address: of the public repository, if there is one.
    """
    repository = docs.parent

    def replace(match: re.Match[str]) -> str:
        words, target, anchor = match["words"], match["target"], match["anchor"] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        file = (page.parent / target).resolve()
        if not file.exists():
            raise ExtensionError(f"{page}: the link {target} leads nowhere")
        inside = file.is_relative_to(docs)
        if inside and file.suffix == ".md":
            return f"[{words}](/{file.relative_to(docs).as_posix()}{anchor})"
        path = file.relative_to(repository).as_posix()
        if path == "docs/decisions":
            return f"[{words}](/decisions/index.md)"
        if path in PAGES:
            return f"[{words}](/{PAGES[path]}.md{anchor})"
        if address:
            return f"[{words}]({address.rstrip('/')}/{path}{anchor})"
        return words if words.strip("`/") == path.strip("/") else f"{words} (`{path}`)"

    return LINK.sub(replace, text)


def _source_read(app: Sphinx, docname: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(docname))
    source[0] = rewrite(source[0], page, Path(app.srcdir), app.config.repository_address)


def _include_read(app: Sphinx, relative: Path, docname: str, source: list[str]) -> None:
    file = (Path(app.srcdir) / relative).resolve()
    source[0] = rewrite(source[0], file, Path(app.srcdir), app.config.repository_address)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("repository_address", None, "env", types=(str, type(None)))
    app.connect("source-read", _source_read)
    app.connect("include-read", _include_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
