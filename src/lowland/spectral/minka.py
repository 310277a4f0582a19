"""Minka's choice of the number of components: the evidence for probabilistic PCA."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.measure import Measure
from ..core.message import message
from .routes import degrees
from .solved import Solved
from .variances import from_solved, variances_of

Array = Any


def minka(X: Any, n_rows: int | None = None, n_columns: int | None = None, *, scale: bool = False) -> Measure:
    """Return the number of components with the largest evidence for probabilistic PCA.

    Laplace's approximation of p(X | k), for k = 1 … D − 1; the interval contains 95 % of the evidence. D is the number
    of columns that vary, also with fewer rows. If the rows lie in a subspace, there is no noise, and the count is the
    dimension of the subspace.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 10))
    >>> minka(signal + 0.1 * rng.standard_normal((500, 10)))
    3

    References
    ----------
    T. P. Minka, Automatic choice of dimensionality for PCA, NIPS 13 (2000).
    """
    # This is scikit-learn's PCA(n_components="mle") with three differences. scikit-learn uses an absolute zero of
    # 1e-15, so that its count depends on the units (digits: 61, digits times 1e-6: 57). It counts constant columns, and
    # one of them makes the noise zero, so that all others become components (3 planted in 8 noisy columns and a
    # constant one give 8). And it does not accept fewer rows than columns.
    found = variances_of(X, n_rows, n_columns, scale=scale, owner="minka").relative
    n, D = found.rows("minka"), found.n_columns
    values = found.padded("minka")[: found.rank]
    # With r = rank < D, the evidence of k = r grows as v^(−(N − r)(D − r)/2) as the noise v goes to zero; the evidence
    # of fewer components stays finite, and that of more components is smaller, as for any noise.
    if len(values) < 2 or found.rank < found.size:
        return Measure(found.rank)
    logs = evidence(values, n, D)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    k = int(np.argmax(logs)) + 1
    order = np.argsort(-weights, kind="stable")
    held = order[: int(np.searchsorted(np.cumsum(weights[order]), 0.95 * (1 - 1e-12))) + 1] + 1
    if k == D - 1 and found.columns is not None and len(found.columns) > D:
        # D − 1 components are the same model as D: the last direction has a variance of its own. It counts as noise,
        # as in scikit-learn, unless constant columns show that noise is not common to all columns.
        return Measure(D, int(held.min()), D)
    return Measure(k, int(held.min()), int(held.max()))


def check_shape(n: int | None, d: int) -> None:
    """Refuse fewer rows than columns, as scikit-learn does: most of the noise is then not seen."""
    if n is not None and n < d:
        text = "PCA: {n_components} is only supported if n_samples >= n_features; "
        text += f"there are {n} rows of {d} columns. Ask for a number of components, or for a share of the variance"
        raise DataError(message(text, n_components="mle"))


def minka_count(solved: Solved, ddof: int) -> int:
    """Return how many components of decomposed rows Minka's rule keeps."""
    check_shape(solved.n_rows, len(solved.mean))
    found = from_solved(solved, degrees(solved.weight, ddof))
    return int(minka(replace(found, n_rows=max(2, round(solved.weight)))))


def evidence(values: Array, n: int, D: int | None = None) -> Array:
    """Return ln p(X | k) for k = 1 … from the r eigenvalues above zero of D (Minka's equations 77 to 80).

    With v_k the mean of the D − k values from k on, the curvature sums ln (1/l_j − 1/l_i)(λ_i − λ_j) over pairs i < k
    and i < j ≤ D, where l is λ before k and v_k from k on. One pass over the pairs gives all k up to r − 1; at r
    there is no noise. For a k beyond equal eigenvalues, whose axes are arbitrary, the evidence is zero.
    """
    from scipy.special import gammaln

    r = len(values)
    D = r if D is None else D
    logs, k = np.log(values), np.arange(1, r)
    behind, above = (D - r) * logs, np.zeros(r)  # sums of ln(λ_i − λ_j) by i and by j
    with np.errstate(divide="ignore"):
        for i in range(r - 1):
            gaps = np.log(values[i] - values[i + 1 :])
            behind[i] += gaps.sum()
            above[i + 1 :] += gaps
    v = np.cumsum(values[::-1])[::-1][1:] / (D - k)
    sums = np.cumsum(logs)
    pairs = np.cumsum(2 * above - np.arange(r) * logs - (sums - logs))[:-1]  # both before k
    with np.errstate(invalid="ignore", divide="ignore"):
        across = np.cumsum(behind)[:-1] - np.cumsum(above)[:-1]
        cut = np.array([np.log(1 / v[m - 1] - 1 / values[:m]).sum() for m in k])
        curvature = pairs + across + (D - k) * cut + np.log(n) * (D * k - k * (k + 1) / 2)
    dims = D - np.arange(r)
    sphere = np.cumsum(gammaln(dims / 2) - np.log(np.pi) * dims / 2)[:-1]  # of orthonormal vectors
    out = (
        sphere
        - k * np.log(2)
        - n / 2 * sums[:-1]
        - n * (D - k) / 2 * np.log(v)
        + (D * k - k * (k + 1) / 2 + k) / 2 * np.log(2 * np.pi)
        - curvature / 2
        - k / 2 * np.log(n)
    )
    out = np.where(np.isfinite(out), out, -np.inf)
    return out if np.isfinite(out).any() else np.zeros(r - 1)
