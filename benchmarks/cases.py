"""The cases: which data, who competes, and the ratio that is aimed at."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from . import datasets

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

CASES = (
    Case("pca_tall64", "PCA(10), 1M × 100 float64", TALL, 10, FULL, 1.2, ("onedal",), "onedal", 1e-10),
    Case("pca_tall32", "PCA(10), 1M × 100 float32", TALL32, 10, FULL, 1.0, ("onedal",), "onedal", 1e-6),
    Case("pca_stream", "PCA(10), 1M × 100 in batches", TALL, 10, STREAM, 8.0, tuple(BATCHES), "", 1e-10),
    Case("pca_wide32", "PCA(50), 20000 × 2000 float32", WIDE32, 50, WIDE, 1.5, BOTH, "onedal", 1e-6),
    Case("pca_short", "PCA(50), 1000 × 50000 float32", SHORT32, 50, SHORT, 2.0, RANDOM, "sklearn-full", 1e-6),
    Case("svd_sparse", "SVD(100), word counts", WORDS, 100, SVD, 1.5, ("gensim",), "sklearn-arpack", 1e-10),
    Case("svd_sparse_flat", "SVD(100), uniform", FLAT, 100, SVD, 1.5, ("gensim",), "sklearn-arpack", 1e-10),
)
