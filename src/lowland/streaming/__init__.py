"""Tables beyond memory: fits on a sample, coordinates streamed to files, fits that continue after an interruption.

**Exact.** PCA and the other methods that read rows in passes take a `lowland.data.scan` in place of an array.
`lowland.fit` fits them with a checkpoint, in this process or on the workers of a cluster.

**By a sample.** `fit_sample` draws rows in one pass, fits any method to them, and measures how well `transform` places
rows that are not in the sample: against a second fit that includes them, and by the neighbours that they keep.

**To a file.** `transform_file` writes coordinates block by block. Blocks have the sizes and places that they have in
`transform` of the whole table, so the bits are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

__all__ = ["Written", "fit", "fit_sample", "transform_file"]

if TYPE_CHECKING:
    from .fitting import fit
    from .output import Written, transform_file
    from .sample_fit import fit_sample

__getattr__, __dir__ = lazy_names(
    __name__, {".fitting": "fit", ".output": "Written transform_file", ".sample_fit": "fit_sample"}
)
