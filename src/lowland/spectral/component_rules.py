"""The number of components as it is asked for: a number, a share, all, or the name of a rule on the spectrum."""

from __future__ import annotations

from typing import Any

from ..core.cost import DataShape
from ..core.random import seed
from .solved import ComponentRule

RULES = ("auto", "mle")  # parallel analysis (Horn), evidence of probabilistic PCA (Minka)


def component_rule(asked: Any, ddof: int, random_state: Any) -> ComponentRule:
    """Return the rule for a number, a share in (0, 1), None for all, or a name of `RULES`.

    >>> component_rule(0.5, 1, None).share, component_rule(3, 1, None).count, component_rule(None, 1, None).whole
    (0.5, 3, True)
    """
    if asked == "mle":
        from .minka import minka_count

        return ComponentRule(rule=lambda solved: minka_count(solved, ddof))
    if asked == "auto":
        from .parallel_analysis import parallel_count

        return ComponentRule(rule=lambda solved: parallel_count(solved, ddof, seed(random_state)))
    if asked is None or asked >= 1:
        return ComponentRule(count=None if asked is None else int(asked))
    return ComponentRule(share=float(asked))


def check_rule(asked: Any, shape: DataShape) -> None:
    """Raise if rows of this shape are none for the rule."""
    if asked == "mle":
        from .minka import check_shape

        check_shape(shape.n_rows, shape.n_features)
