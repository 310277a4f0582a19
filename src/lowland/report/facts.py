"""What a report says about a fitted model, read from its attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..settings import format_share

if TYPE_CHECKING:
    from ..reducer import Reducer

_PREFIX = {"PCA": "PC", "ProbabilisticPCA": "PC", "TruncatedSVD": "SVD", "KernelPCA": "kernel PC "}
_COMPONENTS, _COLUMNS = 6, 8  # how many components and columns the table of loadings shows


@dataclass(frozen=True)
class Spectrum:
    """Variances, largest first, and the whole variance, of which they may be only a part."""

    values: np.ndarray[Any, Any]
    total: float

    @property
    def shares(self) -> np.ndarray[Any, Any]:
        """Share of the whole variance, one a component."""
        return self.values / self.total


@dataclass(frozen=True)
class Loadings:
    """The columns that weigh most in one component."""

    label: str
    columns: tuple[tuple[str, float], ...]
    left: int  # columns that are not listed


def count(n: int, noun: str) -> str:
    """Write a number of things.

    >>> count(1, "row"), count(1500, "row")
    ('1 row', '1,500 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def sentence(model: Reducer, n_rows: int) -> str:
    """Say in one sentence what a fit did."""
    kept = int(model.n_components_)
    given = f"{count(n_rows, 'row')} from {count(model.n_features_in_, 'column')} down"
    if model._pairwise:
        given = f"{count(n_rows, 'object')}, known by their values for pairs,"
    text = f"{type(model).__name__} brought {given} to {count(kept, 'dimension')}"
    shares = shares_of(model)
    if shares is None:
        return f"{text}."
    verb = "holds" if kept == 1 else "hold"
    return f"{text}, which {verb} {format_share(float(shares.sum()))} of the variance."


def shares_of(model: Reducer) -> np.ndarray[Any, Any] | None:
    """Return the share of variance of each kept component, or None where the method has no such thing."""
    shares = getattr(model, "explained_variance_ratio_", None)
    return None if shares is None else np.asarray(shares, dtype=np.float64)


def spectrum_of(model: Reducer) -> Spectrum | None:
    """Return the variances that the fit computed, or None where the method has no spectrum."""
    values, total = getattr(model, "spectrum_", None), getattr(model, "total_variance_", None)
    if values is None or total is None:
        shares = shares_of(model)
        if shares is None:
            return None
        values, total = np.sort(shares)[::-1], 1.0
    found = Spectrum(np.asarray(values, dtype=np.float64), float(total))
    return found if len(found.values) and found.total > 0 else None


def axis_labels(model: Reducer) -> list[str]:
    """Name the axes, with their shares of variance where these are known: "PC1 (61.2 %)"."""
    prefix = _PREFIX.get(type(model).__name__, f"{type(model).__name__} ")
    names = [f"{prefix}{i + 1}" for i in range(model.n_components_)]
    shares = shares_of(model)
    if shares is None:
        return names
    return [f"{name} ({100 * share:.1f} %)" for name, share in zip(names, shares, strict=True)]


def column_names(model: Reducer) -> list[str]:
    """Return the names of the columns the model was fitted on; x0, x1, … where they have none."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{i}" for i in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def top_loadings(model: Reducer) -> list[Loadings]:
    """Return, for the first components, the columns with the largest loadings, either sign."""
    components = getattr(model, "components_", None)
    if components is None:
        return []
    names, labels = column_names(model), axis_labels(model)
    out = []
    for label, weights in zip(labels, np.asarray(components)[:_COMPONENTS], strict=False):
        order = np.argsort(-np.abs(weights), kind="stable")[:_COLUMNS]
        columns = tuple((names[j], float(weights[j])) for j in order)
        out.append(Loadings(label, columns, len(names) - len(columns)))
    return out
