"""The default width of a Gaussian kernel: the median distance, unless that hides groups of rows.

A width near the median distance m makes kernel PCA nearly linear. Groups that no linear map shows, such as concentric
spheres, stay hidden. The rule looks for groups without a width: with s_i the distance of row i to its k-th nearest
neighbour,

    A_ij = exp(−2d_ij²/(s_i s_j)),   μ_1 ≤ μ_2 ≤ … the eigenvalues of I − D^(−½) A D^(−½) after the zero one.

Rows form g groups where μ_g/μ_(g−1) is large: an interval has μ_2/μ_1 = 4, and other connected shapes have less. In
many dimensions, or where one group is sparse, its rows have neighbours in the other group and no ratio is large; the
first eigenvector then still has two values. Groups are hidden where the leading components at the median width do not
lie in the span of these eigenvectors. Then σ is the width below m at which they lie in it most; if at none,

    σ = min(m, 1.5 · the geometric mean of s_i).

(Their median can jump: of two spheres half of the s_i are small and half are large.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...pairs.kernels import median_gamma, sample_distances
from ...pairs.pairwise import length
from ...spectral import dense

Array = Any

MAX_ROWS = 500  # an eigenproblem of 500 rows takes 50 ms; scales are shares of the rows, so more rows add little
MIN_ROWS = 40  # of fewer distinct rows the 10th neighbour is no local one
MIN_NEIGHBORS = 10
ROWS_PER_NEIGHBOR = 40  # k is a share of the rows, so that s does not depend on their number
MAX_GROUPS = 10
MIN_RATIO = 6.0  # above the 4 of an interval; samples of 200 rows of connected data on a line reached 5.5
MIN_EIGENVALUE = 1e-6  # eigenvalues below are equal: their ratios are rounding
MIN_SHARE = 0.05  # of the rows that an eigenvector must extend over: a few outliers are no group
MAX_SHOWN = 0.8  # of the leading components inside the groups' span
# Two groups by one function: (skewness² + 1)/kurtosis is 1 for two values, 5/9 for uniform ones, to 0.7 on clouds, to
# 0.95 on digits, where the median width shows half of it or more. Such groups must be well hidden there and clear at a
# narrower width.
MIN_BIMODALITY = 0.93
MIN_BIMODAL_ROWS = 100  # 2 of 20 samples of 60 heavy-tailed rows had such a function; of 100 rows 1 of 40 at most
MAX_FAINT = 0.35
MIN_CLEAR = 0.8  # of the leading components inside the groups' span, at the best width
WIDTHS = np.geomspace(0.85, 0.1, 12)  # σ/m that are tried
LOCAL_WIDTH = 1.5  # σ over the mean distance to the k-th neighbour
_MAX_ROOT = 1e3  # exp(−1e6) is zero; squares of larger numbers may overflow
COMPARED_ROWS = 200  # for the comparison with PCA: two eigenproblems of 200 rows take 10 ms


class Width(NamedTuple):
    """γ, and the number of groups that the median width would hide (0: γ is that of the median)."""

    gamma: float
    hidden_groups: int


def gaussian_width(sample: Array, n_components: int, rng: np.random.Generator, n: int | None = None) -> Width:
    """Return γ = 1/(2σ²) of the default width; ``n`` is the number of rows that the sample was drawn from, if more.

    >>> import numpy as np
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> gaussian_width(np.concatenate([ring, 3 * ring]), 2, np.random.default_rng(0)).hidden_groups
    2
    """
    gamma = median_gamma("rbf", sample, n)
    if length(sample) > MAX_ROWS:
        sample = sample[np.sort(rng.permutation(length(sample))[:MAX_ROWS])]
    D = sample_distances("euclidean", sample)
    distinct = ~np.tril(D == 0, -1).any(axis=1)  # the first of equal rows
    D = D[np.ix_(distinct, distinct)]
    if len(D) < MIN_ROWS:
        return Width(gamma, 0)
    k = max(MIN_NEIGHBORS, -(-len(D) // ROWS_PER_NEIGHBOR))
    s = np.partition(D, k, axis=1)[:, k]
    span, separated = group_span(D, s)
    groups = span.shape[1] + 1
    if groups == 1 or shown(span, D, gamma, n_components) >= (MAX_SHOWN if separated else MAX_FAINT):
        return Width(gamma, 0)
    narrow = 1 / (WIDTHS * np.median(D[np.triu_indices(len(D), 1)])) ** 2 / 2  # without duplicates, unlike γ
    clear = [shown(span, D, g, n_components) for g in narrow]
    best = int(np.argmax(clear))
    if clear[best] >= MIN_CLEAR:
        return Width(float(narrow[best]), groups)
    if not separated:
        return Width(gamma, 0)
    local = LOCAL_WIDTH * float(np.exp(np.log(s).mean()))
    return Width(max(gamma, 1 / local / local / 2), groups)


def group_span(D: Array, s: Array) -> tuple[Array, bool]:
    """Return a basis of the centred functions that are nearly constant on each group; no column without groups.

    The groups are separated if a ratio of eigenvalues shows them, and not only the two values of the first function.
    """
    n = len(D)
    A = np.exp(-2 * (D / s[:, None]) * (D / s))
    np.fill_diagonal(A, 0)
    degrees = A.sum(axis=1)
    roots = np.sqrt(np.where(degrees > 0, degrees, 1.0))  # of an outlier whose kernel values are all zero
    constant = roots / np.linalg.norm(roots)
    values, V = dense.eigh(A / roots[:, None] / roots - np.outer(constant, constant), (n - MAX_GROUPS, n - 1))
    mu, F = 1 - values[::-1], V[:, ::-1] / roots[:, None]
    F = F - F.mean(axis=0)
    F /= np.linalg.norm(F, axis=0)
    broad = 1 / (F**4).sum(axis=0) >= MIN_SHARE * n
    mu, F = np.maximum(mu[broad], MIN_EIGENVALUE), F[:, broad]
    ratios = mu[1:] / mu[:-1]
    if len(ratios) and ratios.max() >= MIN_RATIO:
        return np.linalg.qr(F[:, : int(ratios.argmax()) + 1])[0], True
    two_valued = n >= MIN_BIMODAL_ROWS and F.shape[1] > 0 and _bimodality(F[:, 0]) >= MIN_BIMODALITY
    return F[:, : int(two_valued)], False


def _bimodality(f: Array) -> float:
    """Return (skewness² + 1)/kurtosis of a centred function of length one."""
    third, fourth = float((f**3).sum()), float((f**4).sum())
    return (third**2 + 1 / len(f)) / fourth


def shown(span: Array, D: Array, gamma: float, n_components: int) -> float:
    """Return the mean squared cosine between the groups' span and the leading components at the width of γ."""
    k = min(n_components, len(D) - 1)
    return float(((span.T @ _leading(np.exp(-gamma * D**2), k)) ** 2).sum() / min(span.shape[1], k))


def similarity_to_pca(sample: Array, n_components: int, gamma: float, rng: np.random.Generator) -> float:
    """Return the mean squared cosine between the leading components at the width of γ and those of PCA, of a sample.

    At 1 the width is so large that the map equals PCA's.

    >>> X = np.random.default_rng(0).normal(size=(60, 3)) * [3, 2, 1]
    >>> [round(similarity_to_pca(X, 2, gamma, np.random.default_rng(0)), 2) for gamma in (1e-6, 1.0)]
    [1.0, 0.17]
    """
    if length(sample) > COMPARED_ROWS:
        sample = sample[np.sort(rng.permutation(length(sample))[:COMPARED_ROWS])]
    D = sample_distances("euclidean", sample)
    if not D.any():
        return 1.0
    k = min(n_components, len(D) - 1)
    K = np.exp(-np.square(np.minimum(np.sqrt(gamma) * D, _MAX_ROOT)))
    gram = _leading(-((D / D.max()) ** 2), k)  # centred, half of this is the Gram matrix of the centred rows
    return float(((gram.T @ _leading(K, k)) ** 2).sum() / k)


def _leading(K: Array, k: int) -> Array:
    """Return the k leading eigenvectors of a matrix of pairs that is centred here."""
    means, n = K.mean(axis=0), len(K)
    return dense.eigh(K - means - means[:, None] + means.mean(), (n - k, n - 1))[1]
