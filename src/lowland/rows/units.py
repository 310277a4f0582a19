"""Rows of very large or very small numbers: scaled by a power of two before a fit, and results scaled back after it.

Squares of numbers near 1e-300 are zero and those near 1e300 infinite; fourth powers, which distances and spectra need,
underflow and overflow much earlier. Such rows are divided by a power of two, 2^e, that brings their largest value
near to 1, or if it was too large, just below the upper limit of ordinary size, so that small rows keep their digits.
This changes no digit, so a fit gives the result of the rescaled rows. Rows of ordinary size are not changed.

A fitted model stores its attributes in the unit of its fit, and ``exponent_``, which is e. A learned attribute is
multiplied by 2^(e·p) when it is read, and so are the results of methods: p is 1 for a mean, 2 for a variance, −1 for
the factors of a linear map, 0 for a ratio. Each class lists p in ``_units``, by the names of its attributes, results
and evidence. Values outside the range of their type become infinity or zero, and the fit warns of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.cost import check_allocation
from .block import Block
from .engine_rows import EngineRows
from .row_source import ArrayRows, BlockRows, RowSource
from .scan_rows import ScanRows

Array = Any
Power = float  # of the rows' unit; half-integers for kernels
Units = Mapping[str, Power | Callable[[Any], Power]]
Model = TypeVar("Model")
Method = TypeVar("Method", bound=Callable[..., Any])

# Range of the exponent of the largest value in which rows are not scaled. Eighth powers of float64 (fourth powers of
# squared distances) stay 60 orders of magnitude within the range of the type; float32 rows are squared in float32, and
# 512 squares are added.
_ORDINARY = {np.dtype(np.float64): (-100, 100), np.dtype(np.float32): (-32, 50)}
_FACTOR = {np.dtype(np.float64): 1000, np.dtype(np.float32): 100}  # exponent of the largest factor of one product
_LARGEST_EXPONENT = 4000  # 2^4000 times the smallest number is infinity: larger exponents change nothing
_SAMPLE_ROWS, _SAMPLE_ENTRIES = 8, 1 << 16  # all rows are read only if this sample is not of ordinary size
_STATE: Units = {
    "shift": 1,
    "V": 2,
    "VI": -2,
    "data": 1,
}  # of the parameters of a metric, and of sparse rows in a model


class Measured:
    """A learned attribute with a unit: stored in the unit of the fit, read in that of the rows."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type[Any]) -> Any:
        if model is None or self.name not in vars(model):
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")
        return in_rows_units(model, vars(model)[self.name], self.name)

    def __set__(self, model: Any, value: Any) -> None:
        vars(model)[self.name] = value

    def __delete__(self, model: Any) -> None:
        del vars(model)[self.name]


def measure(cls: type[Any]) -> None:
    """Make the attributes listed in the class's ``_units`` `Measured`."""
    for name in cls._units:
        if name.endswith("_") and not hasattr(cls, name):
            setattr(cls, name, Measured(name))


def distance_power(model: Any) -> int:
    """Return p of distances between rows: 0 where the model divides columns by their deviations, ``scale_``."""
    return 1 if model.scale_ is None else 0


def power(model: Any, name: str) -> Power:
    """Return the power p of the rows' unit for the attribute, result or evidence of this name."""
    found = model._units.get(name, 0)
    return float(found(model) if callable(found) else found)


def in_rows_units(model: Any, value: Any, name: str) -> Any:
    """Return a value of this name, given in the unit of the fit, in that of the rows."""
    exponent = vars(model).get("exponent_", 0)
    return times(value, round(exponent * power(model, name))) if exponent else value


def fit_view(model: Any) -> Any:
    """Return a view of a model whose rows and learned attributes are in the unit of the fit, and NumPy's."""
    exponent, home = vars(model).get("exponent_", 0), vars(model).get("library_")
    if not exponent and home is None:
        return model
    view = object.__new__(type(model))
    view.__dict__.update(vars(model), _scaled_by=exponent)
    for name in ("exponent_", "library_"):
        view.__dict__.pop(name, None)
    if home is not None:
        view.__dict__.update({name: arrays.to_numpy(value) for name, value in _of_library(view)})
    return view


def keep_library(model: Model, X: Any) -> Model:
    """Return a model whose learned arrays are of the library and device of X, where scikit-learn is set to do so."""
    if arrays.dispatched(X):
        learned = {name: value for name, value in vars(model).items() if name[-1] == "_"}
        learned = {name: arrays.back(value, X) for name, value in learned.items() if isinstance(value, np.ndarray)}
        vars(model).update(learned, library_=arrays.back(np.empty(0), X))
    return model


def _of_library(model: Any) -> list[tuple[str, Any]]:
    return [
        (name, value) for name, value in vars(model).items() if arrays.is_foreign(value) or arrays.is_standard(value)
    ]


def scaled_back(name: str, *, learned: bool = False) -> Callable[[Method], Method]:
    """Let a method compute in the unit of the fit, and return its result in that of the rows.

    ``name`` is that of the result in ``_units``; rows that the method takes by `Reducer._rows` or `Reducer._reduced`
    are scaled when they are read. ``learned``: the result is of the library of the learned attributes.
    """

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def work(model: Any, *args: Any, **kwargs: Any) -> Any:
            out = in_rows_units(model, method(fit_view(model), *args, **kwargs), name)
            return arrays.back(out, model.library_) if learned and "library_" in vars(model) else out

        return cast(Method, work)

    return decorate


def passes(model: Any, name: str) -> bool:
    """Return whether an attribute is finite in the unit of the fit but overflows or underflows in that of the rows."""
    held, shown = vars(model)[name], getattr(model, name)
    if held is None or isinstance(held, dict) or np.asarray(held).dtype.kind != "f":
        return False
    return _size(held) != 0 and _size(shown) in (0, np.inf) and np.isfinite(_size(held))


def _size(values: Any) -> float:
    return float(np.abs(np.asarray(values)).max(initial=0.0))


# -- powers of two ---------------------------------------------------------------------------------------------------


def times(x: Any, exponent: int) -> Any:
    """Return x · 2^exponent: of arrays of any library, sparse matrices, numbers, and dictionaries of these.

    Values outside the range of their type become infinity or zero, without a warning.

    >>> times(np.array([3.0, 2.0**-1021]), 1023).tolist()
    [inf, 4.0]
    """
    if exponent == 0 or x is None:
        return x
    if isinstance(x, dict):
        return {key: times(value, round(exponent * _STATE.get(key, 0))) for key, value in x.items()}  # type: ignore[operator]
    if sp.issparse(x):
        out = x.copy()
        out.data = times(x.data, exponent)
        return out
    if isinstance(x, int | float):
        return float(times(np.array(x, dtype=np.float64), exponent))
    most, exponent = _FACTOR[arrays.dtype_of(x)], max(-_LARGEST_EXPONENT, min(_LARGEST_EXPONENT, exponent))
    with np.errstate(all="ignore"):
        while exponent:
            step = max(-most, min(most, exponent))
            x, exponent = x * 2.0**step, exponent - step
    return x


def scaled(source: RowSource, exponent: int) -> RowSource:
    """Return the rows times 2^exponent; those in memory as a copy."""
    if exponent == 0:
        return source
    if isinstance(source, BlockRows | ScanRows):
        return _ScaledBlocks(source, exponent)
    if isinstance(source, EngineRows):
        return source.changed(functools.partial(times, exponent=exponent))
    assert isinstance(source, ArrayRows)
    size = int(getattr(source.array, "nbytes", 0))
    check_allocation(size, "a copy of the rows, scaled", "give rows whose values are nearer to 1")
    array = times(source.array if source.sparse else arrays.cast(source.array, source.dtype), exponent)
    return source.replaced(array)


class _ScaledBlocks(RowSource):
    """Blocks of another source, each scaled when it is read."""

    def __init__(self, source: BlockRows | ScanRows, exponent: int) -> None:
        self._source, self._exponent = source, exponent
        self.n_rows, self.n_features, self.dtype = source.n_rows, source.n_features, source.dtype
        self.reiterable, self.weights, self.names = source.reiterable, source.weights, source.names
        self.allow_nan = source.allow_nan

    @property
    def shape(self) -> Any:
        """Shape and type of the rows, for plans."""
        return self._source.shape

    @property
    def sparse(self) -> bool:
        """Whether blocks are scipy.sparse (CSR)."""
        return self._source.sparse

    @property
    def reference(self) -> Array:
        """An array of the library and device of the rows."""
        return self._source.reference

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        for block in self._source.blocks(size, first):
            yield block._replace(rows=times(block.rows, self._exponent))
        self.n_rows = self._source.n_rows


# -- how large rows are ----------------------------------------------------------------------------------------------


def exponent_of(source: RowSource, *, spread: bool, sure: bool = False) -> int:
    """Return the even e such that rows are divided by 2^e; 0 for rows of ordinary size.

    Their size is the largest absolute value, or with ``spread`` half the widest range of a column, for methods that
    subtract means. All rows are read only if a sample is too small or too large, or with ``sure``. For blocks that can
    be read only once, only the first is used.
    """
    if not isinstance(source, ArrayRows | BlockRows | EngineRows | ScanRows) or source.dtype not in _ORDINARY:
        return 0
    if isinstance(source, ArrayRows) and arrays.dtype_of(source.array).kind != "f":
        return 0  # integers are of ordinary size
    if isinstance(source, EngineRows) and source.whole_numbers:
        return 0
    size = _size_of(_bounds(_sample(source)), spread)
    if not sure and _is_ordinary(size, source.dtype):
        return 0
    if source.reiterable:
        known, bounds = source.n_rows, source.map(lambda block: _bounds(block.rows))
        low, high = functools.reduce(lambda a, b: (np.fmin(a[0], b[0]), np.fmax(a[1], b[1])), bounds)
        source.n_rows = known  # the fit depends on it, and must not depend on this pass
        size = _size_of((low, high), spread)
    if size == 0 or _is_ordinary(size, source.dtype):
        return 0
    high = _ORDINARY[source.dtype][1]
    target = high - 2 if size > 1 else 0  # as large as possible, so that small rows do not underflow
    return 2 * ((int(np.frexp(size)[1]) - 1) // 2) - target


def _is_ordinary(size: float, dtype: np.dtype[Any]) -> bool:
    low, high = _ORDINARY[dtype]
    return bool(2.0**low <= size < 2.0**high) or not np.isfinite(size)  # infinity raises later, with its place


def _bounds(rows: Array) -> tuple[Array, Array]:
    """Return the minimum and maximum of each column, ignoring NaN and including the zeros of sparse rows."""
    if sp.issparse(rows):
        return rows.min(axis=0).toarray().ravel(), rows.max(axis=0).toarray().ravel()
    values = arrays.to_numpy(rows)
    return np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)


def _size_of(bounds: tuple[Array, Array], spread: bool) -> float:
    low, high = (np.asarray(bound, dtype=np.float64) for bound in bounds)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = high / 2 - low / 2 if spread else np.fmax(np.abs(low), np.abs(high))
    return float(np.fmax.reduce(sizes, initial=0.0))


def _sample(source: ArrayRows | BlockRows | EngineRows | ScanRows) -> Array:
    """Return some evenly spaced rows; for blocks, of the first."""
    count = max(_SAMPLE_ROWS, _SAMPLE_ENTRIES // source.n_features)
    if isinstance(source, EngineRows):
        return source.some(count)
    rows: Array = source.array if isinstance(source, ArrayRows) else source.first_block()
    return rows[:: max(1, rows.shape[0] // count)]
