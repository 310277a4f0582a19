"""Plots: functions from arrays to matplotlib figures, without global state."""

from __future__ import annotations

from .scatter import scatter
from .spectrum import scree

__all__ = ["scatter", "scree"]
