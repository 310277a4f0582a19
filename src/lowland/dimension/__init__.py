"""Estimates of the number of dimensions, from the spectrum and from neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

if TYPE_CHECKING:
    from ..spectral.minka import minka
    from ..spectral.parallel_analysis import null_shares, parallel_analysis
    from .by_components import ResidualCurve, StressCurve, residual_variance_by_dimension, stress_by_dimension
    from .correlation import correlation_dimension
    from .estimating import estimate
    from .linear import broken_stick, gavish_donoho, largest_gap, participation_ratio, variance_share
    from .neighbors import levina_bickel, two_nn
    from .result import Estimate
    from .spectrum import Advice, advice, eigengap

__all__ = [
    "Advice",
    "Estimate",
    "ResidualCurve",
    "StressCurve",
    "advice",
    "broken_stick",
    "correlation_dimension",
    "eigengap",
    "estimate",
    "gavish_donoho",
    "largest_gap",
    "levina_bickel",
    "minka",
    "null_shares",
    "parallel_analysis",
    "participation_ratio",
    "residual_variance_by_dimension",
    "stress_by_dimension",
    "two_nn",
    "variance_share",
]

# Neighbour searches and solvers are loaded when they are used: a spectrum needs neither.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "..spectral.minka": "minka",
        "..spectral.parallel_analysis": "null_shares parallel_analysis",
        ".by_components": "ResidualCurve StressCurve residual_variance_by_dimension stress_by_dimension",
        ".correlation": "correlation_dimension",
        ".estimating": "estimate",
        ".linear": "broken_stick gavish_donoho largest_gap participation_ratio variance_share",
        ".neighbors": "levina_bickel two_nn",
        ".result": "Estimate",
        ".spectrum": "Advice advice eigengap",
    },
)
