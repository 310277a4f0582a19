"""What FAMD records and warns of: categories, arbitrary axes, axes that counts cannot see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...contract.reducer import Recorder
from ...core.errors import LowlandWarning, RankWarning
from ...rows.columns import like_dates
from ...rows.mixed_rows import Learned, MixedRows
from ...rows.row_source import RowSource
from ...spectral import rowspace
from ...spectral.rowspace import RowSpace
from ..shared.linear_map import tell

_FEWEST_IDENTIFIERS = 10  # levels from which on a column may be an identifier of rows
_DIGITS = 1e-6  # relative error of an eigenvalue that is not reported


def categories_of(rows: RowSource, record: Recorder) -> tuple[list[int], list[list[Any]]]:
    """Return the columns of categories and the levels of each; warn of those that should not be categories."""
    if not isinstance(rows, MixedRows):
        return [], []
    found = rows.learn()
    record.seconds["levels"] = found.seconds
    _warn_columns(rows, found, record)
    return list(rows.categorical), [list(levels) for levels in found.levels.values]


def _warn_columns(rows: MixedRows, found: Learned, record: Recorder) -> None:
    """Warn of identifiers, which would dominate the axes, and of dates, whose order and distances would be lost."""
    for j, levels in zip(rows.categorical, found.levels.values, strict=True):
        name = str(j) if rows.names is None else repr(rows.names[j])
        if len(levels) >= _FEWEST_IDENTIFIERS and 2 * len(levels) > found.n_rows:
            record.warn(
                f"FAMD: column {name} has {len(levels)} levels in {found.n_rows} rows, so it looks like an "
                "identifier and would dominate the axes; leave it out",
                LowlandWarning,
            )
        if like_dates(levels):
            record.warn(
                f"FAMD: column {name} holds texts that look like dates ({levels[0]}), and each date is a level by "
                "itself; turn them into numbers such as days since a start, or leave the column out",
                LowlandWarning,
            )


def tell_axes(space: RowSpace, eigenvalues: Any, asked: int, single: bool, record: Recorder) -> None:
    """Record the solve; warn of axes too small for counts, and of a last axis tied with the first one left out.

    ``single`` says that the table is one category.
    """
    tell(record, replace(space, short=space.short and not space.solved.doubt, unseen=0.0), asked, "FAMD")
    text = _unseen(space, asked)
    if text:
        record.warn(f"FAMD: {text}", RankWarning if space.short else LowlandWarning)
    tied = rowspace.tied(space)
    if tied is None:
        return
    whole = " or ".join(str(count) for count in (tied[0], tied[-1] + 1) if count)
    record.warn(
        f"FAMD: axes {tied[0] + 1} to {tied[-1] + 1} have one eigenvalue ({eigenvalues[-1]:.4g}), and "
        f"{len(eigenvalues)} axes cut through them: which of their directions are shown is arbitrary; "
        + (
            "a single category has no axes, since all its levels are equally far apart"
            if single
            else f"ask for {whole}"
        ),
        LowlandWarning,
    )


def tell_columns(model: Any, n_features: int, record: Recorder) -> None:
    """Record what share of the variance the axes have, and how many columns and levels."""
    levels = model.categorical_levels_
    record.evidence["share of variance"] = float(model.explained_variance_ratio_.sum())
    record.evidence |= {"components": model.n_components_, "columns of numbers": n_features - len(levels)}
    record.evidence |= {"columns of categories": len(levels), "levels": sum(map(len, levels))}


def _unseen(space: RowSpace, asked: int) -> str:
    """Say which axes are too small for counts, which are squares and right to eps of the first eigenvalue; else ""."""
    if not space.solved.doubt:
        return ""
    found, eps = len(space.values), float(np.finfo(np.float64).eps)
    if space.short:
        return (
            f"the result has {found} of the {asked} requested axes; the eigenvalues of the others are less than "
            f"{space.solved.tolerance**2:.1g} of the first, which cannot be distinguished from rounding in a table of "
            "this size"
        )
    share = float(space.values[-1] / space.values[0]) ** 2
    if eps <= _DIGITS * share:
        return ""
    return (
        f"the last eigenvalue is {share:.1g} of the first, and its relative error in a table of this size is "
        f"{eps / share:.1g}; ask for fewer axes, or fit fewer rows"
    )
