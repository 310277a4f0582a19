"""Measures of how reliable a map is: neighbours, distances, groups, new rows, refits.

>>> import lowland
>>> from lowland import quality
>>> X, _ = lowland.data.swiss_roll(300, random_state=0)
>>> Y = lowland.PCA(n_components=2).fit_transform(X)
>>> quality.trustworthiness(X, Y, n_neighbors=10) < 0.95
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

# Functions with the name of a module are imported eagerly; otherwise importing the module would hide them.
from .outliers import outliers
from .pointwise import Pointwise, pointwise
from .report import Report, report
from .shepard import Shepard, shepard

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
    "Supplementary",
    "continuity",
    "coranking",
    "distance_correlation",
    "distance_error",
    "geodesic_correlation",
    "held_out",
    "imputation_covariances",
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
    "supplementary",
    "trustworthiness",
]

if TYPE_CHECKING:
    from ..spectral.procrustes import procrustes
    from .contrast import relative_contrast
    from .geodesics import geodesic_correlation
    from .imputation import imputation_covariances
    from .models import HeldOut, held_out
    from .novelty_detection import novelty
    from .novelty_result import Novelty
    from .outlier_result import Outliers
    from .pair_measures import distance_correlation, distance_error, kruskal_stress, residual_variance, sammon_stress
    from .purity import Purity, neighbor_purity
    from .rank_curves import RnxCurve, coranking, rnx_curve
    from .rank_measures import continuity, lcmc, neighborhood_overlap, trustworthiness
    from .reconstruction import reconstruction_error
    from .refits import Stability, stability
    from .supplementary_columns import Supplementary, supplementary

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "..spectral.procrustes": "procrustes",
        ".contrast": "relative_contrast",
        ".geodesics": "geodesic_correlation",
        ".imputation": "imputation_covariances",
        ".models": "HeldOut held_out",
        ".novelty_detection": "novelty",
        ".novelty_result": "Novelty",
        ".outlier_result": "Outliers",
        ".pair_measures": "distance_correlation distance_error kruskal_stress residual_variance sammon_stress",
        ".purity": "Purity neighbor_purity",
        ".rank_curves": "RnxCurve coranking rnx_curve",
        ".rank_measures": "continuity lcmc neighborhood_overlap trustworthiness",
        ".reconstruction": "reconstruction_error",
        ".refits": "Stability stability",
        ".supplementary_columns": "Supplementary supplementary",
    },
)
