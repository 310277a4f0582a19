"""The figures that can be drawn from a fitted model: one table for `.plot()`, the command line and reports.

A row names a public function of `lowland.plots`, says in a line what it shows, what it is called with, and of which
models it can be drawn.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..contract.axis_names import shares_of
from .subject import Subject

Reason = str | None  # why a figure cannot be drawn, or None
ROWS = "rows"


class Kind(NamedTuple):
    """A row of the table: the function, what it shows, its arguments, and what prevents it for a model.

    ``arguments`` returns the positional arguments and the keyword arguments that a model decides. ``needs`` is ROWS if
    the figure is drawn from the training rows. ``home`` is the module of the function, if `lowland.plots` itself does
    not load it.
    """

    name: str
    summary: str
    arguments: Callable[[Subject], tuple[tuple[Any, ...], dict[str, Any]]]
    refuses: Callable[[Subject], Reason]
    needs: str = ""
    home: str = "lowland.plots"


# -- arguments --------------------------------------------------------------------------------------------


def _map(of: Subject) -> Any:
    return (of.Y,), {"labels": of.labels, "meaningful_axes": of.has_shares}


def _units(of: Subject) -> Any:
    return (of.method,), {}


def _units_and_rows(of: Subject) -> Any:
    return (of.method, of.rows), {}


def _whole(of: Subject) -> Any:
    """The whole model or Pipeline: these functions find the method and the rows before it themselves."""
    return (of.model, of.X), {}


def _model(of: Subject) -> Any:
    return (of.model,), {}


def _shares(of: Subject) -> Any:
    """All variances that the fit computed with their total, or the shares of the kept components."""
    values, total = getattr(of.method, "spectrum_", None), getattr(of.method, "total_variance_", None)
    if values is None or total is None:
        values, total = np.sort(shares_of(of.method))[::-1], 1.0
    return (values, float(total)), {"kept": of.method.n_components_}


def _table(of: Subject) -> Any:
    return (of.X,), {}


def _judged(of: Subject) -> Any:
    rows, metric = of.judged
    return (rows, of.Y), {"metric": metric}


def _judged_map(of: Subject) -> Any:
    given, options = _judged(of)
    return given, {**options, "labels": of.labels}


def _judged_rows(of: Subject) -> Any:
    rows, metric = of.judged
    return (rows,), {"metric": metric}


def _stress(of: Subject) -> Any:
    given, options = _judged_rows(of)
    return given, {**options, "method": "nonmetric" if type(of.method).__name__ == "NonmetricMDS" else "metric"}


def _residuals(of: Subject) -> Any:
    if of.X is None:
        return (of.method,), {}
    given, options = _judged_rows(of)
    return given, {**options, "n_neighbors": getattr(of.method, "n_neighbors", None) or 10}


def _graph(of: Subject) -> Any:
    given, options = _judged(of)
    k = getattr(of.method, "n_neighbors", None) or 10
    return (given[0], given[1][:, :3]), {**options, "n_neighbors": k}


# -- what prevents a figure -------------------------------------------------------------------------------


def _has(attribute: str, what: str) -> Callable[[Subject], Reason]:
    """Return the check that a method has learned an attribute."""

    def check(of: Subject) -> Reason:
        return None if getattr(of.method, attribute, None) is not None else f"{of.title} has no {what}"

    return check


def _both(*checks: Callable[[Subject], Reason]) -> Callable[[Subject], Reason]:
    def check(of: Subject) -> Reason:
        return next((reason for one in checks if (reason := one(of)) is not None), None)

    return check


def _keeps_map(of: Subject) -> Reason:
    """The coordinates must be known; a SOM places rows on its grid, which `u_matrix` draws."""
    return None if of.has_map else f"{of.title} does not keep the coordinates of its training rows"


def _numbers(of: Subject) -> Reason:
    return "its input is a matrix of pairwise values, not columns" if of.method._fitted_pairwise else None


def _distances(of: Subject) -> Reason:
    if getattr(of.method, "kernel", None) == "precomputed":
        return "its input is a matrix of similarities, not distances"
    return None


def _places(of: Subject) -> Reason:
    few = of.method.n_components_ < 2
    return "its map has one coordinate, and a graph is drawn in 2 or 3 dimensions" if few else _distances(of)


def _has_residuals(of: Subject) -> Reason:
    known = of.X is not None or hasattr(of.method, "residual_variance_")
    return None if known else f"{of.title} keeps no residual variances"


_components = _has("components_", "components")
_grid = _has("codebook_", "grid of prototypes")
_inverse = _both(
    _numbers,
    lambda of: None if callable(getattr(of.method, "inverse_transform", None)) else f"{of.title} has no inverse",
)
_variances = _has("explained_variance_ratio_", "shares of variance")


def _spectrum(of: Subject) -> Reason:
    names = ("spectrum_", "eigenvalues_", "explained_variance_ratio_", "singular_values_")
    known = any(getattr(of.method, name, None) is not None for name in names)
    return None if known else f"{of.title} has no eigenvalues"


_QUALITY, _GRID, _BY_DIMENSION = "lowland.plots.quality", "lowland.plots.grid", "lowland.plots.by_dimension"
_GRAPH, _DIMENSION = "lowland.plots.graph", "lowland.plots.dimension"

TABLE: tuple[Kind, ...] = (
    Kind("scatter", "the map, one point for each row", _map, _keeps_map),
    Kind("u_matrix", "distances between the units of a SOM; with X, its rows as discs", _units_and_rows, _grid,
         home=_GRID),
    Kind("component_planes", "the values of each column over the grid of a SOM", _units, _grid, home=_GRID),
    Kind("hit_map", "the number of rows at each unit of a SOM", _units_and_rows, _grid, ROWS, _GRID),
    Kind("scree", "the share of variance of each component", _shares, _variances),
    Kind("spectrum", "the eigenvalues of the fit", _model, _spectrum),
    Kind("biplot", "the map, with an arrow for each column", _whole, _both(_components, _numbers), ROWS),
    Kind("correlation_circle", "correlations of the columns with two axes", _whole, _numbers, ROWS),
    Kind("loadings", "the weights of the columns on each axis", _whole, _both(_components, _numbers)),
    Kind("contributions", "the columns that make up each axis", _whole, _both(_variances, _components)),
    Kind("cos2", "how well columns are shown by the axes", _whole, _both(_variances, _components)),
    Kind("axes_and_projections", "points, principal axes and projections", _whole,
         _both(_variances, _components), ROWS),
    Kind("eigenimages", "the components as images", _model, _components),
    Kind("reconstructions", "rows beside what the map keeps of them", _whole, _inverse, ROWS),
    Kind("correlations", "correlations between the columns", _table, _numbers, ROWS),
    Kind("shepard", "distances in the map against distances in the data", _judged, _distances, ROWS, _QUALITY),
    Kind("rnx", "neighbourhoods of all sizes kept by the map", _judged, _distances, ROWS, _QUALITY),
    Kind("quality_map", "the map, coloured by how reliable it is at each point", _judged_map, _distances, ROWS,
         _QUALITY),
    Kind("neighbor_graph", "edges between nearest neighbours of the data, on the map", _graph, _places, ROWS, _GRAPH),
    Kind("stress_by_dimension", "stress of MDS maps of 1 to 6 dimensions", _stress, _distances, ROWS, _BY_DIMENSION),
    Kind("residual_variance", "residual variance of Isomap by dimensions; with X, beside that of PCA", _residuals,
         _both(_has_residuals, _distances), home=_BY_DIMENSION),
    Kind("dimension", "estimates of the number of dimensions of the data", _judged_rows, _distances, ROWS, _DIMENSION),
)  # fmt: skip
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in TABLE}


def plot(model: Any, X: Any = None, kind: str | None = None, *, ax: Any = None, **options: Any) -> Any:
    """Draw a figure of a fitted model or Pipeline.

    Parameters
    ----------
    model : Reducer or Pipeline
        A fitted method of Lowland, or a Pipeline that contains one, such as `lowland.recipe` makes.
    X : array, optional
        Rows as the model takes them, usually the training rows. Figures of the data need them, and the map does if the
        model does not keep its coordinates.
    kind : str, optional
        The name of a function of `lowland.plots`; default: the U-matrix of a SOM, and the map of other models.
        `plot_kinds` lists those that can be drawn.
    ax : Axes, optional
        Axes to draw on (several for figures of several panels); default: those of a new figure.
    options :
        Further parameters of that function, such as ``color``.

    Returns
    -------
    Axes, or list of Axes
        As the function returns.

    Examples
    --------
    >>> import lowland
    >>> X, _ = lowland.data.swiss_roll(200, random_state=0)
    >>> plot(lowland.Isomap().fit(X), X, kind="shepard").get_ylabel()
    'distance in the map'
    """
    of = Subject(model, X)
    if kind is None:
        kind = "scatter" if _grid(of) is not None else "u_matrix"
    draw = _function(kind) if kind in KINDS else None
    if draw is None:
        raise ValueError(f"{kind!r} is no kind of figure. {_listing(of)}")
    row = KINDS[kind]
    reason = row.refuses(of)
    if reason is None and row.needs == ROWS and X is None:
        reason = "it is drawn from the training rows; give them as X"
    elif reason is not None and row.refuses(Subject(model, _GIVEN)) is None:
        reason += "; give the rows as X"
    if reason is not None:
        raise ValueError(f"{kind!r} cannot be drawn from this {of.title}: {reason}. {_listing(of)}")
    given, chosen = row.arguments(of)
    where = {} if ax is None else {"ax": ax}
    return draw(*given, **where, **{**chosen, **options})


_GIVEN = object()  # stands for rows, where only their presence matters


def plot_kinds(model: Any) -> dict[str, str]:
    """Return the figures that can be drawn from a fitted model, by name, with a line on what they show.

    Those that need the training rows say so.

    Examples
    --------
    >>> import lowland
    >>> X, _ = lowland.data.swiss_roll(100, random_state=0)
    >>> kinds = plot_kinds(lowland.Isomap().fit(X))
    >>> kinds["scatter"], kinds["shepard"]
    ('the map, one point for each row', 'distances in the map against distances in the data (needs X)')
    """
    without, given = Subject(model), Subject(model, _GIVEN)
    out = {}
    for name, row in KINDS.items():
        if _function(name) is not None and row.refuses(given) is None:
            needs = row.needs == ROWS or row.refuses(without) is not None
            out[name] = row.summary + (" (needs X)" if needs else "")
    return out


def _listing(of: Subject) -> str:
    return "These can be drawn:\n" + "\n".join(f"  {name}: {said}" for name, said in plot_kinds(of.model).items())


def _function(name: str) -> Callable[..., Any] | None:
    """Return the function of this name, or None if `lowland.plots` does not have it."""
    found = getattr(importlib.import_module(KINDS[name].home), name, None)
    return found if callable(found) else None


__all__ = ["KINDS", "TABLE", "Kind", "plot", "plot_kinds"]
