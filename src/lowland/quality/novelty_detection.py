"""Novelty detection: compare new rows with the training rows of a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..contract.reducer import Reducer
from ..core import arrays, thread_pool
from ..core.errors import DataError
from ..core.message import Code, Message, Owner, Phrase, Remedies, Setting
from ..core.random import seed
from ..methods.steps.chain import split_at_method
from ..methods.steps.origins import Origins, origins
from ..rows.object_rows import gather, unpacked
from ..rows.row_source import RowSource, as_rows
from .checks import check_level, check_neighbors, row_names
from .limits import hotelling
from .neighbor_distance import ALL, NeighborSearch, divided, neighbor_search, sample
from .novel_texts import summarized_texts, terms_limit, without_terms
from .novelty_axes import axes_of, differences_before, method_before, no_residual
from .novelty_result import NAMES, Novelty
from .robust_pca import RobustAxes, judging, residual
from .spaces import naming
from .training_tails import Cells, spe_limit, t2_limit, tails_of
from .unseen_levels import unseen_levels
from .unusual_columns import LISTED, Explainer, Factors, UnusualColumn, differences_between, factors_along, factors_off

Array = Any

_GIVE = Remedies(
    Message("give them as ", Setting("X_train", Code("…"))),
    "fit a method that stores them, such as Isomap",
    before="; to measure the distance to them, ",
)
_BETWEEN = Remedies(
    Message(
        Phrase(
            "call outliers(D, metric='precomputed') with the distances between all objects (old and new)",
            "run `lowland outliers --metric precomputed` on the distances between all objects (old and new)",
        )
    ),
    "fit a method that stores them, such as LLE",
    before="; to judge new objects, ",
)
_TAIL_QUANTILE = 0.9  # above this quantile the training rows' distances are extrapolated by an exponential tail


def novelty(
    model: Any,
    X: Any,
    X_train: Any = None,
    *,
    n_neighbors: int = 10,
    level: float = 0.999,
    names: Sequence[Any] | None = None,
    random_state: int | None = None,
) -> Novelty:
    """Measure how unlike the training rows of a model new rows are.

    T² = Σ y_j²/λ_j (along the principal axes) and SPE = ‖x − x̂‖² (residual from them) require a model with principal
    axes and variances: `PCA`, `ProbabilisticPCA` or `FAMD`. These also judge single cells, relative to their limits,
    and texts are judged by their unknown terms. The distance to the ``n_neighbors``-th nearest training row requires
    the training rows: neighbour-based and distance-based methods store them; for other methods give
    ``X_train``. Its limit comes from the distances between training rows. A measure that is not available is None, and
    ``missing`` gives the reason.

    In normally distributed data a fraction between a third of ``1 − level`` and ``1 − level`` of the new rows exceeds a
    limit. Where the training rows of the model exceed the limits of T² and SPE for normal rows more often than by
    chance, as rows of rare levels and skewed columns do, the limits are quantiles of these rows; models of rows in
    blocks and of earlier versions keep no summary of them. The limit of SPE is valid for new rows of a table of any
    shape. The limit of T² is conservative if the axes are poorly determined (few rows, many columns), because new rows
    then vary less along them than training rows.

    ``unusual`` lists the columns that make a novel row odd, by the measure that exceeds its limit most: for SPE the
    largest squared residuals, for T² the largest contributions z_j (VΛ⁻¹Vᵀz)_j (Westerhuis et al. 2000), for the
    distance the largest differences to the nearest training row (metrics that are sums over columns). Columns are those
    of the table: levels of a category count for the category, parts of a date for the date, and PCA before the method
    is rotated back. Correlated columns share what one of them causes.

    Parameters
    ----------
    model : Reducer or Pipeline
        A fitted model, also one from a file. Of a Pipeline, the last step is judged, in the space of its input: for a
        recipe, numbers that are filled, encoded and scaled. `FAMD` is judged in its own metric. After another method
        (``pre``) with principal axes, T² and SPE are those of that method, so that rows off its axes are novel, too;
        the distance is measured along its axes, and off them as well if ``X_train`` is given.
    X : array, sparse matrix, data frame or blocks
        New rows with the columns of the model; they are read once. Rows with missing values are not judged.
    X_train : array, optional
        The training rows of the model.
    n_neighbors : int
        k of the k-nearest-neighbour distance.
    level : float
        1 − false-positive rate, in (0.5, 1).
    names : sequence, optional
        Names of the new rows. Default: the labels of a pandas index, or row numbers from 0.
    random_state : int, optional
        Random seed of the sample of training rows that sets the limit of the distance, if there are more than 10,000.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) @ [[3.0, 2.0, 1.0]] + 0.1 * rng.standard_normal((200, 3))
    >>> found = novelty(lowland.PCA(1).fit(X), [[3.0, 2.0, 1.0], [60.0, 40.0, 20.0], [0.0, 0.0, 2.0]])
    >>> found.novel.tolist(), found.missing
    ([False, True, True], {'distance': 'PCA stores no training rows; to measure the distance to them, \
give them as X_train=… or fit a method that stores them, such as Isomap'})
    >>> bool(found.spe[2] > found.limits["spe"]), bool(found.t2[2] > found.limits["t2"])
    (True, False)
    >>> [str(odd) for odd in found.unusual[2]]
    ['x2 = 2']

    References
    ----------
    J. E. Jackson, A User's Guide to Principal Components, Wiley 1991. N. D. Tracy, J. C. Young, R. L. Mason,
    Multivariate control charts for individual observations, Journal of Quality Technology 24 (1992).
    J. A. Westerhuis, S. P. Gurden, A. K. Smilde, Generalized contribution plots in multivariate statistical process
    monitoring, Chemometrics and Intelligent Laboratory Systems 51 (2000).
    """
    steps, pre, method, rows, train = _in_last_step(model, X, X_train)
    return novelty_after(
        steps,
        method,
        rows,
        train,
        pre=pre,
        table=X,
        n_neighbors=n_neighbors,
        level=level,
        names=names,
        random_state=random_state,
    )


def novelty_after(
    steps: Sequence[Any],
    model: Any,
    X: Any,
    X_train: Any = None,
    *,
    pre: Any = None,
    table: Any = None,
    n_neighbors: int = 10,
    level: float = 0.999,
    names: Sequence[Any] | None = None,
    random_state: int | None = None,
) -> Novelty:
    """Do the same for rows that fitted steps made of a table.

    ``pre``: the method before ``model`` whose input the rows are; see `method_before`.
    """
    check_level(level, "novelty")
    check_neighbors(n_neighbors, "novelty")
    check_is_fitted(model)
    given = X if table is None else table
    coded = hasattr(model, "coded")
    with thread_pool.one_blas_thread(), naming("novelty, X"):
        if coded and pre is None:
            X, X_train = model.coded(X), None if X_train is None else model.coded(X_train)
        first = model if pre is None else pre
        rows = as_rows(X) if coded and pre is None else first._rows(X, reset=False)
        missing: dict[str, str] = {}
        axes = axes_of(first)
        near = _near(model, X_train, n_neighbors, pre)
        why = axes if isinstance(axes, str) else no_residual(axes, type(first).__name__)
        cells_of = _summarized(steps, first, axes)
        available = (not isinstance(axes, str)) + (why is None) + (not isinstance(near, str)) + (cells_of is not None)
        texts = summarized_texts(steps, table)
        available += texts is not None
        if available == 0:
            assert isinstance(near, str)
            without = Phrase("", f"{', or' if ';' in near else ';'} leave --flag out")
            problem = f"{axes}, and "
            if getattr(model, "_fitted_pairwise", False):  # which have no axes: only distances could judge
                problem = "new objects given by distances cannot be judged with this model: "
            raise DataError(Message(Owner("novelty"), problem, near, without))
        share = (1 - level) / available
        limits: dict[str, float] = {}
        work: list[Callable[[Array], Array]] = []
        factors: dict[str, Factors] = {}
        beyond: Factors | None = None
        if isinstance(axes, str):
            missing |= {"t2": axes, "spe": axes}
        else:
            work.append(judging(axes))
            tails = tails_of(first)
            limits["t2"] = t2_limit(tails, axes, hotelling(axes.k, axes.n), share)
            limits["spe"] = np.inf if why is not None else spe_limit(tails, axes, residual(axes), share)
            factors |= {"t2": factors_along(axes), "spe": factors_off(axes)}
        if isinstance(near, str):
            missing["distance"] = near
        else:
            work.append(lambda block: near.far(block)[:, None])
            limits["distance"] = near.limit(share, random_state)
            if near.difference is not None:
                factors["distance"] = near.factors
        if cells_of is not None:
            cells = cells_of(share)
            beyond = cells.of_numbers
            work.append(cells.largest)
            limits["cell"], factors["cell"] = 1.0, cells.factors
        explainer = Explainer(limits, factors, _origins(steps, first, rows), beyond)
        found = arrays.to_numpy(
            rows.map_blocks(lambda block: _measured(block, work, explainer), len(limits) + explainer.width, np.float64)
        )
    measures, explained = found[:, : len(limits)], found[:, len(limits) :]
    values = dict(zip(limits, measures.T, strict=True))
    unusual = explainer.told(explained, None if isinstance(given, RowSource) or not _is_table(given) else given)
    if why is not None and "spe" in values:
        missing["spe"] = why
        del values["spe"], limits["spe"]
    novel = without_terms(steps, table, len(measures))
    for name, column in values.items():
        novel |= column > limits[name]
    told: list[str] = []
    if texts is not None:
        values["terms"], told = texts.unfamiliar(table)
        limits["terms"] = terms_limit(texts, share)
        far = values["terms"] > limits["terms"]
        novel |= far
        odd_texts = {i: UnusualColumn(texts.names_in_[0], told[i], "terms", 1.0) for i in np.flatnonzero(far).tolist()}
        unusual = tuple((odd_texts[i], *odd)[:LISTED] if i in odd_texts else odd for i, odd in enumerate(unusual))
    levels = unseen_levels(steps, model, given, len(measures)) if _is_table(given) else {}
    novel[list(levels)] = True
    unusual = tuple((*levels.get(i, ()), *odd)[:LISTED] for i, odd in enumerate(unusual))
    t2, spe, distance, cell, terms = (values.get(name) for name in NAMES)
    called = row_names(names, given, len(measures), "novelty")
    judged = ~np.isnan(measures).any(axis=1)
    return Novelty(t2, spe, distance, limits, missing, novel, judged, level, called, unusual, cell, terms)


def _summarized(steps: Sequence[Any], model: Any, axes: RobustAxes | str) -> Callable[[float], Cells] | None:
    """Return the function of a share to the limits of single cells, of the columns before FAMD as an encoder; or None.

    They come from the summary of the training rows that PCA, FAMD and ProbabilisticPCA keep.
    """
    encoder = getattr(steps[-1], "encoder_", None) if len(steps) else None
    turned = None if encoder is None else np.asarray(encoder.components_, dtype=np.float64)
    holder, axes = (model, axes) if encoder is None else (encoder, axes_of(encoder))
    if isinstance(axes, str) or Cells.of(holder, axes, 0.001, turned) is None:
        return None
    about = axes

    def limited(share: float) -> Cells:
        found = Cells.of(holder, about, share, turned)
        assert found is not None
        return found

    return limited


def _is_table(X: Any) -> bool:
    """Return whether the cells of X can be looked up: a data frame, an array or a list of rows."""
    return isinstance(X, list | np.ndarray) or hasattr(X, "columns") or hasattr(X, "__arrow_c_stream__")


def _origins(steps: Sequence[Any], model: Any, rows: RowSource) -> Origins:
    """Return the columns of the table that the numbers of a model's rows come from."""
    own = getattr(model, "feature_names_in_", None)
    if not hasattr(model, "coded"):
        return origins(steps, [f"x{j}" for j in range(rows.n_features)] if own is None else own)
    groups = np.asarray(model._layout.origin)
    names = [f"x{j}" for j in range(int(groups[-1]) + 1)] if own is None else [str(name) for name in own]
    before = origins(steps, names)
    if before.rotation is not None:
        return Origins(names, groups, from_table=False)
    return Origins(before.names, before.groups[groups], from_table=before.from_table)


def _in_last_step(model: Any, X: Any, X_train: Any) -> tuple[Sequence[Any], Any, Any, Any, Any]:
    """Return the steps of a Pipeline before its methods, ``pre`` or None, the method, and the rows to judge."""
    if not hasattr(model, "steps"):
        return (), None, model, X, X_train
    head, method, _ = split_at_method(model)
    if not isinstance(method, Reducer):
        raise DataError(
            Message(
                Owner("novelty"),
                f"the last step of the Pipeline is {type(method).__name__}, not a method of Lowland; give the "
                "Pipeline of a recipe with a method",
            )
        )
    if head is None:
        return (), None, method, X, X_train
    before = [step for _, step in head.steps]
    pre = method_before(before, with_rows=X_train is not None)
    if pre is not None:
        before, head = before[:-1], head[:-1] if len(before) > 1 else None
    if head is None:
        return before, pre, method, X, X_train
    return before, pre, method, head.transform(X), None if X_train is None else head.transform(X_train)


def _measured(block: Array, work: Sequence[Callable[[Array], Array]], explainer: Explainer) -> Array:
    """Return the measures of a block as columns, NaN for rows with missing values, and their explanations."""
    if not work:  # texts are judged by their terms alone
        return np.full((block.shape[0], explainer.width), -1.0)
    gaps = None if sp.issparse(block) else np.isnan(arrays.to_numpy(block)).any(axis=1)
    if gaps is None or not gaps.any():
        measures = np.column_stack([measure(block) for measure in work])
        return np.column_stack([measures, explainer.explain(block, measures)])
    whole = np.where(gaps[:, None], 0.0, arrays.to_numpy(block))
    measures = np.column_stack([measure(whole) for measure in work])
    measures[gaps] = np.nan
    return np.column_stack([measures, explainer.explain(whole, measures)])


# -- distances ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Near:
    """The training rows: the search among them, the rows, and how new rows are prepared for it."""

    search: NeighborSearch
    items: Array
    scale: Array | None = None
    columns: Array | None = None  # for a distance matrix: the columns of the training objects
    difference: Callable[[Array, Array], Array] | None = None  # by column, for metrics that are sums over columns
    pre: Any = None  # the method that makes the rows of the search of new rows

    def far(self, block: Array) -> Array:
        """Return the distances of new rows."""
        return self.search.distances(self._prepared(block))

    def factors(self, block: Array) -> tuple[Array, Array]:
        """Return the differences of new rows to their nearest training rows, by column, twice."""
        assert self.difference is not None
        rows = self._prepared(block)
        nearest, _ = self.search.search.query(rows, 1)
        items = self.items[self.search.first[nearest[:, 0]]]
        if self.pre is not None:
            between = differences_before(self.pre, block, items)
            return between, between
        between = self.difference(*(part.toarray() if sp.issparse(part) else part for part in (rows, items)))
        return between, between

    def _prepared(self, block: Array) -> Array:
        """Return new rows as they are compared with the training rows."""
        if self.pre is not None:
            names = getattr(self.pre, "feature_names_in_", None)
            block = self.pre.transform(RowSource.from_array(block, names=None if names is None else list(names)))
        block = block if sp.issparse(block) else arrays.to_numpy(block)
        if self.columns is not None:
            block = block[:, self.columns]
        if self.scale is not None:
            block = divided(block, self.scale)
        if sp.issparse(self.items) and not sp.issparse(block):
            block = sp.csr_array(block)
        return block.toarray() if sp.issparse(block) and not sp.issparse(self.items) else block

    def limit(self, share: float, random_state: int | None) -> float:
        """Return the distance to the other training rows that this share of them exceeds.

        Above the 90 % quantile, the logarithms are extrapolated by an exponential tail, as for normal rows. Its rate
        comes from the median of the excess, so that a few outliers among the training rows do not raise the limit.
        """
        n = self.items.shape[0]
        few = sample(n, ALL, seed(random_state))
        logs = np.log(np.maximum(self.search.distances(self.items[few]), np.finfo(float).tiny))
        edge = float(np.quantile(logs, _TAIL_QUANTILE))
        above = logs[logs > edge] - edge
        if share >= 1 - _TAIL_QUANTILE or len(above) == 0:
            return float(np.exp(np.quantile(logs, 1 - share)))
        return float(np.exp(edge + np.median(above) / np.log(2) * np.log((1 - _TAIL_QUANTILE) / share)))


def _near(model: Reducer, X_train: Any, k: int, pre: Any = None) -> _Near | str:
    """Return the training rows, given or stored in the model; or why there are none.

    ``pre``: the method before the model, whose input the rows are; stored training rows are its output.
    """
    name, scale = type(model).__name__, None
    if X_train is not None:
        if getattr(model, "_fitted_pairwise", False):
            return f"{name} was fitted on a distance matrix and has no training rows"
        rows = as_rows(X_train, owner="novelty, X_train")
        first = model if pre is None else pre
        width = rows.n_features if hasattr(first, "coded") else first.n_features_in_
        if rows.n_features != width:
            raise DataError(
                Message(
                    Owner("novelty"),
                    f"X_train has {rows.n_features} columns and the model {width}; give the training rows of the model",
                )
            )
        items = gather(rows, sparse=True)
        items = items if rows.sparse else arrays.to_numpy(items)
        scale = None if hasattr(first, "coded") else getattr(first, "scale_", None)
        items = items if scale is None else divided(items, scale)
        between = differences_between("euclidean", None)
        return _enough(_Near(neighbor_search("euclidean", items, k), items, scale, difference=between), name)
    why = _without_rows(model)
    if why is not None:
        return why
    held: Any = unpacked(getattr(model, "anchors_", None))
    if getattr(model, "_fitted_pairwise", False):
        square: Any = getattr(model, "square_", None)
        return _enough(_Near(neighbor_search("precomputed", square, k), square, columns=held), name)
    fitted: Any = model
    rule = fitted._input.fitted(fitted)
    between = differences_between(rule, fitted.metric_state_)
    near = _Near(neighbor_search(rule, held, k, fitted.metric_state_), held, difference=between, pre=pre)
    return _enough(near, name)


def _without_rows(model: Reducer) -> str | None:
    """Return why a model has no training rows to compare with, or None."""
    name = type(model).__name__
    held: Any = unpacked(getattr(model, "anchors_", None))
    if held is not None and not hasattr(model, "metric_"):
        return Message(f"{name} compares training rows with a kernel", _GIVE)
    if getattr(model, "affinity_", "") == "function":
        return Message(f"{name} compares training rows by affinities", _GIVE)
    if held is None or held.shape[0] == 0:
        return Message(f"{name} stores no training rows", _GIVE)
    if getattr(model, "_fitted_pairwise", False) and getattr(model, "square_", None) is None:
        return Message(f"{name} stores no distances between its training objects", _BETWEEN)
    return None


def can_judge(model: Reducer, steps: Sequence[Any] = ()) -> bool:
    """Return whether a fitted method, after fitted steps, can tell rows that are unlike its training rows."""
    if method_before(steps) is not None or (len(steps) and hasattr(steps[0], "unfamiliar_")):
        return True
    return not isinstance(axes_of(model), str) or _without_rows(model) is None


def _enough(near: _Near, name: str) -> _Near | str:
    return near if near.search.search.n >= 10 else f"{name} was fitted on fewer than 10 distinct rows"
