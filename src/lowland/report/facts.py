"""Facts about a fitted model for reports, read from its attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contract.axis_names import axis_labels, has_meaningful_axes, method_title, shares_of
from ..core.formatting import count, format_share

if TYPE_CHECKING:
    from ..contract.reducer import Reducer
    from .mixed import MixedColumns

# Kruskal's words (1964, Psychometrika 29, p. 3) for a stress-1 of up to 2.5, 5 and 10 %; above it is poor.
_VERDICTS = ((0.025, "excellent"), (0.05, "good"), (0.1, "fair"))
_COMPONENTS, _COLUMNS = 6, 8  # how many components and columns the table of loadings shows


@dataclass(frozen=True)
class Spectrum:
    """Variances in descending order, possibly only the leading ones, and the total variance."""

    values: np.ndarray[Any, Any]
    total: float

    @property
    def shares(self) -> np.ndarray[Any, Any]:
        """Share of the total variance of each component."""
        return self.values / self.total


@dataclass(frozen=True)
class Loadings:
    """The columns with the largest loadings on one component."""

    label: str
    columns: tuple[tuple[str, float], ...]
    left: int  # columns that are not listed


def sentence(model: Reducer, n_rows: int) -> str:
    """Return a one-sentence summary of a fit."""
    kept = int(model.n_components_)
    given = f"{count(n_rows, 'row')} from {count(model.n_features_in_, 'column')}"
    if model._pairwise:
        given = f"{count(n_rows, 'object')}, given by a matrix of pairwise values,"
    text = f"{method_title(model)} reduced {given} to {count(kept, 'dimension')}"
    found = quality(model)
    return f"{text}." if found is None else f"{text}, {found}."


def quality(model: Reducer) -> str | None:
    """Return a phrase on how much of the data is kept, or None if the fit did not measure it."""
    evidence, shares = model.fit_info_.evidence, shares_of(model)
    verb = "holds" if model.n_components_ == 1 else "hold"
    if shares is not None:
        return f"which {verb} {format_share(float(shares.sum()))} of the variance"
    if "share of variance" in evidence and hasattr(model, "codebook_"):
        units = count(len(model.codebook_), "prototype")
        return f"whose {units} explain {format_share(evidence['share of variance'])} of the variance"
    if evidence.get("share of variance", -1.0) >= 0:  # negative where a kernel is far from positive semidefinite
        where = " in the kernel's feature space" if hasattr(model, "kernel_") else ""
        return f"which {verb} {format_share(evidence['share of variance'])} of the variance{where}"
    if "goodness of fit" in evidence:
        return f"with a goodness of fit of {format_share(evidence['goodness of fit'])}"
    for name in _stresses(model):
        verdict = _verdict(model, name)
        rule = f" ({verdict} by Kruskal's rule of thumb)" if verdict else ""
        return f"with {name} {evidence[name]:.3g}{rule}"
    return None


def explanations(model: Reducer) -> list[str]:
    """Explain the measures of a map of distances; an empty list for other methods."""
    evidence, out = model.fit_info_.evidence, []
    if "goodness of fit" in evidence:
        out.append(
            f"The goodness of fit is {format_share(evidence['goodness of fit'])}: the share of the sum of absolute "
            f"eigenvalues in the {count(model.n_components_, 'kept dimension')}. At 100 % the map reproduces every "
            "distance exactly."
        )
        negative = evidence.get("negative share", 0.0)
        if negative > 0.0005:
            out.append(
                f"{format_share(negative)} of this sum is from negative eigenvalues: the distances are not Euclidean, "
                "and no map in any number of dimensions reproduces them exactly."
            )
    for name in _stresses(model):
        out.append(_meaning(model, name, evidence[name]))
    return out


def _stresses(model: Reducer) -> list[str]:
    return [name for name in ("stress-1", "Sammon's stress") if name in model.fit_info_.evidence]


def _meaning(model: Reducer, name: str, value: float) -> str:
    """Explain one stress."""
    if name != "stress-1":
        return f"Sammon's stress is {value:.3g}: squared errors, with more weight on short distances; 0 is exact."
    said = (
        f"Stress-1 is {value:.3g}: distances in the map differ from the given distances by {100 * value:.2g} % "
        "(weighted root mean square)."
    )
    if type(model).__name__ == "NonmetricMDS":
        said = (
            f"Stress-1 is {value:.3g}: distances in the map differ by {100 * value:.2g} % (root mean square) from the "
            "nearest values that have the same order as the given distances."
        )
    verdict = _verdict(model, name)
    if verdict is None:
        return f"{said} The warning above explains why this value is not informative here."
    return f"{said} Kruskal (1964) calls 0.025 excellent, 0.05 good, 0.1 fair and 0.2 poor: this value is {verdict}."


def _verdict(model: Reducer, name: str) -> str | None:
    """Return Kruskal's word for a stress-1; None for other measures and for solutions that the fit calls degenerate."""
    if name != "stress-1" or model.fit_info_.evidence.get("degenerate", False):
        return None
    value = model.fit_info_.evidence[name]
    return next((word for limit, word in _VERDICTS if value <= limit), "poor")


def spectrum_of(model: Reducer) -> Spectrum | None:
    """Return the variances computed by the fit, or None if the method has no spectrum."""
    values, total = getattr(model, "spectrum_", None), getattr(model, "total_variance_", None)
    if values is None or total is None:
        shares = shares_of(model)
        if shares is None:
            return None
        values, total = np.sort(shares)[::-1], 1.0
    found = Spectrum(np.asarray(values, dtype=np.float64), float(total))
    return found if len(found.values) and found.total > 0 else None


def column_names(model: Reducer) -> list[str]:
    """Return the names of the columns the model was fitted on; x0, x1, … where they have none."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{i}" for i in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def top_loadings(model: Reducer, mixed: MixedColumns | None = None) -> list[Loadings]:
    """Return, for the first components, the columns with the largest loadings, either sign.

    ``mixed``: the columns that a step before the model made sums of; the loadings are then those of these columns.
    """
    components = getattr(model, "components_", None)
    if components is None:
        return []
    names, labels = getattr(model, "coded_names_", column_names(model)), axis_labels(model)  # levels have names, too
    weights_of = np.asarray(components)[:_COMPONENTS]
    if mixed is not None and mixed.turn is not None:
        names, weights_of = mixed.names, weights_of @ mixed.turn
    out = []
    for label, weights in zip(labels, weights_of, strict=False):
        order = np.argsort(-np.abs(weights), kind="stable")[:_COLUMNS]
        columns = tuple((names[j], float(weights[j])) for j in order)
        out.append(Loadings(label, columns, len(names) - len(columns)))
    return out


__all__ = [
    "Loadings",
    "Spectrum",
    "axis_labels",
    "column_names",
    "explanations",
    "has_meaningful_axes",
    "method_title",
    "quality",
    "sentence",
    "shares_of",
    "spectrum_of",
    "top_loadings",
]
