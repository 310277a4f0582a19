"""Numba's options of the compiled loops; numba itself is imported in ``*_loops`` modules alone.

Numba keeps compiled loops beside their source and does not notice a change here: run ``make clean`` after one.
"""

from typing import Any

# Threads run side by side, the compiled code is kept on disk, and a division by zero gives what NumPy gives.
LOOP: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}

# Sums may be vectorised; NaN keeps its meaning. A loop must not sum and also store in an array allocated apart: the
# compiled code looks whether the arrays lie near each other and adds up in another order if so, and bits would depend
# on the allocator.
FAST_SUMS: dict[str, Any] = LOOP | {"fastmath": {"reassoc", "contract", "nsz"}}
