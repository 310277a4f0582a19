"""Lowland: dimensionality reduction with a plan before, evidence after, and `transform` for every method.

>>> import lowland
>>> Y = lowland.PCA(n_components=2).fit_transform([[1.0, 0.0], [2.0, 2.1], [3.0, 1.5]])
>>> Y.shape
(3, 2)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .contract.method_table import METHODS as _METHODS

__version__ = "0.1.0"

_ERRORS = (
    *("Cancelled", "CellError", "ClusterError", "DataError", "DegenerateWarning", "DisconnectedError"),
    *("DisconnectedWarning", "DistanceMatrixWarning", "DominantColumnWarning", "IndefiniteWarning", "LowlandError"),
    *("LowlandWarning", "MemoryLimitError", "MissingExtraError", "ModelFileError", "NotConvergedWarning"),
    *("RankWarning", "SolveError", "TieWarning", "UnitsWarning", "WriteError"),
)
# Where each public name lives; classes of methods come from their table. Nothing is imported before it is used.
_HOME = {
    **{row.class_name: row.module.removeprefix(f"{__name__}.") for row in _METHODS},
    **dict.fromkeys(_ERRORS, "core.errors"),
    "Comparison": "comparison",
    "FitInfo": "contract.fit_info",
    "Measure": "core.measure",
    "Plan": "core.cost",
    "Reducer": "contract.reducer",
    "RowSource": "rows.row_source",
    "compare": "comparison",
    "config": "core.settings",
    "fit": "streaming",
    "fit_sample": "streaming",
    "load": "modelfile",
    "plan": "contract.plan",
    "recipe": "recipes",
    "register": "contract.registry",
    "save": "modelfile",
    "transform_file": "streaming",
    "widget": "explorer",
}
_ROOMS = {  # public modules, by the name that users know
    "data": "data",
    "dimension": "dimension",
    "functions": "contract.functions",
    "graph": "graph",
    "images": "images",
    "moments": "rows.moments",
    "quality": "quality",
    "ranking": "ranking",
    "registry": "contract.registry",
    "settings": "core.settings",
    "spectral": "spectral",
    "steps": "methods.steps",
    "text": "text",
}

__all__ = [*sorted(_HOME), *_ROOMS, "__version__"]

if TYPE_CHECKING:
    from . import data, dimension, graph, images, quality, ranking, spectral, text
    from .comparison import Comparison, compare
    from .contract import functions, registry
    from .contract.fit_info import FitInfo
    from .contract.plan import plan
    from .contract.reducer import Reducer
    from .contract.registry import register
    from .core import settings
    from .core.cost import Plan
    from .core.errors import (
        Cancelled,
        CellError,
        ClusterError,
        DataError,
        DegenerateWarning,
        DisconnectedError,
        DisconnectedWarning,
        DistanceMatrixWarning,
        DominantColumnWarning,
        IndefiniteWarning,
        LowlandError,
        LowlandWarning,
        MemoryLimitError,
        MissingExtraError,
        ModelFileError,
        NotConvergedWarning,
        RankWarning,
        SolveError,
        TieWarning,
        UnitsWarning,
        WriteError,
    )
    from .core.measure import Measure
    from .core.settings import config
    from .explorer import widget
    from .methods import steps
    from .methods.distance.classical_mds import ClassicalMDS
    from .methods.distance.metric_mds import MetricMDS
    from .methods.distance.nonmetric_mds import NonmetricMDS
    from .methods.embedding.tsne import TSNE
    from .methods.embedding.umap import UMAP
    from .methods.kernel.kernel_pca import KernelPCA
    from .methods.linear.famd import FAMD
    from .methods.linear.ica import ICA
    from .methods.linear.lpp import LPP
    from .methods.linear.npe import NPE
    from .methods.linear.pca import PCA
    from .methods.linear.probabilistic_pca import ProbabilisticPCA
    from .methods.linear.truncated_svd import TruncatedSVD
    from .methods.manifold.diffusion_maps import DiffusionMaps
    from .methods.manifold.hessian_lle import HessianLLE
    from .methods.manifold.isomap import Isomap
    from .methods.manifold.laplacian_eigenmaps import LaplacianEigenmaps
    from .methods.manifold.lle import LLE
    from .methods.manifold.ltsa import LTSA
    from .methods.manifold.modified_lle import ModifiedLLE
    from .methods.manifold.mvu import MVU
    from .methods.network.autoencoder import Autoencoder
    from .methods.network.som import SOM
    from .methods.random.random_projection import RandomProjection
    from .modelfile import load, save
    from .recipes import recipe
    from .rows import moments
    from .rows.row_source import RowSource
    from .streaming import fit, fit_sample, transform_file


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{_ROOMS[name]}")
    raise AttributeError(f"module 'lowland' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
