"""Each method once: what it is called, what it needs and what it can do.

The command line, the model file, the contract tests and later rooms read this table. It imports no method
until one is asked for, so that ``lowland --help`` stays quick. Methods of other packages come in by `register` or by an
entry point in the group ``lowland.methods``; these are read when all methods are listed, or for an unknown name.
"""

from __future__ import annotations

import difflib
import importlib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reducer import Reducer


@dataclass(frozen=True)
class Method:
    """One row of the table.

    ``needs`` is what `fit` takes: "rows" of numbers; "rows, objects or distances" and "rows, objects or kernel" mean
    rows, any objects with a function of two of them, or a precomputed square; "rows or categories": columns may hold
    texts. The abilities tell what the class has: ``inverse``, ``missing`` (NaN), ``sparse``, ``partial``
    (`partial_fit`), ``stream`` (blocks read once). ``extra`` is the optional group of packages that it needs.
    """

    name: str
    class_name: str
    module: str
    family: str
    summary: str
    needs: str = "rows"
    abilities: frozenset[str] = frozenset()
    extra: str = ""
    kept: bool = True  # whether a model file can hold it

    def load(self) -> type[Reducer]:
        """Import and return the class."""
        return getattr(importlib.import_module(self.module), self.class_name)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Guest(Method):
    """The row of a method that another package brought."""

    cls: Any = None

    def load(self) -> type[Reducer]:
        """Return the class."""
        return self.cls  # type: ignore[no-any-return]


METHODS: tuple[Method, ...] = (
    Method(
        "pca",
        "PCA",
        "lowland.methods.pca",
        "linear",
        "Principal component analysis: the directions of largest variance.",
        abilities=frozenset({"inverse", "sparse", "partial", "stream"}),
    ),
    Method(
        "truncated_svd",
        "TruncatedSVD",
        "lowland.methods.truncated_svd",
        "linear",
        "Truncated singular value decomposition, uncentred: LSI for term counts and other sparse tables.",
        abilities=frozenset({"inverse", "sparse", "partial"}),
    ),
    Method(
        "classical_mds",
        "ClassicalMDS",
        "lowland.methods.classical_mds",
        "distance",
        "Classical multidimensional scaling: points from distances; for Euclidean rows the same as PCA.",
        needs="rows, objects or distances",
    ),
    Method(
        "metric_mds",
        "MetricMDS",
        "lowland.methods.metric_mds",
        "distance",
        "Metric multidimensional scaling: points whose distances fit the given ones best; weights, missing pairs.",
        needs="rows, objects or distances",
    ),
    Method(
        "nonmetric_mds",
        "NonmetricMDS",
        "lowland.methods.nonmetric_mds",
        "distance",
        "Non-metric multidimensional scaling: points whose distances keep the order of the given ones.",
        needs="rows, objects or distances",
    ),
    Method(
        "kernel_pca",
        "KernelPCA",
        "lowland.methods.kernel_pca",
        "kernel",
        "Kernel PCA: principal components in the feature space of a kernel; curved structure, any objects.",
        needs="rows, objects or kernel",
        abilities=frozenset({"inverse"}),
    ),
    Method(
        "probabilistic_pca",
        "ProbabilisticPCA",
        "lowland.methods.probabilistic_pca",
        "linear",
        "Probabilistic PCA: a Gaussian model with few directions; takes and fills missing values.",
        abilities=frozenset({"inverse", "missing", "stream"}),
    ),
    Method(
        "lpp",
        "LPP",
        "lowland.methods.lpp",
        "linear",
        "Locality preserving projections: the linear map that keeps neighbours together.",
        needs="rows",
        abilities=frozenset({"inverse", "sparse"}),
    ),
    Method(
        "npe",
        "NPE",
        "lowland.methods.npe",
        "linear",
        "Neighbourhood preserving embedding: the linear map that keeps each point the same mean of its neighbours.",
        needs="rows",
        abilities=frozenset({"inverse", "sparse"}),
    ),
    Method(
        "isomap",
        "Isomap",
        "lowland.methods.isomap",
        "manifold",
        "Isomap: distances along the data, by shortest paths between neighbours, then a map of them.",
        needs="rows, objects or distances",
        abilities=frozenset({"inverse", "sparse"}),
    ),
    Method(
        "lle",
        "LLE",
        "lowland.methods.lle",
        "manifold",
        "Locally linear embedding: each point stays the same mean of its neighbours.",
        needs="rows, objects or distances",
        abilities=frozenset({"inverse", "sparse"}),
    ),
    Method(
        "modified_lle",
        "ModifiedLLE",
        "lowland.methods.modified_lle",
        "manifold",
        "Modified LLE: several sets of weights for each point; straighter maps than LLE.",
        needs="rows, objects or distances",
        abilities=frozenset({"inverse", "sparse"}),
    ),
    Method(
        "hessian_lle",
        "HessianLLE",
        "lowland.methods.hessian_lle",
        "manifold",
        "Hessian eigenmaps: coordinates without curvature along the data; sheets with holes.",
        needs="rows, objects or distances",
        abilities=frozenset({"inverse", "sparse"}),
    ),
    Method(
        "ltsa",
        "LTSA",
        "lowland.methods.ltsa",
        "manifold",
        "Local tangent space alignment: tangent planes of all points, fitted together.",
        needs="rows, objects or distances",
        abilities=frozenset({"inverse", "sparse"}),
    ),
    Method(
        "laplacian_eigenmaps",
        "LaplacianEigenmaps",
        "lowland.methods.laplacian_eigenmaps",
        "manifold",
        "Laplacian eigenmaps: the smoothest functions on the neighbour graph; clusters and rings.",
        needs="rows, objects or distances",
        abilities=frozenset({"inverse", "sparse"}),
    ),
    Method(
        "diffusion_maps",
        "DiffusionMaps",
        "lowland.methods.diffusion_maps",
        "manifold",
        "Diffusion maps: distances of random walks on the neighbour graph, at any time scale.",
        needs="rows, objects or distances",
        abilities=frozenset({"inverse", "sparse"}),
    ),
    Method(
        "mvu",
        "MVU",
        "lowland.methods.mvu",
        "manifold",
        "Maximum variance unfolding: points pulled apart as far as distances to neighbours allow.",
        needs="rows, objects or distances",
        abilities=frozenset({"inverse", "sparse"}),
    ),
    Method(
        "ica",
        "ICA",
        "lowland.methods.ica",
        "linear",
        "Independent component analysis: the sources of a mixture, as independent of each other as can be.",
        abilities=frozenset({"inverse"}),
    ),
    Method(
        "random_projection",
        "RandomProjection",
        "lowland.methods.random_projection",
        "random",
        "Random projection: fewer columns, with all distances kept within a bound; costs one product.",
        abilities=frozenset({"inverse", "sparse", "stream"}),
    ),
    Method(
        "famd",
        "FAMD",
        "lowland.methods.famd",
        "linear",
        "Factor analysis of mixed data: numbers and categories weighted fairly; MCA where all are categories.",
        needs="rows or categories",
        abilities=frozenset({"inverse"}),
    ),
    Method(
        "som",
        "SOM",
        "lowland.methods.som",
        "network",
        "Self-organising map: a grid of prototypes laid through the rows.",
        abilities=frozenset({"inverse"}),
    ),
    Method(
        "autoencoder",
        "Autoencoder",
        "lowland.methods.autoencoder",
        "network",
        "Autoencoder: a neural network that squeezes rows through a few numbers and rebuilds them.",
        abilities=frozenset({"inverse"}),
        extra="torch",
    ),
    Method(
        "tsne",
        "TSNE",
        "lowland.methods.tsne",
        "embedding",
        "t-SNE, by openTSNE: neighbours stay together; clusters, not distances between them.",
        needs="rows, objects or distances",
        abilities=frozenset({"sparse"}),
        extra="embeddings",
    ),
    Method(
        "umap",
        "UMAP",
        "lowland.methods.umap",
        "embedding",
        "UMAP, by umap-learn: a fuzzy neighbour graph drawn in a few dimensions.",
        needs="rows, objects or distances",
        abilities=frozenset({"sparse"}),
        extra="embeddings",
    ),
)


_GROUP = "lowland.methods"  # entry points of other packages
_guests: dict[str, Guest] = {}  # what `register` and the entry points brought
_broken: dict[str, str] = {}  # entry points that could not be used, and why
_read = False  # whether the entry points have been


def register(
    name: str,
    cls: type,
    *,
    summary: str = "",
    family: str = "other",
    components: str | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> type[Reducer]:
    """Make a transformer of another package a method of Lowland, and return its class.

    It is then found by its name in `registry.method`, `lowland methods` and `lowland reduce --method`. The command line
    is a process of its own: it knows what packages declare in the entry point group ``lowland.methods``.

    Parameters
    ----------
    name : str
        What it is called, such as "pacmap": letters, digits and underscores. A name that is taken is refused.
    cls : class
        A subclass of `lowland.Reducer`, which is used as it is; or any class in the manner of scikit-learn: parameters
        in its constructor, and ``fit_transform``, or ``fit`` with ``transform``. Of such a class a `Reducer` is made.
    summary : str
        One sentence for lists; default: the first line of the class's docstring.
    family : str
        Which methods it is listed with.
    components : str
        The parameter that holds the number of dimensions, where it is not called ``n_components`` (or ``n_dims``,
        ``n_dimensions``, ``n_dim``, ``ndim``). In Lowland it is always ``n_components``.
    defaults : dict
        Values for the constructor's parameters in the place of its own defaults.

    Examples
    --------
    >>> import lowland, numpy as np
    >>> from sklearn.decomposition import FactorAnalysis
    >>> Factors = lowland.register("factor_analysis", FactorAnalysis, family="linear")
    >>> Factors(2).fit_transform(np.random.default_rng(0).standard_normal((50, 4))).shape
    (50, 2)
    >>> lowland.registry.unregister("factor_analysis")
    """
    key = _key(name)
    if not key.isidentifier():
        raise ValueError(f"a method's name is made of letters, digits and underscores; got {name!r}")
    taken = _find(key, (*METHODS, *_guests.values()))
    if taken is not None:
        raise ValueError(f"{name!r} is taken: it is {taken.class_name} ({taken.module}); choose another name")
    row = _guest(key, cls, summary, family, components, dict(defaults or {}))
    _guests[key] = row
    return row.load()


def unregister(name: str) -> None:
    """Forget a method that `register` or an entry point brought; the built-in ones stay."""
    if _guests.pop(_key(name), None) is None:
        raise ValueError(f"{name!r} was not registered; it cannot be taken back")


def methods() -> tuple[Method, ...]:
    """Return all methods: the built-in ones, then those of other packages. The first call reads their entry points."""
    _read_entry_points()
    return (*METHODS, *_guests.values())


def method(name: str) -> Method:
    """Find a method by its name or class name; ValueError that lists the near ones.

    >>> method("PCA").name
    'pca'
    """
    key = _key(name)
    found = _find(key, (*METHODS, *_guests.values())) or _find(key, methods())
    if found is not None:
        return found
    if key in _broken:
        raise ValueError(_broken[key])
    near = difflib.get_close_matches(key, [row.name for row in methods()], n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "`lowland methods` lists all of them."
    raise ValueError(f"no method is called {name!r}; {hint}")


def by_class(class_name: str) -> Method | None:
    """Find a method that a model file can hold by the exact name of its class, or None."""

    def found(rows: Iterable[Method]) -> Method | None:
        return next((row for row in rows if row.class_name == class_name and row.kept), None)

    return found((*METHODS, *_guests.values())) or found(methods())


def _key(name: str) -> str:
    return name.strip().lower().replace("-", "_")


def _find(key: str, rows: Iterable[Method]) -> Method | None:
    return next((row for row in rows if key in (row.name, row.class_name.lower())), None)


def _guest(
    key: str, cls: type, summary: str, family: str, components: str | None, defaults: Mapping[str, Any]
) -> Guest:
    """Make the row of a class of another package."""
    from .foreign import first_line, wrap
    from .reducer import Reducer

    if not isinstance(cls, type):
        raise TypeError(f"register takes a class, such as pacmap.PaCMAP; got {cls!r}")
    ready: Any = cls
    title, known = cls.__name__, _find(cls.__name__.lower(), (*METHODS, *_guests.values()))
    if issubclass(cls, Reducer):
        if components is not None or defaults:
            raise ValueError(
                f"{title} is a Reducer and is used as it is: components and defaults are for other classes"
            )
        if known is not None:
            raise ValueError(f"a method of the class name {title} is there already ({known.module}); rename the class")
    else:
        if known is not None:  # such as scikit-learn's PCA beside ours
            title = "".join(word.capitalize() for word in key.split("_"))
        ready = wrap(cls, title, components, defaults)
    text = summary or f"{first_line(cls)} (from {cls.__module__.partition('.')[0]})"
    able, kept = _abilities(ready), bool(ready._state)
    return Guest(key, title, cls.__module__, family, text, abilities=able, kept=kept, cls=ready)


def _abilities(cls: type[Reducer]) -> frozenset[str]:
    """Tell what a class can do, from what it has."""
    has = {
        "inverse": hasattr(cls, "inverse_transform"),
        "partial": hasattr(cls, "partial_fit"),
        "missing": cls._allow_nan,
        "sparse": cls._allow_sparse,
    }
    return frozenset(name for name, there in has.items() if there)


def _read_entry_points() -> None:
    """Register what installed packages declare. One that fails is named in a warning and left out."""
    global _read
    if _read:
        return
    _read = True
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=_GROUP), key=lambda point: (point.name, point.value)):
        if _key(point.name) in _guests:
            continue  # what this program registered by hand goes before
        try:
            register(point.name, point.load())
        except Exception as error:  # whatever another package raises must not take the built-in methods along
            _tell_broken(point.name, point.value, error)


def _tell_broken(name: str, value: str, error: Exception) -> None:
    from .errors import LowlandWarning

    text = f"the method {name!r} of another package ({value}) cannot be used: {type(error).__name__}: {error}"
    _broken[_key(name)] = text
    warnings.warn(text, LowlandWarning, stacklevel=4)
