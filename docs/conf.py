"""Settings of Sphinx; `make docs` builds the pages and treats warnings as errors."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import lowland

project = "Lowland"
author = "The Lowland developers"
version = release = lowland.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"Lowland {version}"
html_math_renderer = "mathml"
exclude_patterns = ["_build"]
suppress_warnings = ["ref.python"]  # several classes have an attribute of the same name

default_role = "code"  # docstrings name parameters and functions in single backquotes
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_use_ivar = True


def inline_formula(translator: Any, node: nodes.math) -> None:
    """Write a formula as MathML, which browsers show by themselves: no script from elsewhere is needed."""
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def displayed_formula(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    translator.body.append(f'<div style="margin: 1rem 0">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def plain_formulas(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let |x|, x_ij and names such as mean_ stand in docstrings as they are: reStructuredText has meanings of its own.

    Runs after napoleon. Directives, fields, examples and what stands in backquotes are left alone.
    """
    for i, line in enumerate(lines):
        if line.lstrip().startswith(":"):
            lines[i] = line.replace("|", r"\|")
        if line.lstrip().startswith((".. ", ":", ">>>", "...")):
            continue
        parts = re.split(r"(``.+?``|`.+?`)", line)
        for j in range(0, len(parts), 2):
            parts[j] = re.sub(r"(?<=\w)_(?!\w)|\|", r"\\\g<0>", parts[j])
        lines[i] = "".join(parts)


def skip_requests(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out set_fit_request and its kind, which scikit-learn adds to every estimator."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app: Any) -> None:
    """Register the renderer of formulas, and what docstrings go through."""
    app.connect("autodoc-skip-member", skip_requests)
    app.connect("autodoc-process-docstring", plain_formulas, priority=900)
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
