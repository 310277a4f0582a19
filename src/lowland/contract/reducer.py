"""The contract that every method keeps: `Reducer` and the record of a fit, `FitInfo`."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core import arrays, memory, thread_pool
from ..core.cost import DataShape, Plan
from ..core.errors import DataError, LowlandWarning, RankWarning, ScaleError
from ..core.formatting import format_bytes
from ..rows import units
from ..rows.row_source import RowSource, as_rows, single_pass_error
from . import parameters
from .inputs import Rows

Array = Any

_KEPT_APART = ("fit_info_", "n_features_in_", "exponent_")  # by model files, under names of their own


@dataclass(frozen=True)
class FitInfo:
    """What a fit did and how far it can be trusted; immutable, printed as a small table.

    ``residual`` is the measured relative error of the eigen- or singular pairs, ``approximation_error`` the
    measured error of an approximate algorithm, ``seconds`` the time of each stage, ``peak_bytes`` the memory
    the process grew by; ``evidence`` maps further names (share of variance, …) to values.
    """

    method: str
    algorithm: str
    solver: str = ""
    iterations: int | None = None
    residual: float | None = None
    approximate: bool = False
    approximation_error: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_bytes: int | None = None
    warnings: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", MappingProxyType(dict(self.seconds)))
        object.__setattr__(self, "evidence", MappingProxyType(dict(self.evidence)))
        object.__setattr__(self, "warnings", tuple(self.warnings))

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy cannot be copied or sent to a process by itself
        return FitInfo.from_dict, (self.to_dict(),)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values."""
        out = {f.name: getattr(self, f.name) for f in fields(self)}
        out.update(seconds=dict(self.seconds), evidence=dict(self.evidence), warnings=list(self.warnings))
        return out

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build the record from plain values; names it does not know are left out."""
        known = {f.name for f in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    def rows(self) -> list[tuple[str, str]]:
        """Return (name, text) pairs for a table."""
        out = [("method", self.method), ("algorithm", self.algorithm)]
        if self.solver:
            out.append(("solver", self.solver))
        if self.iterations is not None:
            out.append(("iterations", str(self.iterations)))
        if self.residual is not None:
            out.append(("residual", f"{self.residual:.2g}"))
        out.append(("approximate", "yes" if self.approximate else "no"))
        if self.approximation_error is not None:
            out.append(("approximation error", f"{self.approximation_error:.3g}"))
        total = sum(self.seconds.values())
        stages = ", ".join(f"{name} {value:.2g}" for name, value in self.seconds.items())
        out.append(("seconds", f"{total:.2g}" + (f" ({stages})" if stages else "")))
        if self.peak_bytes is not None:
            out.append(("memory", format_bytes(self.peak_bytes)))
        for name, value in self.evidence.items():
            out.append((name, f"{value:.4g}" if isinstance(value, float) else str(value)))
        out.extend(("warning", text) for text in self.warnings)
        return out

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)

    def _repr_html_(self) -> str:
        from html import escape

        cells = "".join(f"<tr><th>{escape(n)}</th><td>{escape(t)}</td></tr>" for n, t in self.rows())
        return f"<table>{cells}</table>"


class Recorder:
    """Collects what `FitInfo` will hold while a fit runs; knows the plan that the fit follows."""

    def __init__(self, method: str, plan: Plan | None = None) -> None:
        self.plan = plan
        self.values: dict[str, Any] = {"method": method, "algorithm": ""}
        self.seconds: dict[str, float] = {}
        self.messages: list[str] = []
        self.evidence: dict[str, Any] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time one stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def warn(self, message: str, category: type[Warning]) -> None:
        """Warn the caller and keep the message in the record."""
        self.messages.append(message)
        warnings.warn(message, category, stacklevel=level_of_the_caller())

    def warn_short(
        self,
        rank: int,
        asked: int | None,
        unseen: float = 0.0,
        remedy: str = "solver='svd' squares nothing",
        what: str = "the data",
    ) -> None:
        """Warn that the data have fewer components than were asked for; None asks for all.

        ``unseen`` is the share of the largest singular value below which none was seen, where only squares were kept;
        ``what`` has the rank.
        """
        method, few = self.values["method"], "" if asked is None else f", below the {asked} components asked for"
        text = (
            f"{what} have at least rank {rank}{few}: the rows were added up as squares, in which a singular value "
            f"below {unseen:.1g} of the largest cannot be told from rounding; {remedy}"
            if unseen
            else f"{what} have rank {rank}{few}"
        )
        self.warn(f"{method}: {text}; n_components_ is {rank}", RankWarning)

    def tell_checked(self, blocks: int | None) -> None:
        """Say that a Krylov method looked for missed eigenpairs; of several solves the first, the largest, counts."""
        if blocks is not None:
            self.evidence.setdefault("missed eigenpairs", f"none found; checked (randomised) with {blocks} blocks")

    def note(self, **values: Any) -> None:
        """Set fields of the record."""
        self.values.update(values)

    def info(self, peak_bytes: int | None) -> FitInfo:
        """Close the record."""
        return FitInfo(
            **self.values,
            seconds=self.seconds,
            peak_bytes=peak_bytes,
            warnings=tuple(self.messages),
            evidence=self.evidence,
        )


def level_of_the_caller() -> int:
    """Return the stack level, seen from the function that asks, of the first line that is not a library's own."""
    frame, level = inspect.currentframe(), 0
    libraries = ("lowland", "sklearn", "contextlib")
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in libraries:
        frame, level = frame.f_back, level + 1
    return level


class Reducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of every method: scikit-learn's conventions, a plan before, a record after, row-wise `transform`.

    A subclass declares ``_parameters`` (the limits of its constructor's arguments), its learned attributes as
    annotations (``components_: Array``; a model file holds those that a fit has set), ``_units`` (those that change
    with the unit of the rows: see `units`) and ``_reads_again`` (a fit reads the rows more than once), and writes
    ``_plan``, ``_fit`` and ``_row_map``.
    """

    _input: ClassVar[Rows] = Rows()
    _parameters: ClassVar[Mapping[str, parameters.Rule]] = {}
    _state: ClassVar[tuple[str, ...]] = ()  # what a model file holds: the annotated names that end in _
    _allow_nan: ClassVar[bool] = False
    _allow_sparse: ClassVar[bool] = False
    _reads_again: ClassVar[bool] = False
    _streams: ClassVar[bool] = False  # whether blocks that can be read only once will do
    _overhead: ClassVar[tuple[float, float]] = (6e-3, 0.0)  # seconds of any fit, and of each row, beyond arithmetic
    _entry_seconds: ClassVar[float] = 1e-8  # of each stored entry of the table: reading, checking and scaling it
    _units: ClassVar[units.Units] = {}  # empty: rows are never scaled

    _scaled_by: int = 0  # e, where a fit, or a view of a model, divides rows by 2^e

    fit_info_: FitInfo
    n_components_: int
    n_features_in_: int
    exponent_: int  # set only where a fit divided the rows by 2^exponent_

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_state" not in vars(cls):
            bases = [Reducer, *reversed(cls.__mro__)]
            learned = [name for base in bases for name in vars(base).get("__annotations__", {}) if name[-1] == "_"]
            cls._state = tuple(dict.fromkeys(name for name in learned if name not in _KEPT_APART))
        units.measure(cls)

    # -- what a subclass writes ---------------------------------------------------------------------------

    def _plan(self, shape: DataShape) -> Plan:
        """Say the cost of a fit on data of this shape."""
        raise NotImplementedError

    def _plan_rows(self, rows: RowSource) -> Plan:
        """Say the cost of a fit on these rows; a method whose cost depends on more than their shape looks at them."""
        return self._plan(rows.shape)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        """Learn from the rows."""
        raise NotImplementedError

    def _row_map(self) -> Callable[[Array], Array]:
        """Return the function that maps a block of rows; each row must not depend on the others."""
        raise NotImplementedError

    # -- what it gets -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn the reduction from the rows of X."""
        return self._run_fit(X)

    def fit_transform(self, X: Any, y: None = None, **fit_params: Any) -> Array:
        """Learn the reduction and return the reduced rows."""
        if isinstance(X, Iterator) or (isinstance(X, RowSource) and not X.reiterable):
            raise DataError(
                "fit_transform needs the rows twice and these blocks can be read only once; "
                "call fit, then transform on a second reading"
            )
        model = self.fit(X, **fit_params)
        found = getattr(model, "embedding_", None)
        if found is None:
            return model.transform(X)
        return arrays.like(found, X) if arrays.is_foreign(X) else found.copy()

    def transform(self, X: Any) -> Array:
        """Reduce rows, new or old, one by one: the result for a row does not depend on its neighbours."""
        check_is_fitted(self)
        model = self._in_fit_units()
        found = model._rows(X, reset=False).map_blocks(model._row_map(), self.n_components_)
        return units.in_rows_units(self, found, "transform")

    def _source(self, X: Any) -> RowSource:
        """Turn input into a row source."""
        return self._input.source(self, X)

    def _rows(self, X: Any, *, reset: bool) -> RowSource:
        """Turn input into a row source and check names and number of columns against the fit."""
        source = self._source(X)
        try:
            validate_data(self, source.named(), reset=reset, skip_check_array=True)
        except ValueError as error:  # against an earlier fit: with reset any columns are taken
            raise DataError(f"{str(error).rstrip()}\n{self._input.remedy(self)}") from None
        source = source if reset else units.scaled(source, -self._scaled_by)
        if self._pairwise if reset else self._fitted_pairwise:
            source.allow_nan = True  # what to do about a missing pair is not what to do about a missing cell
        return source

    def _reduced(self, X: Any, *, allow_nan: bool = False) -> RowSource:
        """Turn reduced rows into a row source, one column for each component."""
        check_is_fitted(self)
        source = as_rows(X, allow_nan=allow_nan, allow_sparse=False, owner=type(self).__name__)
        if source.n_features != self.n_components_:
            raise DataError(
                f"the reduced rows must have {self.n_components_} columns, one for each component; "
                f"these have {source.n_features}"
            )
        return self._scaled_back(source)

    def _scaled_back(self, reduced: RowSource) -> RowSource:
        """Return reduced rows in the unit of this view of the model."""
        return units.scaled(reduced, -round(self._scaled_by * units.power(self, "transform")))

    # -- units --------------------------------------------------------------------------------------------

    def _has_units(self) -> bool:
        """Tell whether rows may be scaled: whether these parameters mean the same in all units."""
        return self._input.has_units(self)

    def _exponent_of(self, rows: RowSource, *, sure: bool = False) -> int:
        """Return e, where a fit divides these rows by 2^e."""
        return units.exponent_of(rows, spread=self._takes_means_off(), sure=sure) if self._has_units() else 0

    def _takes_means_off(self) -> bool:
        """Tell whether a constant added to a column changes nothing: then the size of a column is its spread."""
        return self._input.takes_means_off(self)

    def _in_unit(self, value: Any, power: units.Power) -> Any:
        """Return a parameter, given in a power of the rows' unit, in that of the fit."""
        return units.times(value, -round(self._scaled_by * power))

    def _in_fit_units(self) -> Self:
        """Return a view of the model whose rows and learned attributes are in the unit of the fit."""
        exponent = vars(self).get("exponent_", 0)
        if not exponent:
            return self
        view = object.__new__(type(self))
        view.__dict__.update(vars(self), _scaled_by=exponent)
        del view.__dict__["exponent_"]
        return view

    def _keep_unit(self, exponent: int, record: Recorder | None = None) -> None:
        """Store the unit of the fit: from now on, attributes are read in that of the rows."""
        if not exponent:
            return
        self.exponent_ = exponent
        if record is None:
            return
        record.evidence = {name: units.in_rows_units(self, value, name) for name, value in record.evidence.items()}
        record.evidence["rows divided by"] = f"2^{exponent}"
        lost = [name for name in self._units if name in vars(self) and units.passes(self, name)]
        if lost:
            record.warn(
                f"{type(self).__name__}: {', '.join(sorted(lost))} cannot be represented in floating point in the "
                "unit of these rows: values too large are infinity, values too small zero. Other results are not "
                f"affected. Divide the rows by 2.0**{exponent} to get these",
                LowlandWarning,
            )

    def _run_fit(self, X: Any, sample_weight: Any = None, exponent: int | None = None) -> Self:
        """Check, plan, fit, record: the one road of every `fit`."""
        parameters.check(type(self).__name__, self._parameters, self.get_params(deep=False))
        self._forget()
        try:
            source = self._rows(X, reset=True).weighted(sample_weight)
            if self._reads_again and not source.reiterable:
                raise single_pass_error(type(self).__name__)
            if source.reiterable and self._needs_length():
                source.count()
            self._plan(source.shape).require()  # before a row is read
            exponent = self._exponent_of(source) if exponent is None else exponent
            source, self._scaled_by = units.scaled(source, -exponent), exponent
            cost = self._plan_rows(source)
            cost.require()
            record = Recorder(type(self).__name__, cost)
            with (
                memory.watch(cost.bytes) as peak,
                thread_pool.one_blas_thread(),
            ):  # the same bits on any machine's threads
                self._fit(source, record)
            self._keep_unit(exponent, record)
        except ScaleError:
            again = self._exponent_of(source, sure=True) if not exponent and source.reiterable else 0
            self._forget()
            if not again:
                raise
            return self._run_fit(X, sample_weight, again)  # a few rows are far larger than the sample
        except BaseException:
            self._forget()  # a refused, cancelled or failed fit leaves no half-learned model
            raise
        finally:
            self.__dict__.pop("_scaled_by", None)
        self.fit_info_ = record.info(peak.bytes)
        return self

    @property
    def _pairwise(self) -> bool:
        """Tell whether rows hold values for pairs, so that a fit takes a square of them."""
        return self._input.pairwise(self)

    @property
    def _fitted_pairwise(self) -> bool:
        """Tell whether the fit was on values for pairs, so that new rows hold values for the training objects."""
        return self._input.fitted_pairwise(self)

    def _needs_length(self) -> bool:
        """Tell whether the number of rows must be known before the plan; a silent source is then read once more."""
        return self._input.needs_length

    def _forget(self) -> None:
        given = self._get_param_names()  # a parameter of another package may end so, such as lambda_
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("__") and n not in given]:
            delattr(self, name)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._allow_sparse
        tags.input_tags.allow_nan = self._allow_nan
        tags.input_tags.pairwise = self._pairwise
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


__all__ = ["FitInfo", "Recorder", "Reducer"]
