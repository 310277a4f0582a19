"""Number of dimensions suggested by the eigenvalues of a linear method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..spectral.solved import components_for_share

SHARES = (0.8, 0.9, 0.95)
CAVEAT = (
    "These counts describe flat, linear structure only: a circle or a rolled sheet needs more linear "
    "dimensions than it has, and the spectrum does not show whether the data are curved."
)


@dataclass(frozen=True)
class Advice:
    """Number of components for each share of the variance, and the position of the largest drop.

    A count is None if the computed part of the spectrum does not reach the share. ``drop`` is None if fewer than two
    values are above rounding.
    """

    counts: Mapping[float, int | None]
    drop: int | None
    drop_ratio: float | None
    sentence: str


def largest_drop(spectrum: Any) -> tuple[int | None, float | None]:
    """Return the number of values before the largest ratio of successive values, and this ratio.

    Values that are zero up to rounding are ignored: a drop to zero is the rank, not an elbow.

    >>> largest_drop([5.0, 4.0, 0.1, 0.09])
    (2, 40.0)
    """
    values = np.asarray(spectrum, dtype=np.float64)
    values = values[values > len(values) * np.finfo(np.float64).eps * values[:1].sum()]
    if len(values) < 2:
        return None, None
    ratios = values[:-1] / values[1:]
    return int(np.argmax(ratios)) + 1, float(np.max(ratios))


def advice(spectrum: Any, total: float | None = None) -> Advice:
    """Return the numbers of components suggested by the cumulative share and by the largest drop, with a caveat.

    Parameters
    ----------
    spectrum : array-like
        Eigenvalues in descending order, all of them or the computed part.
    total : float, optional
        Total variance; default: the sum of the spectrum.

    Examples
    --------
    >>> a = advice([0.0884, 0.0725])
    >>> a.counts[0.9], a.drop
    (2, 1)
    """
    values = np.asarray(spectrum, dtype=np.float64)
    whole = float(values.sum()) if total is None else float(total)
    counts = {share: components_for_share(values, whole, share) for share in SHARES}
    reach = counts[SHARES[-1]] or len(values)
    drop, ratio = largest_drop(values[: reach + 1])  # drops among tiny values have no meaning
    reached = [f"{m} for {share:.0%}" for share, m in counts.items() if m is not None]
    said = (
        f"Components needed: {', '.join(reached)} of the variance."
        if reached
        else (
            f"The {len(values)} computed components hold {values.sum() / whole:.0%} of the variance."
            if whole > 0
            else "The data do not vary."
        )
    )
    if drop is not None and ratio is not None and ratio >= 1.5:
        said += f" The spectrum drops most after {drop} (by a factor of {ratio:.3g})."
    return Advice(counts, drop, ratio, f"{said} {CAVEAT}")


def eigengap(spectrum: Any) -> tuple[int | None, float | None]:
    """Return the number of values before the largest gap of a spectrum, and its size: a ratio, or a difference.

    Of values in descending order (PCA, kernels, distances) it is the largest ratio of successive positive values, among
    those that make up 95 % of their sum and the next one: among tiny values ratios have no meaning. Of values in
    ascending order (Laplacians, LLE), where small values count, it is the largest difference. None if there are fewer
    than two values.

    >>> eigengap([5.0, 4.0, 0.1]), eigengap([0.01, 0.02, 0.5, 0.6])
    ((2, 40.0), (2, 0.48))
    """
    values = np.asarray(spectrum, dtype=np.float64)
    if not ascending(values):
        positive = values[values > 0]
        reach = components_for_share(positive, float(positive.sum()), SHARES[-1]) or len(positive)
        return largest_drop(positive[: reach + 1])
    steps = np.diff(values)
    return int(np.argmax(steps)) + 1, float(steps.max())


def ascending(spectrum: Any) -> bool:
    """Return whether the values of a spectrum increase, as those of Laplacians do."""
    values = np.asarray(spectrum, dtype=np.float64)
    return len(values) > 1 and bool(values[-1] > values[0])
