"""The one place where eigenproblems are solved.

`operators` say what is multiplied and what is known of it, `solve` chooses a solver by one table and returns
sorted, signed, certified pairs; `dense`, `krylov`, `power` and `generalized` are the solvers; `rowspace` finds the
leading directions of a table of rows.
"""

from .generalized import generalized_eigen
from .nullspace import Small, reduced, smallest
from .operators import Centered, Deflated, Dense, DoublyCentered, Gram, LowRank, Operator, Sparse
from .solve import Pairs, Triplets, choose, eigen, fix_signs, singular, table

__all__ = [
    "Centered",
    "Deflated",
    "Dense",
    "DoublyCentered",
    "Gram",
    "LowRank",
    "Operator",
    "Pairs",
    "Small",
    "Sparse",
    "Triplets",
    "choose",
    "eigen",
    "fix_signs",
    "generalized_eigen",
    "reduced",
    "singular",
    "smallest",
    "table",
]
