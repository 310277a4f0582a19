"""How far from the plane of the eigenfaces a face may lie: learned from faces that were held out.

A face that took part in a fit lies nearer to its plane than a new one, so each part of the images is measured against
the plane of the others. Whole people are held out together where there are at least five: a stranger's face lies
farther from the plane than another image of somebody known, and is a face all the same.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..core.errors import LowlandWarning
from ..methods.linear.pca import PCA

Array = Any

FOLDS = 5
MIN_IMAGES = 3  # two to fit a line, one to measure


def residuals(pca: PCA, rows: Array) -> Array:
    """Return the distance of each row to the plane of the components, as root mean square over the pixels."""
    off = rows - pca.inverse_transform(pca.transform(rows))
    return np.sqrt((off * off).mean(axis=1, dtype=np.float64))


def held_out_residuals(rows: Array, codes: Array | None, n_components: int, random_state: Any) -> Array | None:
    """Return the residual of each image from the plane of images in other folds; None for fewer than three images.

    ``codes`` are the numbers of people; at least five are held out as a whole.
    """
    n = len(rows)
    if n < MIN_IMAGES:
        return None
    rng = np.random.default_rng(random_state)
    people = codes if codes is not None and len(np.unique(codes)) >= FOLDS else np.arange(n)
    order = rng.permutation(np.unique(people))
    fold_of = dict(zip(order.tolist(), (np.arange(len(order)) % min(FOLDS, len(order))).tolist(), strict=True))
    fold = np.array([fold_of[person] for person in people.tolist()])
    found = np.empty(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)  # the fit of all images has said it
        for part in np.unique(fold):
            inside = fold != part
            k = min(n_components, int(inside.sum()) - 1, rows.shape[1])
            if k < 1 or not np.ptp(rows[inside], axis=0).any():
                return None
            found[~inside] = residuals(PCA(k, random_state=0).fit(rows[inside]), rows[~inside])
    return found


def threshold(held_out: Array, level: float) -> float:
    """Return the residual below which a new face lies with probability ``level``, at most the largest held-out one.

    It is the ⌈(n + 1)·level⌉-th smallest: with images drawn alike, the share of new faces that exceed it is at most
    1 − level, if there are enough of them (Vovk, Gammerman, Shafer 2005).

    >>> threshold(np.arange(1.0, 100.0), 0.95)
    95.0
    """
    place = min(math.ceil((len(held_out) + 1) * level), len(held_out))
    return float(np.sort(held_out)[place - 1])
