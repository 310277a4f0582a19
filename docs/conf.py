"""Settings of Sphinx; `make docs` builds the pages and treats warnings as errors."""

import lowland

project = "Lowland"
author = "The Lowland developers"
version = release = lowland.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"Lowland {version}"
exclude_patterns = ["_build"]

default_role = "code"  # docstrings name parameters and functions in single backquotes
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
