"""The cases: which data, who competes, and the ratio that is aimed at."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from . import datasets
from .judges import INVERSE, KERNEL, PRINCIPAL, SCALING, SINGULAR, STRESS, Judge, width

Fit = Callable[[Any, int], Any]  # work on (X, k); gives components_ and explained_variance_ or singular_values_
Loader = Callable[[], Fit]  # imports the package, outside the timing
Peers = dict[str, Loader]


def whole(module: str, name: str, **options: Any) -> Loader:
    """Fit the class in one call."""

    def load() -> Fit:
        Model = getattr(importlib.import_module(module), name)
        return lambda X, k: Model(n_components=k, **options).fit(X)

    return load


def stream(module: str, name: str, batch: int) -> Loader:
    """Fit the class batch by batch; reading the result counts as work, should the class put it off."""

    def load() -> Fit:
        Model = getattr(importlib.import_module(module), name)

        def fit(X: Any, k: int) -> Any:
            model = Model(n_components=k)
            for start in range(0, len(X), batch):
                model.partial_fit(X[start : start + batch])
            return SimpleNamespace(components_=model.components_, explained_variance_=model.explained_variance_)

        return fit

    return load


def gensim() -> Fit:
    """Return gensim's in-core SVD with the defaults of its LSI model; documents are columns there."""
    from gensim.models.lsimodel import stochastic_svd

    def fit(X: Any, k: int) -> Any:
        u, s = stochastic_svd(X.T.tocsc(), k, X.shape[1], power_iters=2, extra_dims=100, random_seed=0)
        return SimpleNamespace(components_=u[:, :k].T, singular_values_=s[:k])

    return fit


def gaussian(module: str, **options: Any) -> Loader:
    """Fit kernel PCA with the Gaussian kernel of the case; scikit-learn's has no embedding as an attribute."""

    def load() -> Fit:
        Model = importlib.import_module(module).KernelPCA

        def fit(X: Any, k: int) -> Any:
            model = Model(n_components=k, kernel="rbf", gamma=width(X), **options).fit(X)
            if not hasattr(model, "embedding_"):
                model.embedding_ = model.eigenvectors_ * model.eigenvalues_**0.5
            return model

        return fit

    return load


def embedded(module: str, name: str, **options: Any) -> Loader:
    """Fit a method that keeps its embedding."""

    def load() -> Fit:
        Model = getattr(importlib.import_module(module), name)
        return lambda X, k: Model(n_components=k, **options).fit(X)

    return load


def bare_arpack() -> Fit:
    """Return the least that a good program would do for classical MDS: ARPACK on the centred squares."""
    import numpy as np
    from scipy.sparse.linalg import eigsh

    from .judges import centred

    def fit(D: Any, k: int) -> Any:
        values, vectors = eigsh(centred(-0.5 * D**2), k=k, which="LA", v0=np.ones(len(D)))
        return SimpleNamespace(embedding_=vectors[:, ::-1] * values[::-1] ** 0.5)

    return fit


def scikit_bio() -> Fit:
    """Return scikit-bio's principal coordinates by its randomised solver."""
    from skbio.stats.distance import DistanceMatrix
    from skbio.stats.ordination import pcoa

    def fit(D: Any, k: int) -> Any:
        found = pcoa(DistanceMatrix(D, validate=False), method="fsvd", dimensions=k, warn_neg_eigval=False)
        return SimpleNamespace(embedding_=found.samples.to_numpy())

    return fit


@dataclass(frozen=True)
class Case:
    """One comparison: Lowland aims to be ``target`` times faster than the fastest of ``against``.

    That counts only if its value error does not pass that of ``bar`` (a peer that solves to the end; "" for
    none), or ``floor``, below which all is rounding, where the bar is lower still.
    """

    name: str
    job: str
    data: datasets.Recipe
    k: int
    peers: Peers
    target: float
    against: tuple[str, ...]
    bar: str
    floor: float
    judge: Judge = PRINCIPAL


SK = "sklearn.decomposition"
PCA: Peers = {"lowland": whole("lowland", "PCA")}
FULL = PCA | {"sklearn": whole(SK, "PCA", random_state=0), "onedal": whole("sklearnex.decomposition", "PCA")}
WIDE = FULL | {"sklearn-covariance": whole(SK, "PCA", svd_solver="covariance_eigh")}
SHORT = PCA | {f"sklearn-{s}": whole(SK, "PCA", svd_solver=s, random_state=0) for s in ("randomized", "full")}
BATCHES = {f"incremental-{size}": stream(SK, "IncrementalPCA", size) for size in (5_000, 10_000, 20_000)}
STREAM = {"lowland": stream("lowland", "PCA", 10_000)} | BATCHES
SVD = {"lowland": whole("lowland", "TruncatedSVD"), "gensim": gensim} | {
    f"sklearn-{s}": whole(SK, "TruncatedSVD", algorithm=s, random_state=0) for s in ("randomized", "arpack")
}
BOTH, RANDOM = ("sklearn", "onedal"), ("sklearn-randomized",)
TALL = datasets.Recipe(datasets.correlated, 1_000_000, 100, "float64")
TALL32 = datasets.Recipe(datasets.correlated, 1_000_000, 100, "float32")
WIDE32 = datasets.Recipe(datasets.correlated, 20_000, 2_000, "float32")
SHORT32 = datasets.Recipe(datasets.correlated, 1_000, 50_000, "float32")
WORDS = datasets.Recipe(datasets.word_counts, 20_000, 50_000, "float64")
FLAT = datasets.Recipe(datasets.flat_sparse, 20_000, 50_000, "float64")
KERNEL_PCA = {
    "lowland": gaussian("lowland", preimage=None),
    "sklearn": gaussian(SK),
    "sklearn-arpack": gaussian(SK, eigen_solver="arpack", random_state=0),
}
KERNEL_INVERSE = {
    "lowland": gaussian("lowland"),
    "sklearn": gaussian(SK, fit_inverse_transform=True),
    "sklearn-arpack": gaussian(SK, eigen_solver="arpack", fit_inverse_transform=True, random_state=0),
}
KERNEL_LARGE = {
    "lowland": gaussian("lowland", preimage=None),
    "sklearn-randomized": gaussian(SK, eigen_solver="randomized", random_state=0),
}
CLASSICAL: Peers = {
    "lowland": embedded("lowland", "ClassicalMDS", metric="precomputed"),
    "sklearn": embedded("sklearn.manifold", "ClassicalMDS", metric="precomputed"),
    "arpack": bare_arpack,
    "scikit-bio": scikit_bio,
}
METRIC: Peers = {
    "lowland": embedded("lowland", "MetricMDS", max_iter=300, tol=0.0),
    "sklearn": embedded("sklearn.manifold", "MDS", init="classical_mds", n_init=1, max_iter=300, eps=0.0),
}
ROWS_5K = datasets.Recipe(datasets.correlated, 5_000, 50, "float64")
ROWS_20K = datasets.Recipe(datasets.correlated, 20_000, 50, "float64")
ROWS_1K = datasets.Recipe(datasets.correlated, 1_000, 50, "float64")
BLOCKS_5K = datasets.Recipe(datasets.cityblock, 5_000, 50, "float64")
ARPACK, PLAIN = ("sklearn-arpack",), ("sklearn",)

CASES = (
    Case("pca_tall64", "PCA(10), 1M × 100 float64", TALL, 10, FULL, 1.2, ("onedal",), "onedal", 1e-10),
    Case("pca_tall32", "PCA(10), 1M × 100 float32", TALL32, 10, FULL, 1.0, ("onedal",), "onedal", 1e-6),
    Case("pca_stream", "PCA(10), 1M × 100 in batches", TALL, 10, STREAM, 8.0, tuple(BATCHES), "", 1e-10),
    Case("pca_wide32", "PCA(50), 20000 × 2000 float32", WIDE32, 50, WIDE, 1.5, BOTH, "onedal", 1e-6),
    Case("pca_short", "PCA(50), 1000 × 50000 float32", SHORT32, 50, SHORT, 2.0, RANDOM, "sklearn-full", 1e-6),
    Case("svd_sparse", "SVD(100), word counts", WORDS, 100, SVD, 1.5, ("gensim",), "sklearn-arpack", 1e-10, SINGULAR),
    Case("svd_sparse_flat", "SVD(100), uniform", FLAT, 100, SVD, 1.5, ("gensim",), "sklearn-arpack", 1e-10, SINGULAR),
    Case(
        "kpca_exact", "KernelPCA(10), 5000 × 50", ROWS_5K, 10, KERNEL_PCA, 1.3, ARPACK, "sklearn-arpack", 1e-10, KERNEL
    ),
    Case("kpca_dense", "the same, against the default", ROWS_5K, 10, KERNEL_PCA, 4.0, PLAIN, "sklearn", 1e-10, KERNEL),
    Case(
        "kpca_inverse", "KernelPCA(10) with inverse", ROWS_5K, 10, KERNEL_INVERSE, 15.0, PLAIN, "sklearn", 0.0, INVERSE
    ),
    Case(
        "kpca_large", "KernelPCA(2), 20000", ROWS_20K, 2, KERNEL_LARGE, 5.0, RANDOM, "sklearn-randomized", 0.01, KERNEL
    ),
    Case(
        "mds_classical", "ClassicalMDS(2), city-block", BLOCKS_5K, 2, CLASSICAL, 60.0, PLAIN, "sklearn", 1e-10, SCALING
    ),
    Case("mds_metric", "MetricMDS(2), 1000 × 50", ROWS_1K, 2, METRIC, 10.0, PLAIN, "sklearn", 0.0, STRESS),
)
