"""The contract that every method keeps: `Reducer`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core import arrays, memory, thread_pool
from ..core.cost import DataShape, Plan
from ..core.errors import DataError, LowlandWarning, ScaleError
from ..core.message import Message
from ..core.show import show
from ..pairs.distances import DEGREES, MOVABLE
from ..rows import units
from ..rows.row_source import RowSource, as_rows, has_no_rows, single_pass_error
from . import parameters
from .fit_info import FitInfo, Recorder
from .inputs import Rows

Array = Any

_MOVABLE = (None, *MOVABLE, "rbf", "laplacian")  # rules that a shift of all rows does not change; None is plain rows
_KEPT_APART = ("fit_info_", "n_features_in_", "exponent_")  # by model files, under names of their own


class Reducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of every method: scikit-learn's conventions, a plan before, a record after, row-wise `transform`.

    A subclass declares ``_parameters`` (the limits of its constructor's arguments), its learned attributes as
    annotations (``components_: Array``; a model file holds those that a fit has set), ``_units`` (those that change
    with the unit of the rows: see `units`) and ``_reads_again`` (a fit reads the rows more than once; their number is
    known before its plan), and writes ``_plan``, ``_fit`` and ``_row_map``.
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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the reduction from the rows of X; ``y`` is there for pipelines and not used, except by UMAP."""
        return self._run_fit(X)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Learn the reduction and return the reduced rows."""
        if isinstance(X, Iterator) or (isinstance(X, RowSource) and not X.reiterable):
            name = f"{type(self).__name__}.fit_transform"
            raise single_pass_error(name, "call fit, then transform on a second reading")
        model = self.fit(X, y, **fit_params)
        found = getattr(model, "embedding_", None)
        if found is None:
            return model.transform(X)
        return arrays.like(found, X) if arrays.is_foreign(X) else found.copy()

    def transform(self, X: Any) -> Array:
        """Reduce rows, new or old, one by one: a row's result does not depend on other rows; no rows give (0, k)."""
        check_is_fitted(self)
        model = units.fit_view(self)
        X = as_rows(X, allow_sparse=self._allow_sparse, allow_empty=True) if has_no_rows(X) else X
        Y = model._rows(X, reset=False).map_blocks(model._row_map(), self.n_components_)
        return units.in_rows_units(self, Y, "transform")

    def widget(self, X: Any = None, color: Any = None, text: Any = None) -> Any:
        """Show the map as an interactive scatter in a notebook (needs ``lowland[widget]``).

        ``X`` are rows to place on it, by default the training rows; ``color`` is a column of X or one value for each
        row, ``text`` are columns of X shown on hover. ``.selection()`` of the result returns the selected rows of X.
        """
        check_is_fitted(self)
        return show("widget", self, X, color, text)

    def plot(self, X: Any = None, kind: str | None = None, *, ax: Any = None, **options: Any) -> Any:
        """Draw a figure of the fitted model and return its matplotlib axes; see `lowland.plots.plot`.

        ``X`` are rows, needed by figures of the data, and for the map if the model does not keep its coordinates;
        ``kind`` is a name that `plot_kinds` lists, by default the map (for a SOM the U-matrix); ``options`` are those
        of that function, such as ``color``.
        """
        return show("model", self, X, kind, ax=ax, **options)

    def plot_kinds(self) -> dict[str, str]:
        """Return the figures that `plot` can draw, by name, with a line on what they show."""
        kinds: dict[str, str] = show("model kinds", self)
        return kinds

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram and, of a fitted model, its picture and record, for notebooks."""
        return f"{super()._html_repr()}{show('model html', self) if hasattr(self, 'fit_info_') else ''}"

    def _rows(self, X: Any, *, reset: bool) -> RowSource:
        """Turn input into a row source and check names and number of columns against the fit."""
        source = self._input.source(self, X)
        try:
            validate_data(self, source.named(), reset=reset, skip_check_array=True)
        except ValueError as error:  # against an earlier fit: with reset any columns are taken
            raise DataError(Message(f"{str(error).rstrip()}\n", self._input.remedy(self))) from None
        if self._pairwise if reset else self._fitted_pairwise:
            source.allow_nan = True  # what to do about a missing pair is not what to do about a missing cell
        return source if reset else units.scaled(source, -self._scaled_by)

    def _reduced(self, X: Any, *, allow_nan: bool = False) -> RowSource:
        """Turn reduced rows into a row source, one column for each component."""
        check_is_fitted(self)
        owner = type(self).__name__
        source = as_rows(X, allow_nan=allow_nan, allow_sparse=False, allow_empty=True, owner=owner)
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
        rule = self._input.rule(self)
        return bool(self._units) and (rule is None or (isinstance(rule, str) and rule in DEGREES))

    def _takes_means_off(self) -> bool:
        """Tell whether a constant added to a column changes nothing: then the size of a column is its spread."""
        return self._input.rule(self) in _MOVABLE

    def _exponent_of(self, rows: RowSource, *, sure: bool = False) -> int:
        """Return e, where a fit divides these rows by 2^e."""
        return units.exponent_of(rows, spread=self._takes_means_off(), sure=sure) if self._has_units() else 0

    def _in_unit(self, value: Any, power: units.Power) -> Any:
        """Return a parameter, given in a power of the rows' unit, in that of the fit."""
        return units.times(value, -round(self._scaled_by * power))

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

    def _run_fit(self, X: Any, sample_weight: Any = None, exponent: int | None = None, **more: Any) -> Self:
        """Check, plan, fit, record: the one road of every `fit`; ``more`` is passed on to `_fit`."""
        parameters.check(type(self).__name__, self._parameters, self.get_params(deep=False))
        self._forget()
        try:
            source = self._rows(X, reset=True).weighted(sample_weight)
            if self._reads_again and not source.reiterable:
                raise single_pass_error(type(self).__name__)
            if source.reiterable and (self._needs_length() or source.elsewhere):
                source.count()
            self._plan(source.shape).require()  # before a row is read
            exponent = self._exponent_of(source) if exponent is None else exponent
            source, self._scaled_by = units.scaled(source, -exponent), exponent
            cost = self._plan_rows(source)
            cost.require()
            record = Recorder(type(self).__name__, cost)
            with memory.watch(cost.bytes) as peak, thread_pool.one_blas_thread():  # the same bits on any machine
                self._fit(source, record, **more)
            if exponent:
                self._keep_unit(exponent, record)
        except ScaleError:
            again = self._exponent_of(source, sure=True) if not exponent and source.reiterable else 0
            self._forget()
            if not again:
                raise
            return self._run_fit(X, sample_weight, again, **more)  # a few rows are far larger than the sample
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
        return isinstance(rule := self._input.rule(self), str) and rule == "precomputed"

    @property
    def _fitted_pairwise(self) -> bool:
        """Tell whether the fit was on values for pairs, so that new rows hold values for the training objects."""
        return self._input.kept(self) == "precomputed"

    def _needs_length(self) -> bool:
        """Tell whether the number of rows must be known before the plan; a silent source is then read once more."""
        return self._reads_again

    def _forget(self) -> None:
        parameters = self._get_param_names()  # one of another package may end so, such as lambda_
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("__") and n not in parameters]:
            delattr(self, name)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.allow_nan = self._allow_sparse, self._allow_nan
        tags.input_tags.pairwise = self._pairwise
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


__all__ = ["FitInfo", "Recorder", "Reducer"]
