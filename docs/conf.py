"""Configuration of the documentation site: `make docs` builds it strictly into site/."""

import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

from fedcert import __version__

project = "fedcert"
copyright = "the fedcert authors, Apache-2.0"  # noqa: A001 - Sphinx's name
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "commands",  # ours: the options of every command
    "docstrings",  # ours: docstrings are no reStructuredText
    "outside_links",  # ours: links that leave docs/
]

# Links to files outside docs/ lead to the repository that pyproject.toml names; while it names none, they are
# shown as paths.
PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = PROJECT.get("urls", {}).get("Repository")
repository_address = f"{REPOSITORY}/blob/main" if REPOSITORY else None

exclude_patterns = ["figures/*"]
suppress_warnings = ["myst.header"]  # included pages begin below the first level
nitpicky = (
    False  # annotations name types of torch, numpy and jaxtyping; links between our pages are always checked
)
default_role = "literal"
smartquotes = False  # options begin with two dashes
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
napoleon_attr_annotations = False  # shapes such as "*batch n" are no reStructuredText
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
viewcode_line_numbers = True

copybutton_exclude = ".linenos, .gp, .go"
html_theme = "furo"
html_title = f"fedcert {__version__}"
html_static_path = ["_static"]
html_css_files = ["fedcert.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e4f", "color-brand-content": "#0b6e4f"},
    "dark_css_variables": {"color-brand-primary": "#5fd3a6", "color-brand-content": "#5fd3a6"},
}
