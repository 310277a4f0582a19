"""The only place where eigenproblems are solved.

`operators` are linear maps that record whether they are symmetric, semidefinite, or have a known null vector. `solve`
has the table that chooses a solver; its results are sorted, signed by one rule (the entry of largest magnitude is
positive, the first among near ties) and have a residual measured with new products. The solvers:

- `dense`: LAPACK; `krylov`: block Lanczos and Golub–Kahan with thick restart; `power`: multiplication and deflation;
- `generalized`: C v = λ D v; `distance`: doubly centred squares; `walks`: random walks on graphs;
- `nullspace`: the small end of sparse semidefinite matrices, by shift and invert on the factors of `factor`.

**Missed pairs.** A residual shows that a result is an eigenpair, not that none was missed: from a block of 8 random
columns, a value of multiplicity 20 is found 8 times. `krylov` therefore adds random directions when the iteration is
half done, multiplies them for at least half as many blocks as the run took, and tries more if they contained a wanted
pair. This costs 8 % more columns (median of fifteen cases; −2 to 29 %). `KrylovResult.checked` counts these blocks, and
``fit_info_.evidence`` reports "checked (randomised)": a missed pair is found with near certainty, but not provably.

**Small eigenvalues.** The second eigenvalue of a locally linear matrix falls to 1e-14 of its norm at a million
points, below the rounding of a product. `nullspace` factors the matrix with a shift of a few roundings, deflates the
known null vectors, and reports the residual as an angle: relative to the gap, not to the norm.

**Factors.** SciPy has only an LU, which stores twice as much, uses one thread and does not predict its size. For
LLE's matrix of 100,000 points of a sheet our multifrontal Cholesky factor took 2.9 s of processor time and 0.28 GB,
SuperLU 4.7 s and 0.74 GB, PARDISO 7.3 s and 0.39 GB, with the same eigenvectors to 2e-7. `ordering` holds the minimum
degree order, the elimination tree and exact column counts, so the size is known before anything is allocated.

**Rows.** `rowspace` finds the leading directions of a table by one of five routes (`routes`; costs in `route_costs`):

| route | what is solved | when ``auto`` takes it |
|---|---|---|
| svd | R factor, singular values | N·D·min(N, D) ≤ 1e8, or the last wanted σ is below 4√eps·σ₁ |
| covariance | D × D scatter | D ≤ N, D ≤ 10,000 or many components; blocks that can be read once |
| gram | N × N dual | N < D, N ≤ 10,000 or many components |
| krylov | the rows, centred as they are multiplied | sparse with both sides above 1,000; both sides large |
| power | scatter or rows | only on request |

The scatter is exact to eps·σ₁², so a direction to eps·σ₁/σ_k. If that exceeds a third of LAPACK's own bound, the rows
are read a second time in whitened coordinates, where the scatter is near the identity (`second_pass`); below √eps·σ₁,
``auto`` uses QR. `dual` represents few wide rows by their coordinates in their row space (U and σ of the Gram matrix)
and never stores the D × N directions: LPP and NPE of 1,000 × 60,000 rows took 32 s of processor time with them, 6 s
without.
"""

from .generalized import generalized_eigen
from .nullspace import Small, reduced, smallest
from .operators import Centered, Dense, DoublyCentered, Gram, Operator, Sparse
from .solve import Pairs, Triplets, choose, eigen, fix_signs, singular, table

__all__ = [
    "Centered",
    "Dense",
    "DoublyCentered",
    "Gram",
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
