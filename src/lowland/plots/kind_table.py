"""The figures that can be drawn from a fitted model: one table for `.plot()`, the command line and reports.

A row names a public function of `lowland.plots`, says in a line what it shows, what it is called with, and of which
models it can be drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .subject import PlottedModel

Reason = str | None  # why a figure cannot be drawn, or None
ROWS = "rows"
FEWEST_PIXELS = 36  # columns of rows that may be images
IMAGES = "lowland.plots.component_images"
_EXAMPLES = 4  # images that are drawn beside their reconstructions


class Kind(NamedTuple):
    """A row of the table: the function, what it shows, its arguments, and what prevents it for a model.

    ``home`` is the module of the function; ``arguments`` returns its positional arguments and the keyword arguments
    that a model decides; ``needs`` is ROWS if the figure is drawn from the training rows. ``of_columns``: it names
    single columns, so it is not proposed for models of images, whose columns are pixels.
    """

    name: str
    summary: str
    home: str
    arguments: Callable[[PlottedModel], tuple[tuple[Any, ...], dict[str, Any]]]
    refuses: Callable[[PlottedModel], Reason]
    needs: str = ""
    of_columns: bool = False

    def suits(self, of: PlottedModel) -> bool:
        """Return whether the figure tells something of a model: pixels are shown as images, other columns by name."""
        if of.pixels is not None:
            return not self.of_columns
        return not (self.home == IMAGES and of.has_named_columns)


# -- arguments --------------------------------------------------------------------------------------------


def _map(of: PlottedModel) -> Any:
    return (of.Y,), {"labels": of.labels, "meaningful_axes": of.meaningful_axes}


def _units_and_rows(of: PlottedModel) -> Any:
    return (of.method, of.rows), {}


def _whole(of: PlottedModel) -> Any:
    """The whole model or Pipeline: these functions find the method and the rows before it themselves."""
    return (of.model, of.X), {}


def _shares(of: PlottedModel) -> Any:
    return (of.model, of.X), {}


def _method(of: PlottedModel) -> Any:
    return (of.method,), {}


def _shape(of: PlottedModel) -> dict[str, Any]:
    """The shape of images that the names of the columns tell, or that of squares, if they may be squares."""
    if of.pixels is not None:
        return {"shape": of.pixels}
    side = round(of.method.n_features_in_**0.5)
    return {"shape": (side, side)} if side * side == of.method.n_features_in_ else {}


def _eigenimages(of: PlottedModel) -> Any:
    return (of.model,), _shape(of)


def _images(of: PlottedModel) -> Any:
    """Images spread over all rows, which often are in the order of groups, from none to all components."""
    k, n = of.method.n_components_, len(of.Y)
    rows = [i * n // _EXAMPLES for i in range(_EXAMPLES)] if n > _EXAMPLES else list(range(n))
    return (of.model, of.X), _shape(of) | {"k": sorted({0, k // 4, k // 2, k}), "rows": rows}


def _table(of: PlottedModel) -> Any:
    return (of.X,), {}


def _judged(of: PlottedModel) -> Any:
    rows, metric = of.judged
    return (of.Y, rows), {"metric": metric}


def _judged_map(of: PlottedModel) -> Any:
    given, options = _judged(of)
    return given, {**options, "labels": of.labels, "meaningful_axes": of.meaningful_axes}


def _judged_rows(of: PlottedModel) -> Any:
    rows, metric = of.judged
    return (rows,), {"metric": metric}


def _stress(of: PlottedModel) -> Any:
    given, options = _judged_rows(of)
    return given, {**options, "method": "nonmetric" if type(of.method).__name__ == "NonmetricMDS" else "metric"}


def _residuals(of: PlottedModel) -> Any:
    if of.X is None:
        return (of.method,), {}
    given, options = _judged_rows(of)
    return given, {**options, "n_neighbors": _neighbors(of)}


def _graph(of: PlottedModel) -> Any:
    given, options = _judged(of)
    return (given[0][:, :3], given[1]), {**options, "n_neighbors": _neighbors(of)}


def _neighbors(of: PlottedModel) -> int:
    """The number of neighbours of the method, or 10; t-SNE's has another meaning."""
    k = of.method.get_params(deep=False).get("n_neighbors") if hasattr(of.method, "pieces_") else None
    return min(k or 10, len(of.Y) - 1)


# -- what prevents a figure -------------------------------------------------------------------------------


def _has(attribute: str, what: str) -> Callable[[PlottedModel], Reason]:
    """Return the check that a method has learned an attribute."""

    def check(of: PlottedModel) -> Reason:
        return None if getattr(of.method, attribute, None) is not None else f"{of.title} has no {what}"

    return check


def _both(*checks: Callable[[PlottedModel], Reason]) -> Callable[[PlottedModel], Reason]:
    def check(of: PlottedModel) -> Reason:
        return next((reason for one in checks if (reason := one(of)) is not None), None)

    return check


def _keeps_map(of: PlottedModel) -> Reason:
    """The coordinates must be known; a SOM places rows on its grid, which `u_matrix` draws."""
    return None if of.has_map else f"{of.title} does not keep the coordinates of its training rows"


def _numbers(of: PlottedModel) -> Reason:
    return "its input is a matrix of pairwise values, not columns" if of.method._fitted_pairwise else None


def _distances(of: PlottedModel) -> Reason:
    if getattr(of.method, "kernel", None) == "precomputed":
        return "its input is a matrix of similarities, not distances"
    return None


def _places(of: PlottedModel) -> Reason:
    few = of.method.n_components_ < 2
    return "its map has one coordinate, and a graph is drawn in 2 or 3 dimensions" if few else _distances(of)


def _is_plane(of: PlottedModel) -> Reason:
    flat = of.method is of.model and of.method.n_features_in_ == 2 and _variances(of) is None
    return None if flat else "it is drawn of PCA of two columns"


def _has_pixels(of: PlottedModel) -> Reason:
    few = of.method.n_features_in_ < FEWEST_PIXELS and of.pixels is None
    return f"its rows have {of.method.n_features_in_} columns, too few for images" if few else _numbers(of)


def _has_residuals(of: PlottedModel) -> Reason:
    known = of.X is not None or hasattr(of.method, "residual_variance_")
    return None if known else f"{of.title} keeps no residual variances"


_components = _has("components_", "components")
has_no_grid = _has("codebook_", "grid of prototypes")
_variances = _has("explained_variance_ratio_", "shares of variance")


def _weighted(of: PlottedModel) -> Reason:
    """Loadings of components that are not orthonormal are scaled by the variances of the rows."""
    return None if of.X is not None or _variances(of) is None else f"{of.title} has no shares of variance"


def _spectrum(of: PlottedModel) -> Reason:
    names = ("spectrum_", "eigenvalues_")
    known = any(getattr(of.method, name, None) is not None for name in names)
    return None if known else f"{of.title} has no eigenvalues"


TABLE: tuple[Kind, ...] = (
    Kind("scatter", "the map, one point for each row", "lowland.plots.scatter", _map, _keeps_map),
    Kind(
        "u_matrix",
        "distances between the units of a SOM; with X, its rows as discs",
        "lowland.plots.grid",
        _units_and_rows,
        has_no_grid,
    ),
    Kind(
        "component_planes",
        "the values of each column over the grid of a SOM",
        "lowland.plots.grid",
        _method,
        has_no_grid,
    ),
    Kind(
        "hit_map", "the number of rows at each unit of a SOM", "lowland.plots.grid", _units_and_rows, has_no_grid, ROWS
    ),
    Kind("scree", "the share of variance of each component", "lowland.plots.spectrum", _shares, _variances),
    Kind("spectrum", "the eigenvalues of the fit", "lowland.plots.spectrum", _method, _spectrum),
    Kind(
        "biplot",
        "the map, with an arrow for each column",
        "lowland.plots.component_arrows",
        _whole,
        _both(_components, _numbers),
        ROWS,
        of_columns=True,
    ),
    Kind(
        "correlation_circle",
        "correlations of the columns with two axes",
        "lowland.plots.component_arrows",
        _whole,
        _numbers,
        ROWS,
        of_columns=True,
    ),
    Kind(
        "loadings",
        "the weights of the columns on each axis",
        "lowland.plots.component_bars",
        _whole,
        _both(_components, _numbers, _weighted),
        of_columns=True,
    ),
    Kind(
        "contributions",
        "the columns that make up each axis",
        "lowland.plots.component_bars",
        _whole,
        _both(_variances, _components),
        of_columns=True,
    ),
    Kind(
        "cos2",
        "how well columns are shown by the axes",
        "lowland.plots.component_bars",
        _whole,
        _both(_variances, _components),
        ROWS,
        of_columns=True,
    ),
    Kind(
        "relationship_square",
        "columns by their r² or η² with two axes, above all of FAMD",
        "lowland.plots.relationship_square",
        _whole,
        _numbers,
        ROWS,
        of_columns=True,
    ),
    Kind(
        "axes_and_projections",
        "points of two columns, principal axes and projections",
        "lowland.plots.lecture",
        _table,
        _is_plane,
        ROWS,
    ),
    Kind(
        "eigenimages",
        "the components as images, of the height and width in ``shape``",
        IMAGES,
        _eigenimages,
        _both(_components, _has_pixels),
    ),
    Kind(
        "reconstructions",
        "images beside what the map keeps of them, of the height and width in ``shape``",
        IMAGES,
        _images,
        _both(_components, _has_pixels),
        ROWS,
    ),
    Kind(
        "correlations",
        "correlations between the columns",
        "lowland.plots.correlation_map",
        _table,
        _numbers,
        ROWS,
        True,
    ),
    Kind(
        "shepard",
        "distances in the map against distances in the data",
        "lowland.plots.quality",
        _judged,
        _distances,
        ROWS,
    ),
    Kind("rnx", "neighbourhoods of all sizes kept by the map", "lowland.plots.quality", _judged, _distances, ROWS),
    Kind(
        "quality_map",
        "the map, coloured by how reliable it is at each point",
        "lowland.plots.quality_map",
        _judged_map,
        _distances,
        ROWS,
    ),
    Kind(
        "neighbor_graph",
        "edges between nearest neighbours of the data, on the map",
        "lowland.plots.graph",
        _graph,
        _places,
        ROWS,
    ),
    Kind(
        "stress_by_dimension",
        "stress of MDS maps of 1 to 6 dimensions",
        "lowland.plots.by_dimension",
        _stress,
        _distances,
        ROWS,
    ),
    Kind(
        "residual_variance",
        "residual variance of Isomap by dimensions; with X, beside that of PCA",
        "lowland.plots.by_dimension",
        _residuals,
        _both(_has_residuals, _distances),
    ),
    Kind(
        "dimension",
        "estimates of the number of dimensions of the data",
        "lowland.plots.dimension",
        _judged_rows,
        _distances,
        ROWS,
    ),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in TABLE}
