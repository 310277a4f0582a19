"""Lowland: dimensionality reduction with a plan before, evidence after, and `transform` for every method.

>>> import lowland
>>> Y = lowland.PCA(n_components=2).fit_transform([[1.0, 0.0], [2.0, 2.1], [3.0, 1.5]])
>>> Y.shape
(3, 2)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives. Nothing is imported before it is used: see the cold-start rule in docs/architecture.md.
_HOME = {
    "Autoencoder": "methods.autoencoder",
    "ClassicalMDS": "methods.classical_mds",
    "DiffusionMaps": "methods.diffusion_maps",
    "FAMD": "methods.famd",
    "HessianLLE": "methods.hessian_lle",
    "ICA": "methods.ica",
    "Isomap": "methods.isomap",
    "KernelPCA": "methods.kernel_pca",
    "LLE": "methods.lle",
    "LPP": "methods.lpp",
    "LTSA": "methods.ltsa",
    "LaplacianEigenmaps": "methods.laplacian_eigenmaps",
    "MVU": "methods.mvu",
    "MetricMDS": "methods.metric_mds",
    "ModifiedLLE": "methods.modified_lle",
    "NPE": "methods.npe",
    "NonmetricMDS": "methods.nonmetric_mds",
    "PCA": "methods.pca",
    "ProbabilisticPCA": "methods.probabilistic_pca",
    "RandomProjection": "methods.random_projection",
    "SOM": "methods.som",
    "TSNE": "methods.tsne",
    "TruncatedSVD": "methods.truncated_svd",
    "UMAP": "methods.umap",
    "Cancelled": "core.errors",
    "DataError": "core.errors",
    "DegenerateWarning": "core.errors",
    "DisconnectedError": "core.errors",
    "DisconnectedWarning": "core.errors",
    "DominantColumnWarning": "core.errors",
    "IndefiniteWarning": "core.errors",
    "LowlandError": "core.errors",
    "LowlandWarning": "core.errors",
    "MemoryLimitError": "core.errors",
    "MissingExtraError": "core.errors",
    "ModelFileError": "core.errors",
    "NotConvergedWarning": "core.errors",
    "RankWarning": "core.errors",
    "SolveError": "core.errors",
    "WriteError": "core.errors",
    "Comparison": "comparison",
    "FitInfo": "contract.reducer",
    "Measure": "core.measure",
    "Plan": "core.cost",
    "Reducer": "contract.reducer",
    "RowSource": "rows.row_source",
    "compare": "comparison",
    "config": "core.settings",
    "load": "modelfile",
    "plan": "contract.plan",
    "register": "contract.registry",
    "save": "modelfile",
}
_ROOMS = {  # public modules, by the name that users know
    "data": "data",
    "dimension": "dimension",
    "functions": "contract.functions",
    "graph": "graph",
    "moments": "rows.moments",
    "quality": "quality",
    "registry": "contract.registry",
    "settings": "core.settings",
    "spectral": "spectral",
}

__all__ = [*sorted(_HOME), *_ROOMS, "__version__"]

if TYPE_CHECKING:
    from . import data, dimension, graph, quality, spectral
    from .comparison import Comparison, compare
    from .contract import functions, registry
    from .contract.plan import plan
    from .contract.reducer import FitInfo, Reducer
    from .contract.registry import register
    from .core import settings
    from .core.cost import Plan
    from .core.errors import (
        Cancelled,
        DataError,
        DegenerateWarning,
        DisconnectedError,
        DisconnectedWarning,
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
        WriteError,
    )
    from .core.measure import Measure
    from .core.settings import config
    from .methods.autoencoder import Autoencoder
    from .methods.classical_mds import ClassicalMDS
    from .methods.diffusion_maps import DiffusionMaps
    from .methods.famd import FAMD
    from .methods.hessian_lle import HessianLLE
    from .methods.ica import ICA
    from .methods.isomap import Isomap
    from .methods.kernel_pca import KernelPCA
    from .methods.laplacian_eigenmaps import LaplacianEigenmaps
    from .methods.lle import LLE
    from .methods.lpp import LPP
    from .methods.ltsa import LTSA
    from .methods.metric_mds import MetricMDS
    from .methods.modified_lle import ModifiedLLE
    from .methods.mvu import MVU
    from .methods.nonmetric_mds import NonmetricMDS
    from .methods.npe import NPE
    from .methods.pca import PCA
    from .methods.probabilistic_pca import ProbabilisticPCA
    from .methods.random_projection import RandomProjection
    from .methods.som import SOM
    from .methods.truncated_svd import TruncatedSVD
    from .methods.tsne import TSNE
    from .methods.umap import UMAP
    from .modelfile import load, save
    from .rows import moments
    from .rows.row_source import RowSource


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
