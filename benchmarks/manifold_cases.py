"""The cases of neighbour graphs and of the methods that stand on them: a rolled-up sheet whose flat shape is known."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import datasets
from .cases import CASES, Case, Fit, Loader, Peers, embedded
from .judges import Arrays, Errors, Judge

SAMPLE = 1000  # rows whose neighbours are checked against a plain float64 search


def roll(rows: int, columns: int, dtype: str) -> np.ndarray:
    """Make a swiss roll, spread evenly over the sheet."""
    from lowland.data import swiss_roll

    return swiss_roll(rows, random_state=0)[0].astype(dtype)


def truth(X: np.ndarray, k: int) -> Arrays:
    """Return arc length and height of the rows of `roll`."""
    from lowland.data import swiss_roll

    return {"flat": swiss_roll(len(X), random_state=0)[1]}


def states(X: Any, k: int) -> Arrays:
    """Return the places of the rows of `datasets.cells` on their sheet."""
    return {"flat": datasets.cell_states(X.shape[0])}


def order_errors(model: Any, X: np.ndarray, stored: Mapping[str, np.ndarray]) -> Errors:
    """One less the largest |rank correlation| of a coordinate with the first true one, and with the second."""
    from scipy.stats import rankdata

    Y = np.asarray(model.embedding_, np.float64)
    both = np.column_stack([Y, stored["flat"]])
    R = np.abs(np.corrcoef(rankdata(both, axis=0), rowvar=False))[: Y.shape[1], Y.shape[1] :].max(axis=0)
    return {"value_error": float(1 - R[0]), "vector_error": float(1 - R[1])}


def neighbors(X: np.ndarray, k: int) -> Arrays:
    """Return the distance of the k-th neighbour of some rows, from differences in float64."""
    rows = np.random.default_rng(0).choice(len(X), min(SAMPLE, len(X)), replace=False)
    A = X.astype(np.float64)
    last = [np.sort(((A - A[i]) ** 2).sum(axis=1))[k] ** 0.5 for i in rows]
    return {"rows": rows, "last": np.array(last)}


def recall_errors(model: Any, X: np.ndarray, stored: Mapping[str, np.ndarray]) -> Errors:
    """The share of neighbours that are farther away than the true k-th; and the error of the last distance kept."""
    rows, last = stored["rows"], stored["last"]
    A, lists = X.astype(np.float64), np.asarray(model.indices)[rows]
    d = np.sqrt(((A[lists] - A[rows][:, None, :]) ** 2).sum(axis=2))
    told = np.asarray(model.distances)[rows].max(axis=1)
    return {
        "value_error": float((d > last[:, None] * (1 + 1e-12)).mean()),
        "vector_error": float((np.abs(told - last) / last).max()),
    }


def ours() -> Fit:
    """Return Lowland's graph of nearest neighbours."""
    from lowland.graph import neighbor_graph

    def fit(X: Any, k: int) -> Any:
        graph = neighbor_graph(X, k)
        return SimpleNamespace(indices=graph.indices.reshape(-1, k), distances=graph.distances.reshape(-1, k))

    return fit


def search(module: str) -> Loader:
    """Return the brute search of scikit-learn, or of its replacement on oneDAL; a row is not its own neighbour."""

    def load() -> Fit:
        Model = importlib.import_module(module).NearestNeighbors

        def fit(X: Any, k: int) -> Any:
            distances, indices = Model(n_neighbors=k + 1, algorithm="brute").fit(X).kneighbors(X)
            return SimpleNamespace(indices=indices[:, 1:], distances=distances[:, 1:])

        return fit

    return load


def faiss() -> Fit:
    """Return faiss's flat index; it gives squared distances."""
    import faiss as package

    def fit(X: Any, k: int) -> Any:
        index = package.IndexFlatL2(X.shape[1])
        index.add(X)
        squares, indices = index.search(X, k + 1)
        return SimpleNamespace(indices=indices[:, 1:], distances=np.sqrt(squares[:, 1:]))

    return fit


def tapkee(method: str, **options: Any) -> Loader:
    """Return a method of tapkee; points are columns there."""

    def load() -> Fit:
        import tapkee as package

        def fit(X: Any, k: int) -> Any:
            data = np.asfortranarray(X.T)
            found = package.embed(data, method=method, num_neighbors=10, target_dimension=k, **options)
            Y = np.asarray(getattr(found, "embedding", found))
            return SimpleNamespace(embedding_=Y if len(Y) == len(X) else Y.T)

        return fit

    return load


def spectral() -> Fit:
    """Return scikit-learn's spectral embedding on its own neighbour graph."""
    from sklearn.manifold import SpectralEmbedding

    return lambda X, k: SpectralEmbedding(k, affinity="nearest_neighbors", n_neighbors=10, random_state=0).fit(X)


def locally(method: str) -> Loader:
    """Return one of scikit-learn's locally linear methods."""
    return embedded(
        "sklearn.manifold",
        "LocallyLinearEmbedding",
        n_neighbors=10,
        method=method,
        eigen_solver="arpack",
        random_state=0,
    )


def lowland(name: str, **options: Any) -> Callable[[], Fit]:
    return embedded("lowland", name, **options)


FLAT = Judge(truth, order_errors)
STATES = Judge(states, order_errors)
NEIGHBORS = Judge(neighbors, recall_errors)
SKLEARN_ISOMAP = embedded("sklearn.manifold", "Isomap", n_neighbors=10)
SEARCHES: Peers = {
    "lowland": ours,
    "onedal": search("sklearnex.neighbors"),
    "faiss": faiss,
    "sklearn": search("sklearn.neighbors"),
}
ISOMAP: Peers = {"lowland": lowland("Isomap", landmarks=None), "sklearn": SKLEARN_ISOMAP}
LANDMARKS: Peers = {"lowland": lowland("Isomap", landmarks=500), "sklearn": SKLEARN_ISOMAP}
LLE: Peers = {"lowland": lowland("LLE"), "sklearn": locally("standard")}
LTSA: Peers = {
    "lowland": lowland("LTSA"),
    "sklearn": locally("ltsa"),
    "tapkee": tapkee("ltsa"),
}
WIDE_LTSA: Peers = {name: fit for name, fit in LTSA.items() if name != "tapkee"}
HESSIAN: Peers = {"lowland": lowland("HessianLLE"), "sklearn": locally("hessian")}
MODIFIED: Peers = {"lowland": lowland("ModifiedLLE"), "sklearn": locally("modified")}
LAPLACIAN: Peers = {"lowland": lowland("LaplacianEigenmaps"), "sklearn": spectral}
WIDE_LAPLACIAN = LAPLACIAN | {"lowland": lowland("LaplacianEigenmaps", weights="binary")}  # scikit-learn's weights
DIFFUSION: Peers = {"lowland": lowland("DiffusionMaps"), "tapkee": tapkee("diffusion_map", gaussian_kernel_width=1.0)}
TABLE = datasets.Recipe(datasets.correlated, 50_000, 100, "float32")
PLAIN, TAPKEE = ("sklearn",), ("tapkee",)


CELLS = datasets.Recipe(datasets.cells, 1000, 60_000, "float64")
SPARSE_CELLS = datasets.Recipe(datasets.sparse_cells, 1000, 60_000, "float64")


def sheet(rows: int) -> datasets.Recipe:
    return datasets.Recipe(roll, rows, 3, "float64")


MANIFOLD = (
    Case("knn", "15 neighbours, 50000 × 100 float32", TABLE, 15, SEARCHES, 1.0, ("onedal",), "", 0.0, NEIGHBORS),
    Case("isomap_exact", "Isomap(2), 10000", sheet(10_000), 2, ISOMAP, 3.0, PLAIN, "sklearn", 1e-3, FLAT),
    Case("isomap_landmarks", "with 500 landmarks", sheet(10_000), 2, LANDMARKS, 15.0, PLAIN, "sklearn", 1e-3, FLAT),
    Case("lle", "LLE(2), 100000", sheet(100_000), 2, LLE, 2.0, PLAIN, "sklearn", 1e-3, FLAT),
    Case("local_ltsa", "LTSA(2), 20000", sheet(20_000), 2, LTSA, 5.0, PLAIN, "sklearn", 1e-3, FLAT),
    Case("local_hessian", "HessianLLE(2), 20000", sheet(20_000), 2, HESSIAN, 5.0, PLAIN, "sklearn", 1e-3, FLAT),
    Case("local_modified", "ModifiedLLE(2), 20000", sheet(20_000), 2, MODIFIED, 5.0, PLAIN, "sklearn", 1e-3, FLAT),
    Case("laplacian", "LaplacianEigenmaps(2), 100000", sheet(100_000), 2, LAPLACIAN, 2.0, PLAIN, "sklearn", 1e-3, FLAT),
    Case("diffusion", "DiffusionMaps(2), 5000", sheet(5_000), 2, DIFFUSION, 20.0, TAPKEE, "", 1e-3, FLAT),
    Case("wide_isomap", "Isomap(2), 1000 × 60000", CELLS, 2, ISOMAP, 1.0, PLAIN, "sklearn", 1e-3, STATES),
    Case("wide_lle", "LLE(2), 1000 × 60000", CELLS, 2, LLE, 1.0, PLAIN, "sklearn", 1e-3, STATES),
    Case("wide_ltsa", "LTSA(2), 1000 × 60000", CELLS, 2, WIDE_LTSA, 1.0, PLAIN, "sklearn", 1e-3, STATES),
    Case("wide_laplacian", "LaplacianEigenmaps(2)", CELLS, 2, WIDE_LAPLACIAN, 1.0, PLAIN, "sklearn", 1e-3, STATES),
    Case("wide_isomap_sparse", "Isomap(2), sparse", SPARSE_CELLS, 2, ISOMAP, 1.0, PLAIN, "sklearn", 1e-3, STATES),
    Case(
        "wide_laplacian_sparse",
        "Laplacian, sparse",
        SPARSE_CELLS,
        2,
        WIDE_LAPLACIAN,
        1.0,
        PLAIN,
        "sklearn",
        1e-3,
        STATES,
    ),
)

EVERY = (*CASES, *MANIFOLD)
