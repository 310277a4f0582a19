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
    "AxisTable",
    "ColumnCorrelations",
    "ColumnGroup",
    "ColumnGroups",
    "Destroyed",
    "Downstream",
    "HeldOut",
    "Novelty",
    "Outliers",
    "Pointwise",
    "Purity",
    "Rebuilt",
    "Report",
    "RnxCurve",
    "Shepard",
    "Stability",
    "Supplementary",
    "Trial",
    "column_contributions",
    "column_correlations",
    "column_cos2",
    "column_groups",
    "column_loadings",
    "column_relationships",
    "continuity",
    "coranking",
    "distance_correlation",
    "distance_error",
    "downstream",
    "geodesic_correlation",
    "held_out",
    "imputation_covariances",
    "keep_row_tails",
    "kruskal_stress",
    "lcmc",
    "neighbor_purity",
    "neighborhood_overlap",
    "novelty",
    "ordered_correlations",
    "outliers",
    "partial_reconstruction",
    "pointwise",
    "procrustes",
    "reconstruction_error",
    "relative_contrast",
    "report",
    "residual_variance",
    "rnx_curve",
    "row_contributions",
    "row_cos2",
    "sammon_stress",
    "shepard",
    "stability",
    "supplementary",
    "trustworthiness",
    "variance_along",
]

if TYPE_CHECKING:
    from ..methods.shared.row_tails import keep_row_tails
    from ..spectral.procrustes import procrustes
    from .column_grouping import column_groups
    from .column_groups_result import ColumnGroup, ColumnGroups
    from .column_order import ColumnCorrelations, ordered_correlations
    from .components import (
        AxisTable,
        column_contributions,
        column_correlations,
        column_cos2,
        column_loadings,
        column_relationships,
        row_contributions,
        row_cos2,
    )
    from .contrast import relative_contrast
    from .directions import variance_along
    from .downstream_result import Destroyed, Downstream, Trial
    from .downstream_scores import downstream
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
    from .rebuilt_rows import Rebuilt, partial_reconstruction
    from .reconstruction import reconstruction_error
    from .refits import Stability, stability
    from .supplementary_columns import Supplementary, supplementary

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "..methods.shared.row_tails": "keep_row_tails",
        "..spectral.procrustes": "procrustes",
        ".column_grouping": "column_groups",
        ".column_groups_result": "ColumnGroup ColumnGroups",
        ".column_order": "ColumnCorrelations ordered_correlations",
        ".components": (
            "AxisTable column_contributions column_correlations column_cos2 column_loadings column_relationships "
            "row_contributions row_cos2"
        ),
        ".contrast": "relative_contrast",
        ".directions": "variance_along",
        ".downstream_result": "Destroyed Downstream Trial",
        ".downstream_scores": "downstream",
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
        ".rebuilt_rows": "Rebuilt partial_reconstruction",
        ".reconstruction": "reconstruction_error",
        ".refits": "Stability stability",
        ".supplementary_columns": "Supplementary supplementary",
    },
)
