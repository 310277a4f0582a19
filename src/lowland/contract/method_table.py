"""The table of built-in methods: a row each, with what the method needs.

A class is imported when it is first used: that of a row is in ``lowland.methods.FAMILY.NAME``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.lazy import no_garbage_collection
from .ability_table import ABILITIES

if TYPE_CHECKING:
    from .reducer import Reducer


def key_of(name: str) -> str:
    """Return a name as the table has it."""
    return name.strip().lower().replace("-", "_")


def find(key: str, rows: Iterable[Method]) -> Method | None:
    """Return the row of this name, or with this class name in small letters."""
    return next((row for row in rows if key in (row.name, row.class_name.lower())), None)


@dataclass(frozen=True)
class Method:
    """One row of the table.

    ``needs`` is what `fit` takes: "rows" of numbers; "rows, objects or distances" and "rows, objects or kernel" mean
    rows, any objects with a function of two of them, or a precomputed square; "rows or categories": columns may hold
    texts. ``extra`` is the optional group of packages that it needs, ``module`` where its class is.
    """

    name: str
    class_name: str
    family: str
    summary: str
    needs: str = "rows"
    extra: str = ""
    kept: bool = True  # whether a model file can hold it
    module: str = ""

    def __post_init__(self) -> None:
        if not self.module:
            object.__setattr__(self, "module", f"lowland.methods.{self.family}.{self.name}")

    @property
    def title(self) -> str:
        """The name of the method as people write it.

        >>> find("laplacian_eigenmaps", METHODS).title, find("tsne", METHODS).title
        ('Laplacian eigenmaps', 't-SNE')
        """
        return _TITLES.get(self.name, self.class_name)

    @property
    def abilities(self) -> frozenset[str]:
        """What the class can do: ``inverse``, ``missing`` (NaN), ``sparse``, ``partial`` and ``stream`` (read once).

        >>> sorted(find("pca", METHODS).abilities)
        ['inverse', 'partial', 'sparse', 'stream']
        """
        written = ABILITIES.get(self.name)
        return abilities_of(self.load()) if written is None else frozenset(written.split())

    def load(self) -> type[Reducer]:
        """Import and return the class."""
        with no_garbage_collection():
            return getattr(importlib.import_module(self.module), self.class_name)  # type: ignore[no-any-return]


def abilities_of(cls: type[Reducer]) -> frozenset[str]:
    """Return what a class can do, in the words of `Method.abilities`."""
    has = {
        "inverse": hasattr(cls, "inverse_transform"),
        "partial": hasattr(cls, "partial_fit"),
        "missing": cls._allow_nan,
        "sparse": cls._allow_sparse,
        "stream": cls._streams,
    }
    return frozenset(name for name, there in has.items() if there)


_TITLES = {  # of the methods whose class has another name
    "truncated_svd": "Truncated SVD",
    "classical_mds": "Classical MDS",
    "metric_mds": "Metric MDS",
    "nonmetric_mds": "Nonmetric MDS",
    "kernel_pca": "Kernel PCA",
    "probabilistic_pca": "Probabilistic PCA",
    "modified_lle": "Modified LLE",
    "hessian_lle": "Hessian LLE",
    "laplacian_eigenmaps": "Laplacian eigenmaps",
    "diffusion_maps": "Diffusion maps",
    "random_projection": "Random projection",
    "tsne": "t-SNE",
}

_PAIRS = "rows, objects or distances"

METHODS: tuple[Method, ...] = (
    Method("pca", "PCA", "linear", "Principal component analysis: the directions of largest variance."),
    Method("truncated_svd", "TruncatedSVD", "linear",
           "Truncated singular value decomposition, uncentred: LSI for term counts and other sparse tables."),
    Method("classical_mds", "ClassicalMDS", "distance",
           "Classical multidimensional scaling: points from distances; for Euclidean rows the same as PCA.", _PAIRS),
    Method("metric_mds", "MetricMDS", "distance",
           "Metric multidimensional scaling: points whose distances fit the given ones best; weights, missing pairs.",
           _PAIRS),
    Method("nonmetric_mds", "NonmetricMDS", "distance",
           "Non-metric multidimensional scaling: points whose distances keep the order of the given ones.", _PAIRS),
    Method("kernel_pca", "KernelPCA", "kernel",
           "Kernel PCA: principal components in the feature space of a kernel; curved structure, any objects.",
           "rows, objects or kernel"),
    Method("probabilistic_pca", "ProbabilisticPCA", "linear",
           "Probabilistic PCA: a Gaussian model with few directions; takes and fills missing values."),
    Method("lpp", "LPP", "linear", "Locality preserving projections: the linear map that keeps neighbours together."),
    Method("npe", "NPE", "linear",
           "Neighbourhood preserving embedding: a linear map that preserves reconstructions from neighbours."),
    Method("isomap", "Isomap", "manifold",
           "Isomap: MDS of shortest-path distances in the neighbour graph.", _PAIRS),
    Method("lle", "LLE", "manifold",
           "Locally linear embedding: preserves each point's reconstruction from its neighbours.", _PAIRS),
    Method("modified_lle", "ModifiedLLE", "manifold",
           "Modified LLE: several sets of weights for each point; straighter maps than LLE.", _PAIRS),
    Method("hessian_lle", "HessianLLE", "manifold",
           "Hessian eigenmaps: coordinates without curvature along the data; sheets with holes.", _PAIRS),
    Method("ltsa", "LTSA", "manifold",
           "Local tangent space alignment: tangent planes of all points, fitted together.", _PAIRS),
    Method("laplacian_eigenmaps", "LaplacianEigenmaps", "manifold",
           "Laplacian eigenmaps: the smoothest functions on the neighbour graph; clusters and rings.", _PAIRS),
    Method("diffusion_maps", "DiffusionMaps", "manifold",
           "Diffusion maps: distances of random walks on the neighbour graph, at any time scale.", _PAIRS),
    Method("mvu", "MVU", "manifold",
           "Maximum variance unfolding: points pulled apart as far as distances to neighbours allow.", _PAIRS),
    Method("ica", "ICA", "linear",
           "Independent component analysis: the sources of a mixture, as independent of each other as can be."),
    Method("random_projection", "RandomProjection", "random",
           "Random projection: fewer columns, with all distances kept within a bound; costs one product."),
    Method("famd", "FAMD", "linear",
           "Factor analysis of mixed data: numbers and categories weighted fairly; MCA where all are categories.",
           "rows or categories"),
    Method("som", "SOM", "network", "Self-organising map: a grid of prototypes laid through the rows."),
    Method("autoencoder", "Autoencoder", "network",
           "Autoencoder: a neural network that squeezes rows through a few numbers and rebuilds them.", extra="torch"),
    Method("tsne", "TSNE", "embedding",
           "t-SNE, by openTSNE: neighbours stay together; clusters, not distances between them.", _PAIRS),
    Method("umap", "UMAP", "embedding",
           "UMAP, by umap-learn: a fuzzy neighbour graph drawn in a few dimensions.", _PAIRS),
)  # fmt: skip
