"""Estimates of the number of dimensions, from the spectrum and from neighbours."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..spectral.parallel_analysis import parallel_analysis
    from .correlation import correlation_dimension
    from .estimating import estimate
    from .linear import broken_stick, gavish_donoho, largest_gap, minka, participation_ratio, variance_share
    from .neighbors import levina_bickel, two_nn
    from .result import Estimate
    from .spectrum import Advice, advice

_HOMES = {
    "Advice": ".spectrum",
    "Estimate": ".result",
    "advice": ".spectrum",
    "broken_stick": ".linear",
    "correlation_dimension": ".correlation",
    "estimate": ".estimating",
    "gavish_donoho": ".linear",
    "largest_gap": ".linear",
    "levina_bickel": ".neighbors",
    "minka": ".linear",
    "parallel_analysis": "..spectral.parallel_analysis",
    "participation_ratio": ".linear",
    "two_nn": ".neighbors",
    "variance_share": ".linear",
}

__all__ = [
    "Advice",
    "Estimate",
    "advice",
    "broken_stick",
    "correlation_dimension",
    "estimate",
    "gavish_donoho",
    "largest_gap",
    "levina_bickel",
    "minka",
    "parallel_analysis",
    "participation_ratio",
    "two_nn",
    "variance_share",
]


def __getattr__(name: str) -> Any:
    # Neighbour searches and solvers are imported when they are used.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
