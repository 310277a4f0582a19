"""Linear discriminant axes: the directions that separate classes best, and how far principal components keep them."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from ..core.errors import LowlandWarning
from ..spectral.generalized import generalized_eigen
from .reconstruction import plain_rows

Array = Any

MOST_COMPONENTS = 1000  # principal components of a wide table in which the axes are looked for
_RIDGE = 1e-9  # of the within-class covariance, where a class does not vary in some direction


class DiscriminantAxes(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fisher's discriminant axes of classes, or the direction of ridge regression for a numeric target.

    S_b w = λ S_w w, with S_b and S_w the covariances between and within classes (Fisher 1936; Rao 1948). They are
    solved in whitened principal components, of which at most 1,000 are taken; S_w is shrunk (Ledoit & Wolf 2004), so
    that tables with more columns than rows can be used.

    Attributes
    ----------
    axes_ : array (k, r)
        Axes of length 1 in whitened principal components: squared entries are the squared correlations of the
        discriminant scores with the principal components.
    strengths_ : array (k,)
        Share of the variance along each axis that lies between classes.
    variances_ : array (r,)
        Shares of the variance of the principal components.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat([0, 1], 100)
    >>> X = np.column_stack([rng.normal(0, 5, 200), rng.normal(0, 0.1, 200) + 2 * kind])
    >>> found = DiscriminantAxes(1).fit(X, kind)
    >>> round(found.discarded(1), 2), round(found.variance(), 2)
    (0.99, 0.05)
    """

    def __init__(self, n_components: int = 1) -> None:
        self.n_components = n_components

    def fit(self, X: Any, y: Any) -> Self:
        """Find the axes; integers are classes, floats a numeric target."""
        from ..methods.linear.pca import PCA

        X, y = plain_rows(X), np.asarray(y)
        most = min(*X.shape, MOST_COMPONENTS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowlandWarning)  # of rank, and of a column with most of the variance
            self.pca_ = PCA(most if most == MOST_COMPONENTS else None, whiten=True).fit(X)
        Z = self.pca_.transform(X)
        self.variances_ = np.asarray(self.pca_.explained_variance_ratio_, dtype=np.float64)
        W, strengths = _classes(Z, y, self.n_components) if y.dtype.kind in "iu" else _slope(Z, y, self.pca_)
        self.axes_, self.strengths_ = (W / np.linalg.norm(W, axis=0)).T, strengths
        return self

    def transform(self, X: Any) -> Array:
        """Return the scores on the axes."""
        return np.asarray(self.pca_.transform(plain_rows(X))) @ self.axes_.T

    def discarded(self, k: int) -> float:
        """Return the share of the discriminant scores that the first k principal components do not explain.

        1 − Σ_i≤k corr(score, component i)²; axes that separate classes more count more.
        """
        return float(1 - self._weighted((self.axes_[:, :k] ** 2).sum(axis=1)))

    def variance(self) -> float:
        """Return the share of the variance that the axes hold on average; 1/r for an average direction."""
        return float(self._weighted(self.axes_**2 @ self.variances_))

    def _weighted(self, values: Array) -> float:
        total = self.strengths_.sum()
        return float(values @ self.strengths_ / total) if total > 0 else float(values.mean())


def _classes(Z: Array, codes: Array, k: int) -> tuple[Array, Array]:
    """Return the axes (r, k) and the share of the variance along each that is between classes."""
    from sklearn.covariance import ledoit_wolf

    names, codes = np.unique(codes, return_inverse=True)
    counts = np.bincount(codes)
    means = np.stack([np.bincount(codes, weights=z) / counts for z in Z.T], axis=1)
    within = ledoit_wolf(Z - means[codes], assume_centered=True)[0]
    between = (means * counts[:, None]).T @ means / len(Z)  # the components have mean 0
    within = (within + within.T) / 2 + _RIDGE * np.eye(len(within))
    values, W = generalized_eigen((between + between.T) / 2, within, min(k, len(names) - 1, Z.shape[1]), "largest")
    return W, values / (1 + values)


def _slope(Z: Array, y: Array, pca: Any) -> tuple[Array, Array]:
    """Return the direction of ridge regression, its strength chosen by leaving one out."""
    from sklearn.linear_model import RidgeCV

    sizes = np.sqrt(np.asarray(pca.explained_variance_, dtype=np.float64))
    penalties = len(Z) * float((sizes**2).sum()) * np.logspace(-9, 0, 10)
    slope = RidgeCV(penalties).fit(Z * sizes, y).coef_ * sizes
    return (slope if slope.any() else np.eye(len(slope))[0])[:, None], np.ones(1)
