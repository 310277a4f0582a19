"""Factor analysis of mixed data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...contract.parameters import RANDOM_STATE, AnyOf, Choice, ColumnList, Integer, Rule
from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape, Plan
from ...core.errors import DataError
from ...core.random import seed
from ...rows.mixed_rows import Levels, MixedRows, mixed_rows
from ...rows.row_source import RowSource, as_rows, has_no_rows
from ...rows.units import Units, fit_view
from ..shared.linear_map import LINEAR_UNITS, Compressor, LinearReducer, linear_plan, summarize
from .famd_coding import REMEDY, Layout, MixedInput, decompose, plan_rows
from .famd_warnings import categories_of, tell_axes, tell_columns

Array = Any
Column = str | int


class FAMD(LinearReducer):
    """Factor analysis of mixed data: principal components of numeric and categorical columns (Pagès 2004).

    Numbers are standardised, and the indicator of each level is divided by the root of its share p, so that a number
    has variance 1 and a categorical column of K levels K − 1, at most 1 of it along any direction:

    z = (x − m)/s  and  z_l = (1_l − p_l)/√p_l;   ZᵀZ/N = V Λ Vᵀ;   y = Vᵀz.

    With numbers alone this is PCA with ``scale=True``, with Q categorical columns alone multiple correspondence
    analysis, whose eigenvalues are λ/Q and coordinates of rows y/√Q.

    Parameters
    ----------
    n_components : int
        Number of axes.
    categorical : "auto" or list of column names or numbers
        Columns of numbers that are categorical. Texts, booleans of a data frame and categorical types always are.
    unseen, missing : str
        A level that the fit did not see, or that a new row lacks: "error" or "ignore", which takes the mean. A missing
        category: "error" refuses it, with its place; "level" makes them a level of their own, None.
    random_state : int, generator or None
        Seed of the iterative solver that tables of many levels need; None is seed 0.

    Attributes
    ----------
    components_, coded_names_ : array (k, C), list of str
        V as rows, over the coded columns (a number, or a level of a category), and their names: "colour=red".
    eigenvalues_, explained_variance_ratio_, spectrum_, total_variance_ : array (k,), array (k,), array, float
        λ, the variance (1/N) of each coordinate; λ over the sum of all; all λ that were computed; their sum.
    levels_, mean_, scale_ : dict, array (C,), array (C,)
        Levels of each category, sorted: numbers, texts, None; m and s of numbers, p and √p of levels.

    Examples
    --------
    >>> import lowland
    >>> rows = [[1.0, "red"], [2.0, "red"], [3.0, "blue"], [5.0, "blue"], [6.0, "green"]]
    >>> model = lowland.FAMD(n_components=2).fit(rows)
    >>> model.levels_
    {1: ['blue', 'green', 'red']}
    >>> model.inverse_transform(model.transform(rows))[:, 1].tolist()
    ['red', 'red', 'blue', 'blue', 'green']
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "categorical": AnyOf((Choice(("auto",)), ColumnList())),
        "unseen": Choice(("error", "ignore")),
        "missing": Choice(("error", "level")),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {**LINEAR_UNITS, "scale_": 1}  # of tables of numbers
    _allow_sparse: ClassVar[bool] = False
    _input: ClassVar[MixedInput] = MixedInput()

    components_: Array
    eigenvalues_: Array
    explained_variance_ratio_: Array
    mean_: Array
    scale_: Array
    spectrum_: Array
    total_variance_: float
    categorical_columns_: list[int]
    categorical_levels_: list[list[Any]]
    n_samples_: int
    row_tails_: dict[str, Any]

    def __init__(
        self,
        n_components: int = 2,
        *,
        categorical: str | list[Column] = "auto",
        unseen: str = "error",
        missing: str = "error",
        random_state: int | None = None,
    ) -> None:
        self.n_components, self.categorical, self.random_state = n_components, categorical, random_state
        self.unseen, self.missing = unseen, missing

    def _rows(self, X: Any, *, reset: bool) -> RowSource:
        """Return rows as a fit takes them, or, of a fitted model, as numbers and codes of levels."""
        if reset or has_no_rows(X):
            return super()._rows(X, reset=reset)
        missing = "new" if self.unseen == self.missing == "error" else "level"  # a level that no row had is unknown
        columns, options = self.categorical_columns_, {"missing": missing, "owner": "FAMD"}
        X = mixed_rows(X, columns, only=True, **options) if columns else as_rows(X, allow_sparse=False, owner="FAMD")
        rows, levels = super()._rows(X, reset=False), Levels(tuple(columns), tuple(self.categorical_levels_))
        return rows.coded(levels, self.unseen) if isinstance(rows, MixedRows) else rows

    @property
    def _layout(self) -> Layout:
        check_is_fitted(self)
        return Layout.of(self.n_features_in_, self.categorical_columns_, [*map(len, self.categorical_levels_)])

    def _plan(self, shape: DataShape) -> Plan:
        k = min(self.n_components, shape.n_features, shape.n_rows or shape.n_features)  # levels may be more columns
        return linear_plan(self, shape, k, remedy=REMEDY)

    def _plan_rows(self, rows: RowSource) -> Plan:
        return plan_rows(self, rows)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        k, rng = self.n_components, seed(self.random_state)
        self.categorical_columns_, self.categorical_levels_ = categories_of(rows, record)
        with record.stage("solve"):
            space, self.mean_, self.scale_ = decompose(rows, k, rng)
        self.n_components_, self.n_samples_ = len(space.values), space.solved.n_rows
        self.components_ = np.ascontiguousarray(space.directions.T).astype(rows.dtype)
        self.eigenvalues_, self.explained_variance_ratio_, self.total_variance_, self.spectrum_ = space.variances(0)
        tell_axes(space, self.eigenvalues_, k, rows.n_features == len(self.categorical_columns_) == 1, record)
        tell_columns(self, rows.n_features, record)
        summarize(self, rows)

    def _compressor(self) -> Compressor:  # of coded rows: numbers, and 1 or 0 for each level
        V = self.components_.astype(np.float64)
        return Compressor.about(self.mean_, V / self.scale_, (V * self.scale_).T)

    def _row_map(self) -> Callable[[Array], Array]:
        if not self.categorical_columns_:
            return super()._row_map()
        return self._layout.row_map(self._compressor().A, self.mean_)

    def inverse_transform(self, X: Any) -> Array:
        """Map coordinates back: numbers to m + s (Vy), categorical columns to the level of largest p + √p (Vy)."""
        check_is_fitted(self)
        if not self.categorical_columns_:
            return super().inverse_transform(X)
        layout, rebuild = self._layout, super()._inverse_map()
        back = self._reduced(X).map_blocks(lambda block: layout.decoded(rebuild(block)), self.n_features_in_)
        return layout.labelled(back, self.categorical_levels_)

    def coded(self, X: Any) -> Array:
        """Return the coded rows z, (N, C): columns as in ``coded_names_``; their Euclidean distances are FAMD's own."""
        layout, model = self._layout, fit_view(self)  # z has no unit
        work = layout.standard_map(model.mean_, model.scale_)
        return arrays.to_numpy(model._rows(X, reset=False).map_blocks(work, layout.width, np.float64))

    def residual(self, X: Any) -> Array:
        """Return x − x̂ of a table of numbers; categories have no differences."""
        if len(self._layout.categorical):
            raise DataError("the residual is a difference of numbers, and some of these columns are categories")
        return super().residual(X)

    @property
    def levels_(self) -> dict[Column, list[Any]]:
        """Levels of each categorical column, by its name, or its number where there are no names."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        columns = [j if names is None else str(names[j]) for j in self.categorical_columns_]
        return dict(zip(columns, self.categorical_levels_, strict=True))

    @property
    def coded_names_(self) -> list[str]:
        """Names of the coded columns, all different: "x0" of a number, "x1=red" of a level."""
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self._layout.n_columns)])
        return self._layout.names([str(name) for name in names], self.categorical_levels_)

    def contributions(self) -> Array:
        """Return (D, k) each column's share of each axis: v², added up over a column's levels. An axis sums to 1."""
        return self._layout.summed(self.components_.T.astype(np.float64) ** 2)

    def column_coordinates(self) -> Array:
        """Return (D, k) λ × contributions: r² of a numeric, η² of a categorical column and the axis (0 to 1)."""
        return self.contributions() * self.eigenvalues_

    def category_coordinates(self) -> dict[Column, Array]:
        """Return for each categorical column the (levels, k) mean coordinates of the rows of each level: λ v/√p."""
        layout, centres = self._layout, self.components_.T.astype(np.float64) * self.eigenvalues_ / self.scale_[:, None]
        return {name: centres[layout.span(j)] for name, j in zip(self.levels_, layout.categorical, strict=True)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags
