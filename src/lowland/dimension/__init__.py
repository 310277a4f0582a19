"""Estimates of the number of dimensions, from the spectrum and from neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

if TYPE_CHECKING:
    from ..spectral.minka import minka
    from ..spectral.parallel_analysis import null_shares, parallel_analysis
    from .correlation import correlation_dimension
    from .estimating import estimate
    from .linear import broken_stick, gavish_donoho, largest_gap, participation_ratio, variance_share
    from .neighbors import levina_bickel, two_nn
    from .result import Estimate
    from .spectrum import Advice, advice, eigengap

__all__ = [
    "Advice",
    "Estimate",
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
    "two_nn",
    "variance_share",
]

# Neighbour searches and solvers are loaded when they are used: a spectrum needs neither.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "..spectral.minka": "minka",
        "..spectral.parallel_analysis": "null_shares parallel_analysis",
        ".correlation": "correlation_dimension",
        ".estimating": "estimate",
        ".linear": "broken_stick gavish_donoho largest_gap participation_ratio variance_share",
        ".neighbors": "levina_bickel two_nn",
        ".result": "Estimate",
        ".spectrum": "Advice advice eigengap",
    },
)
