"""Estimates of dimensions as tests compare them."""

import warnings

from lowland.core.errors import LowlandWarning
from lowland.dimension import estimate


def quiet(X, **options):
    """Estimate where warnings are beside the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)
        return estimate(X, **options)


def pair(found):
    """Return the linear and the nonlinear dimension, rounded."""
    return round(found.consensus["linear"]), round(found.consensus["nonlinear"])
