"""Which method for these data: candidates run within a budget, measured alike, ranked with reasons.

(The room is not called ``compare`` because ``lowland.compare`` is the function.)
"""

from __future__ import annotations

from .comparing import compare
from .recommendation import Recommendation
from .result import Comparison

__all__ = ["Comparison", "Recommendation", "compare"]
