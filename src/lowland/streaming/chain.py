"""Pipelines whose steps and methods learn in passes over a table that is read in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl

from ..contract.reducer import Reducer
from ..methods.steps.opening_rows import in_blocks
from ..methods.steps.step import Learning, Step, StepChange
from ..rows.block import block_rows
from .coordinates import block_map

# Methods whose fit reads rows in passes and holds sums or a map of a fixed size, never the table.
IN_PASSES = ("PCA", "TruncatedSVD", "ProbabilisticPCA", "ICA", "RandomProjection", "SOM", "FAMD")


def steps_of(model: Any) -> list[Any]:
    """Return the steps and methods of a Pipeline in a list; a method alone is one."""
    chain = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    return [step for step in chain if step is not None and step != "passthrough"]


def learns_in_passes(step: Any) -> bool:
    """Return whether a step or method learns in passes over the rows, and holds no more than sums and samples.

    >>> import lowland
    >>> [learns_in_passes(step) for step in (lowland.PCA(2), lowland.Isomap(), lowland.steps.ScaleColumns("robust"))]
    [True, False, True]
    """
    if isinstance(step, Step):
        return step.in_passes
    return isinstance(step, Reducer) and type(step).__name__ in IN_PASSES


def begins_in_passes(model: Any, rows: Any) -> bool:
    """Return whether rows are read in blocks, and all before the last step of a Pipeline learn in passes over them."""
    return hasattr(model, "steps") and in_blocks(rows) is not None and all(map(learns_in_passes, steps_of(model)[:-1]))


def learn_before(model: Any, rows: Any) -> Any:
    """Fit the steps and methods before the last one to a table that is read in blocks; return what the last one gets.

    They read the table in passes, and each reads it as those before have changed it. Steps that leave the rows as they
    are, such as the choice of columns, learn in the first pass of the step after them.
    """
    table = in_blocks(rows)
    assert table is not None
    waiting: list[Learning] = []
    with _forgetting(waiting):
        for step in steps_of(model)[:-1]:
            if isinstance(step, Step):
                learning = step.begin(table)
                if not learning.same_rows:
                    with _forgetting([learning]):
                        _finish(waiting)
                waiting.append(learning)
                if step.keeps_rows and table.named:
                    table = learning.rows
                else:
                    _finish(waiting)
                    table = table.changed(StepChange(step, table.named, new=False))
                rows = None
            else:
                _finish(waiting)
                step.fit(table.table() if rows is None else rows)  # the first method gets the table as it was given
                table = table.changed(MethodChange(step), named=False, block=block_rows(step.n_features_in_))
                rows = None
        _finish(waiting)
    return table.table() if rows is None else rows


def _finish(learning: list[Learning]) -> None:
    """Make the passes of steps that can learn in one pass, and take them off the list."""
    if learning:
        *before, last = learning
        last.finish(*before)
        learning.clear()


@contextmanager
def _forgetting(waiting: list[Learning]) -> Iterator[None]:
    """Forget what steps that still wait for a pass have learned if anything fails in the block."""
    try:
        yield
    except BaseException:
        for one in waiting:
            one.forget()
        raise


class MethodChange:
    """A fitted method as a change of rows that are read in blocks: they become its coordinates."""

    def __init__(self, method: Reducer) -> None:
        self._method = method

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the coordinates of some rows."""
        method = self._method
        names = [f"x{j}" for j in range(method.n_components_)]
        if not frame.height:
            return pl.DataFrame(schema=dict.fromkeys(names, pl.Float32 if _single(frame) else pl.Float64))
        known = getattr(method, "feature_names_in_", None)
        return pl.DataFrame(block_map(method)(frame.to_numpy() if known is None else frame), schema=names)


def _single(frame: pl.DataFrame) -> bool:
    return all(kind == pl.Float32 for kind in frame.dtypes)
