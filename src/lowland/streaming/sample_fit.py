"""`fit_sample`: a fit on rows drawn from a table, with the error of placing the others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from .. import engines
from ..contract.fit_info import FitInfo
from ..contract.reducer import Reducer
from ..core.errors import DataError, LowlandWarning
from ..core.message import Message, Owner, Setting
from ..data.scans.table_scan import TableScan
from ..rows.row_source import BlockRows, RowSource
from ..rows.sampling import Sample, draw, draw_pieces, joined
from ..rows.shared_scan import read_by
from .chain import begins_in_passes, learn_before, steps_of
from .placement_error import Placement, placement

Model = TypeVar("Model")

_MOST_TEST_ROWS = 1000


def fit_sample(
    model: Model,
    rows: Any,
    n_rows: int = 20_000,
    random_state: int | None = 0,
    *,
    test_rows: int | None = None,
    engine: str = "local",
) -> Model:
    """Fit a model on rows drawn uniformly from a table in one pass, and measure how well it places the others.

    Further rows are then placed by ``model.transform``, block by block, or written by `lowland.transform_file`. The
    error is measured on test rows, drawn in the same pass and not part of the fit. A second fit includes them; it is
    aligned to the first by Procrustes (rotation, reflection, shift, scale) on the sample. The placement error is the
    distance between where `transform` puts a test row and where the second fit has it, as a share of the radius of the
    map (root mean square distance to its centre). Neighbours kept is the share of a test row's 15 nearest sample rows
    that are among its 15 nearest on the map.

    Parameters
    ----------
    model : Reducer or Pipeline
        It is fitted in place and returned. The steps of a Pipeline learn from all rows of a scan, in passes; of other
        tables they learn from the sample.
    rows : scan, RowSource, array, sparse matrix, data frame or list of objects
        The table. A table with no more than ``n_rows`` rows is fitted as usual.
    n_rows : int
        Rows of the sample.
    random_state : int or None
        Seed of the sample; None is 0. It does not change the seed of the model.
    test_rows : int, optional
        Number of test rows; 0 measures nothing and saves the second fit. Default: a tenth of the sample, 1,000 at most.
    engine : {"local", "dask"}
        "dask": the steps of a Pipeline learn on the workers of the current ``distributed.Client``, which read the file
        of a scan.

    Returns
    -------
    model
        Its ``fit_info_`` is ``approximate``; ``approximation_error`` is the median placement error, and ``evidence``
        has its 90 % quantile, how much two fits of the sample rows differ, and the neighbours kept.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X, _ = lowland.data.swiss_roll(4000, random_state=0)
    >>> model = lowland.fit_sample(lowland.Isomap(n_components=2), X, n_rows=500)
    >>> model.fit_info_.approximate, model.fit_info_.approximation_error < 0.1, model.transform(X).shape
    (True, True, (4000, 2))
    """
    method, rows = _method(model), read_by(rows, engine, "fit_sample")
    if begins_in_passes(model, rows) and steps_of(model)[-1] is method:
        fit_sample(method, learn_before(model, rows), n_rows, random_state, test_rows=test_rows)
        return model
    count = _count("n_rows", n_rows, 2)
    tests = min(_MOST_TEST_ROWS, count // 10) if test_rows is None else _count("test_rows", test_rows, 0)
    if _is_small(rows, count):
        model.fit(rows)  # type: ignore[attr-defined]
        return model
    sample, names = drawn(model, rows, count + tests, 0 if random_state is None else int(random_state))
    if sample.n_rows <= count:
        model.fit(_named(sample.rows, names))  # type: ignore[attr-defined]
        return model
    chosen, others = sample.split(count)
    model.fit(_named(chosen, names))  # type: ignore[attr-defined]
    found = Placement()
    if tests and others.shape[0]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowlandWarning)  # the first fit has warned already
            found = placement(model, *(_named(part, names) for part in (chosen, others, joined([chosen, others]))))
    method.fit_info_ = _told(method.fit_info_, sample.n_rows, count, others.shape[0] if tests else 0, found)
    return model


def _method(model: Any) -> Reducer:
    """Return the method of a model, whose record will tell of the sample; refuse models that cannot place rows."""
    from ..methods.steps.chain import split_at_method

    _, method, _ = split_at_method(model)
    if not isinstance(method, Reducer):
        raise TypeError(
            Message(
                Owner("fit_sample"),
                Setting("model"),
                " must be a method of Lowland, such as lowland.Isomap(), or a Pipeline that ends with one; got "
                f"{type(method).__name__}",
            )
        )
    if method._pairwise:
        raise DataError(
            Message(
                Owner("fit_sample"),
                f"{type(method).__name__} takes precomputed values for pairs, and rows drawn from them would need the "
                "columns of the same objects; give rows of numbers and a metric, or the square of a sample",
            )
        )
    return method


def _count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        allowed = f" must be a whole number of at least {least}; it is {value!r}"
        raise ValueError(Message(Owner("fit_sample"), Setting(name), allowed))
    return int(value)


def _is_small(X: Any, count: int) -> bool:
    """Return whether a table is known to have no more rows than the sample."""
    if isinstance(X, RowSource) or hasattr(X, "frames"):
        n = X.n_rows
    else:
        n = len(X) if isinstance(X, list) else getattr(X, "shape", (None,))[0]
    return isinstance(n, int | np.integer) and bool(n <= count)  # of Dask it may be NaN or not yet computed


def drawn(model: Any, X: Any, count: int, seed: int) -> tuple[Sample, Any]:
    """Return a sample of the table and the names of its columns, where the rows do not hold them."""
    if isinstance(model, Reducer) and not takes_frames(model):
        source = model._input.source(model, X)
        return draw(source, count, seed), source.names
    return draw_pieces(pieces_of(X), count, seed, getattr(X, "n_rows", None)), None


def takes_frames(method: Reducer) -> bool:
    """Return whether a method takes columns of text, so that its rows are data frames."""
    from ..contract import registry

    row = registry.by_class(type(method).__name__)
    return row is not None and row.needs == "rows or categories"


def pieces_of(X: Any) -> Iterator[Any]:
    """Yield a table as consecutive data frames or arrays, with all its columns."""
    if isinstance(X, TableScan):
        yield from X.number_frames()
    elif hasattr(X, "frames"):
        yield from X.frames()
    elif engines.holds(X):
        yield from engines.open_frames(X).parts()
    elif isinstance(X, BlockRows):
        yield from X.all_columns()
    elif isinstance(X, RowSource):
        for block in X.blocks():
            yield block.rows
    elif isinstance(X, Iterator):
        yield from X
    elif callable(X) and not hasattr(X, "__array__"):
        yield from X()
    elif hasattr(X, "iloc") or hasattr(X, "shape"):
        yield X
    elif hasattr(X, "__arrow_c_stream__"):
        import polars as pl

        yield pl.DataFrame(X)
    else:
        yield np.asarray(X)


def _named(rows: Any, names: Any) -> Any:
    """Return rows with the names of their columns."""
    return rows if names is None else RowSource.from_array(rows, names=list(names))


def _told(info: FitInfo, n_rows: int, count: int, tests: int, found: Placement) -> FitInfo:
    """Return the record of a fit with what the sample and its test rows say."""
    evidence: dict[str, Any] = dict(info.evidence)
    if info.approximation_error is not None:
        evidence["approximation error of the fit"] = info.approximation_error
    evidence |= {"rows of the table": n_rows, "rows of the sample": count, "test rows": tests}
    evidence |= {name: value for name, value in found.evidence().items() if value is not None}
    return replace(
        info,
        algorithm=f"{info.algorithm}, of a sample" if info.algorithm else "of a sample",
        approximate=True,
        approximation_error=found.median,
        evidence=evidence,
    )
