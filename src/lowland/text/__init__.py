"""Search of texts by meaning: latent semantic indexing.

>>> import lowland
>>> index = lowland.text.LatentSemanticIndex(min_df=1).fit(["wing flutter", "flutter of panels", "heat of a shock"])
>>> sorted(i for i, score in index.search("panels", k=2))
[0, 1]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

__all__ = ["Concept", "LatentSemanticIndex", "SearchResult"]

if TYPE_CHECKING:
    from .index import LatentSemanticIndex
    from .results import Concept, SearchResult

__getattr__, __dir__ = lazy_names(__name__, {".index": "LatentSemanticIndex", ".results": "Concept SearchResult"})
