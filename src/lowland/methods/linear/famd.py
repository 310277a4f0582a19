"""Factor analysis of mixed data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...contract.parameters import RANDOM_STATE, AnyOf, Choice, ColumnList, Integer, Rule
from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape, Plan
from ...core.errors import DataError, LowlandWarning, RankWarning
from ...core.random import seed
from ...rows.columns import like_dates
from ...rows.mixed_rows import Learned, Levels, MixedRows, mixed_rows
from ...rows.row_source import RowSource, as_rows
from ...rows.units import Units
from ...spectral import rowspace
from ...spectral.rowspace import RowSpace
from ...spectral.solved import ComponentRule, Scaling
from ..shared.linear_map import Compressor, LinearReducer, check_count, tell
from . import famd_coding
from .famd_coding import Layout

Array = Any
Column = str | int

_NUMBERS = Scaling(center=True, scale=True, ddof=0)  # numbers alone: PCA of the correlations
_MANY = 10  # levels from which on a column may be taken for the names of its rows


class FAMD(LinearReducer):
    """Factor analysis of mixed data: principal components of numbers and categories together (Pagès 2004).

    Numbers are standardised and the indicator of each level is divided by the root of its share p, so that a number
    and a category of K levels bring variances of 1 and K − 1, at most 1 of it along any direction:

    z = (x − m)/s  and  z_l = (1_l − p_l)/√p_l;   ZᵀZ/N = V Λ Vᵀ;   y = Vᵀz.

    An axis is the variable of largest Σ r²(y, numbers) + Σ η²(y, categories). With numbers alone this is PCA with
    ``scale=True``; with categories alone it is multiple correspondence analysis: of Q columns its eigenvalues are λ/Q
    and its coordinates of rows y/√Q.

    Parameters
    ----------
    n_components : int
        Number of axes.
    categorical : "auto" or list of column names or numbers
        Columns of numbers that are categories. Texts, booleans of a data frame and categorical types always are.
    unseen : str
        A level that the fit did not see: "error" refuses it, with its place; "ignore" lets the column say nothing of
        the row, as if it stood at the column's mean.
    missing : str
        A missing category: "error" refuses it, with its place; "level" makes them a level of their own, None.
    random_state : int, generator or None
        Seed of the iterative solver that tables of many levels need; None is seed 0.

    Attributes
    ----------
    components_ : array (k, C)
        V as rows, over the coded columns: one for a number, one a level for a category, in the table's order.
    coded_names_ : list of str
        Names of the coded columns, such as "colour=red"; no two are alike.
    eigenvalues_ : array (k,)
        λ, the variance (1/N) of each coordinate.
    explained_variance_ratio_ : array (k,)
        λ over the sum of all.
    levels_ : dict
        Levels of each categorical column, sorted: numbers, then texts, then None.
    mean_, scale_ : array (C,)
        m and s of numbers, p and √p of levels.
    spectrum_, total_variance_ : array, float
        The eigenvalues that were computed, more than k of them where they came for nothing, and the sum of all.
    n_components_, n_samples_ : int
        Axes kept, rows seen.
    fit_info_ : FitInfo
        What was run and how exact it is.

    Examples
    --------
    >>> import lowland
    >>> rows = [[1.0, "red"], [2.0, "red"], [3.0, "blue"], [5.0, "blue"], [6.0, "green"]]
    >>> model = lowland.FAMD(n_components=2).fit(rows)
    >>> model.levels_
    {1: ['blue', 'green', 'red']}
    >>> model.contributions().sum(axis=0).round(12).tolist()
    [1.0, 1.0]
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
    _units: ClassVar[Units] = {"mean_": 1, "scale_": 1, "inverse_transform": 1, "residual": 1}  # of tables of numbers
    _allow_sparse: ClassVar[bool] = False

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

    def __init__(
        self,
        n_components: int = 2,
        *,
        categorical: str | list[Column] = "auto",
        unseen: str = "error",
        missing: str = "error",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.categorical = categorical
        self.unseen = unseen
        self.missing = missing
        self.random_state = random_state

    # -- rows -----------------------------------------------------------------------------------------------------

    def _source(self, X: Any) -> RowSource:
        return mixed_rows(X, self.categorical, missing=self.missing, owner="FAMD")

    def _rows(self, X: Any, *, reset: bool) -> RowSource:
        """Return rows as a fit takes them, or, of a fitted model, as numbers and codes of levels."""
        if reset:
            return super()._rows(X, reset=True)
        if not self.categorical_columns_:
            return super()._rows(as_rows(X, allow_sparse=False, owner="FAMD"), reset=False)
        chosen = mixed_rows(X, self.categorical_columns_, only=True, missing=self.missing, owner="FAMD")
        rows = super()._rows(chosen, reset=False)
        return rows.coded(self._levels(), self.unseen) if isinstance(rows, MixedRows) else rows

    def _levels(self) -> Levels:
        return Levels(tuple(self.categorical_columns_), tuple(self.categorical_levels_))

    @property
    def _layout(self) -> Layout:
        sizes = [len(levels) for levels in self.categorical_levels_]
        return Layout.of(self.n_features_in_, self.categorical_columns_, sizes)

    # -- fit ------------------------------------------------------------------------------------------------------

    def _plan(self, shape: DataShape) -> Plan:
        k = min(self.n_components, shape.n_features, shape.n_rows or shape.n_features)
        name = rowspace.route(shape, ComponentRule(count=k))
        parts, seconds = rowspace.cost(name, shape, k)
        return Plan(
            method="FAMD",
            algorithm=name,
            bytes=sum(parts.values()) + shape.copied,
            seconds=seconds,
            model_bytes=k * shape.n_features * shape.dtype.itemsize + 16 * shape.n_features + 40 * k,
            parts=parts,
            remedy="leave out columns of many levels",
        )

    def _plan_rows(self, rows: RowSource) -> Plan:
        """Plan for the coded columns: a table of categories is read once, for how many levels there are."""
        if not isinstance(rows, MixedRows):
            check_count("FAMD", self.n_components, rows.n_rows, rows.n_features)
            return self._plan(rows.shape)
        found = rows.learn()
        famd_coding.check_count(self.n_components, len(rows.numeric), found, "FAMD")
        return self._plan_coded(rows, found)

    def _plan_coded(self, rows: MixedRows, found: Learned) -> Plan:
        shape, k = self._coded_shape(rows, found), self.n_components
        parts, seconds = famd_coding.cost(shape, rows.n_features, k)
        return Plan(
            method="FAMD",
            algorithm=famd_coding.way(shape, k),
            bytes=sum(parts.values()) + rows.shape.copied,
            seconds=seconds,
            model_bytes=k * shape.n_features * 8 + 66 * shape.n_features + 40 * k,
            parts=parts,
            remedy="leave out columns of many levels",
        )

    @staticmethod
    def _coded_shape(rows: MixedRows, found: Learned) -> DataShape:
        return famd_coding.coded_shape(found.n_rows, rows.n_features, len(rows.numeric) + found.n_levels)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        if not isinstance(rows, MixedRows):
            with record.stage("solve"):
                wanted = ComponentRule(count=self.n_components)
                space = rowspace.decompose(rows, wanted, _NUMBERS, rng=seed(self.random_state))
            self.categorical_columns_, self.categorical_levels_ = [], []
            self.mean_, self.scale_ = space.solved.mean, space.solved.scale
            self._learn(space, record, rows)
            return
        found = rows.learn()
        record.seconds["levels"] = found.seconds
        self._warn_names(rows, found, record)
        self._warn_dates(rows, found, record)
        self.categorical_columns_ = list(rows.categorical)
        self.categorical_levels_ = [list(levels) for levels in found.levels.values]
        layout, shape, rng = self._layout, self._coded_shape(rows, found), seed(self.random_state)
        self.mean_, self.scale_ = famd_coding.weights(layout, found)
        with record.stage("solve"):
            coded = rows.coded(found.levels)
            space = famd_coding.solve(layout, coded, shape, self.mean_, self.scale_, self.n_components, rng)
        self._learn(space, record, rows)

    def _learn(self, space: RowSpace, record: Recorder, rows: RowSource) -> None:
        told = replace(space, short=space.short and not space.solved.doubt, unseen=0.0)  # in words of its own, below
        tell(record, told, self.n_components, "FAMD")
        n = space.solved.n_rows
        self.n_components_, self.n_samples_ = len(space.values), n
        self.components_ = np.ascontiguousarray(space.directions.T).astype(rows.dtype)
        self.eigenvalues_ = space.values**2 / n
        self.total_variance_ = space.solved.total / n
        self.explained_variance_ratio_ = self.eigenvalues_ / self.total_variance_
        self.spectrum_ = space.solved.spectrum / n
        unseen = famd_coding.unseen(space, self.n_components)
        if unseen:
            record.warn(f"FAMD: {unseen}", RankWarning if space.short else LowlandWarning)
        self._warn_tied(space, record)
        record.evidence["share of variance"] = float(self.explained_variance_ratio_.sum())
        record.evidence["components"] = self.n_components_
        record.evidence["columns of numbers"] = rows.n_features - len(self.categorical_columns_)
        record.evidence["columns of categories"] = len(self.categorical_columns_)
        record.evidence["levels"] = sum(len(levels) for levels in self.categorical_levels_)

    def _warn_names(self, rows: MixedRows, found: Learned, record: Recorder) -> None:
        """Warn of a column that has a level for every other row or more: it names rows, and would rule the axes."""
        for j, levels in zip(rows.categorical, found.levels.values, strict=True):
            if len(levels) >= _MANY and 2 * len(levels) > found.n_rows:
                name = str(j) if rows.names is None else repr(rows.names[j])
                record.warn(
                    f"FAMD: column {name} has {len(levels)} levels in {found.n_rows} rows: it seems to name the rows, "
                    "and such a column fills the axes with its own differences; leave it out",
                    LowlandWarning,
                )

    def _warn_dates(self, rows: MixedRows, found: Learned, record: Recorder) -> None:
        """Warn of texts that are dates: as categories, neither their order nor their distances count."""
        for j, levels in zip(rows.categorical, found.levels.values, strict=True):
            if like_dates(levels):
                name = str(j) if rows.names is None else repr(rows.names[j])
                record.warn(
                    f"FAMD: column {name} holds texts that look like dates ({levels[0]}), and each date is a level by "
                    "itself; turn them into numbers such as days since a start, or leave the column out",
                    LowlandWarning,
                )

    def _warn_tied(self, space: RowSpace, record: Recorder) -> None:
        """Warn where the last axis and the first one left out have one eigenvalue: which of them is shown is chance."""
        tied = rowspace.tied(space)
        if tied is None:
            return
        whole = " or ".join(str(count) for count in (tied[0], tied[-1] + 1) if count)
        lone = self.n_features_in_ == 1 and bool(self.categorical_columns_)
        record.warn(
            f"FAMD: axes {tied[0] + 1} to {tied[-1] + 1} have one eigenvalue ({self.eigenvalues_[-1]:.4g}), and "
            f"{self.n_components_} axes cut through them: which of their directions are shown is arbitrary; "
            + ("a single category has no axes, for its levels all lie alike" if lone else f"ask for {whole}"),
            LowlandWarning,
        )

    # -- maps -----------------------------------------------------------------------------------------------------

    def _compressor(self) -> Compressor:
        # of y = A c + a and c′ = B y + b for coded rows c: numbers, and 1 or 0 for each level
        V = self.components_.astype(np.float64)
        A = V / self.scale_
        return Compressor(A, -A @ self.mean_, (V * self.scale_).T, self.mean_)

    def _offset(self) -> Array:
        return self.mean_

    def _row_map(self) -> Callable[[Array], Array]:
        if not self.categorical_columns_:
            return super()._row_map()
        layout, A = self._layout, self._compressor().A.T
        numeric, tables = layout.first[layout.numeric], []
        for j in layout.categorical:
            at = layout.span(j)
            centred = A[at] - self.mean_[at] @ A[at]
            tables.append((j, np.vstack([centred, np.zeros((1, A.shape[1]))])))  # code -1: an unseen level adds nothing

        def place(block: Array) -> Array:
            Y = (block[:, layout.numeric].astype(np.float64) - self.mean_[numeric]) @ A[numeric]
            for j, table in tables:
                Y += table[block[:, j].astype(np.intp)]
            return Y

        return place

    def inverse_transform(self, X: Any) -> Array:
        """Map coordinates back to the table's columns.

        Numbers come as m + s (Vy); a category as the level of largest fitted indicator, p + √p (Vy). With categories
        the result is an array of objects, else one of floats.
        """
        check_is_fitted(self)
        if not self.categorical_columns_:
            return super().inverse_transform(X)
        source = self._reduced(X)
        layout, rebuild = self._layout, super()._inverse_map()

        def back(block: Array) -> Array:
            coded = arrays.to_numpy(rebuild(block))  # levels are Python's: of a tensor's rows, too
            out = coded[:, layout.first]
            for j in layout.categorical:
                out[:, j] = coded[:, layout.span(j)].argmax(axis=1)
            return out

        found = source.map_blocks(back, self.n_features_in_)
        table = found.astype(object)
        for j, levels in zip(self.categorical_columns_, self.categorical_levels_, strict=True):
            choice = np.empty(len(levels), dtype=object)
            choice[:] = levels
            table[:, j] = choice[found[:, j].astype(np.intp)]
        return table

    def residual(self, X: Any) -> Array:
        """Return x − x̂ of a table of numbers; categories have no differences."""
        check_is_fitted(self)
        if self.categorical_columns_:
            raise DataError("the residual is a difference of numbers, and some of these columns are categories")
        return super().residual(X)

    # -- what the axes mean -----------------------------------------------------------------------------------------

    @property
    def levels_(self) -> dict[Column, list[Any]]:
        """Levels of each categorical column, by its name, or its number where there are no names."""
        check_is_fitted(self)
        keys = [self._key(j) for j in self.categorical_columns_]
        return dict(zip(keys, self.categorical_levels_, strict=True))

    @property
    def coded_names_(self) -> list[str]:
        """Names of the coded columns: "x0" of a number, "x1=red" of a level; no name stands twice."""
        check_is_fitted(self)
        names = [f"x{key}" if isinstance(key, int) else key for key in map(self._key, range(self.n_features_in_))]
        return self._layout.names(names, self.categorical_levels_)

    def contributions(self) -> Array:
        """Return (D, k) each column's share of each axis: v², added up over a column's levels. An axis sums to 1.

        >>> model = FAMD(1).fit([[1.0, "red"], [2.0, "red"], [3.0, "blue"], [5.0, "blue"], [6.0, "red"]])
        >>> model.contributions().round(6).tolist()
        [[0.5], [0.5]]
        """
        check_is_fitted(self)
        squares = self.components_.T.astype(np.float64) ** 2
        return np.add.reduceat(squares, self._layout.first, axis=0)

    def column_coordinates(self) -> Array:
        """Return (D, k) how well each axis shows each column, between 0 and 1: λ times the contribution.

        It is the squared correlation r² of a number with the coordinate, and the correlation ratio η² of a category:
        the share of the coordinate's variance between its levels.

        >>> model = FAMD(1).fit([[1.0, "red"], [2.0, "red"], [3.0, "blue"], [5.0, "blue"], [6.0, "red"]])
        >>> bool(np.isclose(model.column_coordinates().sum(), model.eigenvalues_[0]))
        True
        """
        return self.contributions() * self.eigenvalues_

    def category_coordinates(self) -> dict[Column, Array]:
        """Return for each categorical column the (levels, k) mean coordinates of the rows of each level: λ v/√p.

        >>> model = FAMD(1).fit([[1.0, "red"], [2.0, "red"], [3.0, "blue"], [5.0, "blue"], [6.0, "red"]])
        >>> {name: places.shape for name, places in model.category_coordinates().items()}
        {1: (2, 1)}
        """
        check_is_fitted(self)
        layout = self._layout
        centres = self.components_.T.astype(np.float64) * self.eigenvalues_ / self.scale_[:, None]
        return {self._key(j): centres[layout.span(j)] for j in self.categorical_columns_}

    def _key(self, j: int) -> Column:
        names = getattr(self, "feature_names_in_", None)
        return j if names is None else str(names[j])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags
