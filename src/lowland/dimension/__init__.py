"""Estimates of the number of dimensions, from the spectrum and from neighbours.

`estimate` runs all of them on the same distinct rows, compares them, and says which to rely on; each is also a
function.

**Linear.** `linear` counts from the eigenvalues of the covariance by rules that disagree by design, such as a share of
the variance, the broken stick and the largest gap. `estimate` reports all counts and their median.

**Intrinsic.** `angles` uses directions of neighbours over a series of scales: noise adds dimensions at fine scales,
curvature at coarse ones, and the lowest plateau is reported. `neighbors` and `correlation` use distances, are reported
beside it, and count noise as dimensions. `closed` tests for rings and spheres, whose maps need one more coordinate.

**An estimate has an interval, or says that it has none.** What makes one unreliable (repeated rows, ties, columns of
two values, too few points) is found before it is reported; `notes` words the warnings and the summary.
"""

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
