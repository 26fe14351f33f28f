"""Sphinx configuration. The site is built from Markdown and from the docstrings, and loads nothing from the network."""

import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # for the extensions beside this file

project = "exactla"
author = "The exactla authors"
copyright = "The exactla authors"
version = release = metadata.version("exactla")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "docstrings",
    "mathml",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"exactla {release}"
html_math_renderer = "mathml"
html_theme_options = {"top_of_page_buttons": []}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]

# Markdown: formulas in dollars, numbered references to headings, definition lists
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# Docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's Parameters sections hold the types
autodoc_preserve_defaults = True
default_role = "autolink"  # a link where the name is one, else emphasis, as for parameters
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# References that lead out of this site, or to names without a page of their own
nitpick_ignore_regex = [
    ("py:obj", r"Backend|signed_zero"),
    ("py:.*", r"(numpy|np|torch|cupy|dpnp|jax|collections|typing|fractions|dataclasses|enum|contextlib)(\..*)?"),
]
