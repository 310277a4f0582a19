"""Measures of how reliable a map is: neighbours, distances, groups, new rows, refits.

>>> import lowland
>>> from lowland import quality
>>> X, _ = lowland.data.swiss_roll(300, random_state=0)
>>> Y = lowland.PCA(n_components=2).fit_transform(X)
>>> quality.trustworthiness(X, Y, n_neighbors=10) < 0.95
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Functions with the name of a module are imported eagerly; otherwise importing the module would hide them.
from .outliers import outliers
from .pointwise import Pointwise, pointwise
from .report import Report, report
from .shepard import Shepard, shepard

_HOME = {
    "HeldOut": "models",
    "Novelty": "novelty_detection",
    "Outliers": "outlier_result",
    "Purity": "purity",
    "RnxCurve": "rank_curves",
    "Stability": "refits",
    "continuity": "rank_measures",
    "coranking": "rank_curves",
    "distance_correlation": "pair_measures",
    "distance_error": "pair_measures",
    "held_out": "models",
    "kruskal_stress": "pair_measures",
    "lcmc": "rank_measures",
    "neighbor_purity": "purity",
    "neighborhood_overlap": "rank_measures",
    "novelty": "novelty_detection",
    "geodesic_correlation": "geodesics",
    "procrustes": "..spectral.procrustes",
    "reconstruction_error": "reconstruction",
    "relative_contrast": "contrast",
    "residual_variance": "pair_measures",
    "rnx_curve": "rank_curves",
    "sammon_stress": "pair_measures",
    "stability": "refits",
    "trustworthiness": "rank_measures",
}

__all__ = [
    "HeldOut",
    "Novelty",
    "Outliers",
    "Pointwise",
    "Purity",
    "Report",
    "RnxCurve",
    "Shepard",
    "Stability",
    "continuity",
    "coranking",
    "distance_correlation",
    "distance_error",
    "geodesic_correlation",
    "held_out",
    "kruskal_stress",
    "lcmc",
    "neighbor_purity",
    "neighborhood_overlap",
    "novelty",
    "outliers",
    "pointwise",
    "procrustes",
    "reconstruction_error",
    "relative_contrast",
    "report",
    "residual_variance",
    "rnx_curve",
    "sammon_stress",
    "shepard",
    "stability",
    "trustworthiness",
]

if TYPE_CHECKING:
    from ..spectral.procrustes import procrustes
    from .contrast import relative_contrast
    from .geodesics import geodesic_correlation
    from .models import HeldOut, held_out
    from .novelty_detection import Novelty, novelty
    from .outlier_result import Outliers
    from .pair_measures import distance_correlation, distance_error, kruskal_stress, residual_variance, sammon_stress
    from .purity import Purity, neighbor_purity
    from .rank_curves import RnxCurve, coranking, rnx_curve
    from .rank_measures import continuity, lcmc, neighborhood_overlap, trustworthiness
    from .reconstruction import reconstruction_error
    from .refits import Stability, stability


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lowland.quality' has no attribute {name!r}")
    home = _HOME[name]
    value = getattr(importlib.import_module(home if home.startswith(".") else f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
