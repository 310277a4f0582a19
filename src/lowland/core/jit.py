"""Numba options of the compiled loops; only ``*_loops`` modules import numba.

Numba caches compiled loops beside their source and does not notice a change here: run ``make clean`` after one.
"""

from typing import Any

# Loops release the GIL, are cached on disk, and divide by zero as NumPy does.
LOOP: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}

# Sums may be vectorised; NaN keeps its meaning. A loop must not both sum and store into a separately allocated array:
# the compiled code checks at run time whether the arrays may overlap and then sums in another order, so the bits would
# depend on the allocator.
FAST_SUMS: dict[str, Any] = LOOP | {"fastmath": {"reassoc", "contract", "nsz"}}
