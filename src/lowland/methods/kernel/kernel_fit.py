"""A fit of kernel PCA: the training objects, their kernel or landmarks, and what the record says of the solution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...contract.inputs import require_count, require_length
from ...contract.reducer import Recorder
from ...core.cost import DataShape
from ...core.errors import IndefiniteWarning, NotConvergedWarning, RankWarning
from ...core.message import Message, message
from ...pairs.kernels import (
    FILL,
    MEDIAN_ROWS,
    SCALED,
    SPARSE_KERNELS,
    GivenKernel,
    Kernel,
    check_function,
    median_gamma,
    median_rows,
)
from ...pairs.pairwise import check_symmetric, length, refuse_missing, square
from ...pairs.sparse import require_sparse_form
from ...rows.object_rows import gather, on_host, take
from ...rows.row_source import RowSource, as_rows
from ...spectral.solve import DENSE_LIMIT, sign_of_columns
from ..shared import landmarks
from .feature_space import Components, FeatureMap, Negative, fitted_kernel, from_landmarks, from_pairs
from .width import gaussian_width, similarity_to_pca

Array = Any

LANDMARKS = landmarks.LandmarkDefaults(strategy="rpcholesky")
CHECKED_OBJECTS = 16  # on which a user's function is checked before landmarks are chosen
MAX_BELIEVED_NEGATIVE = 0.5  # share of negative eigenvalues above which the values look like distances


@dataclass(frozen=True)
class KernelFit:
    """The solution of one fit: the objects that new rows are compared with, the components, all rows' coordinates."""

    algorithm: str
    anchors: Array
    found: Components
    embedding: Array
    doubt: str  # what to say where the kernel looks like a distance

    def note(self, n_components: int | None, gamma: float | None, record: Recorder) -> None:
        """Record how the components were found; warn where they are few, inaccurate, or the kernel is indefinite."""
        found, pairs, rank = self.found, self.found.pairs, len(self.found.values)
        record.note(
            algorithm=self.algorithm,
            solver=pairs.solver,
            iterations=pairs.products or None,
            residual=pairs.residual,
            approximate=found.error is not None,
            approximation_error=found.error,
        )
        record.tell_checked(pairs.checked)
        if gamma is not None:
            record.evidence["gamma"] = gamma
        record.evidence["share of variance"] = float(found.values.sum() / found.total)
        if found.centered_error is not None:
            record.evidence["missed of the centred trace, at most"] = found.centered_error
        if n_components is not None and rank < n_components:
            record.warn(
                f"KernelPCA: the centred kernel has rank {rank}, so only {rank} of the {n_components} "
                "requested components exist",
                RankWarning,
            )
        if not pairs.converged:
            record.warn(
                message(
                    f"KernelPCA: the solver stopped before its tolerance (residual {pairs.residual:.2g}); "
                    "raise {n_components}, or use {landmarks}",
                    n_components=...,
                    landmarks=...,
                ),
                NotConvergedWarning,
            )
        if found.negative is not None:
            _note_negative(found.negative, self.doubt, record)


def _note_negative(negative: Negative, doubt: str, record: Recorder) -> None:
    of = "" if negative.excess is None else " of the landmarks"  # these were chosen for their positive part
    record.evidence[f"least eigenvalue{of}"] = negative.least
    record.evidence[f"negative share of the spectrum{of}"] = negative.share
    if negative.count is not None:
        record.evidence["negative eigenvalues"] = negative.count
    if negative.excess is not None:
        record.evidence["share by which landmarks pass k(x, x)"] = negative.excess
    if not negative.shows_indefinite:
        return
    text = (
        f"the smallest eigenvalue{of} is {negative.least:.3g}; negative eigenvalues are {100 * negative.share:.3g} % "
        "of the sum of |λ|"
    )
    if negative.excess is not None:
        text += f"; projected on the landmarks, rows are too long by {negative.excess:.2g} of the trace"
    record.warn(
        Message(
            f"KernelPCA: the kernel is not positive semidefinite: {text}. Only the positive part is used, so distances "
            "in the embedding are not those of the kernel",
            doubt if negative.share > MAX_BELIEVED_NEGATIVE else "",
        ),
        IndefiniteWarning,
    )


def choose_landmarks(model: Any, shape: DataShape) -> landmarks.Landmarks | None:
    """Return how landmarks are chosen, None for an exact fit; refuse what rows of this shape do not allow."""
    n = require_length(model, shape)
    if shape.sparse:
        require_sparse_form(model._input.name(model), SPARSE_KERNELS, "KernelPCA", "kernel")
    chosen = LANDMARKS.of(model, n)
    if model.n_components is None:
        return chosen
    if chosen is not None and chosen.count < n:
        require_count(model, shape, chosen.count, "the number of landmarks")
    else:
        require_count(model, shape, n - 1, "n_samples − 1")
    return chosen


def count_components(model: Any, n: int, chosen: landmarks.Landmarks | None) -> int:
    """Return how many components are computed of n rows: as many as asked for, or all that there can be."""
    most = n - 1 if chosen is None else min(n - 1, chosen.count)
    return max(1, most) if model.n_components is None else int(model.n_components)


def learn_gamma(model: Any, rows: RowSource, record: Recorder, rng: np.random.Generator) -> float | None:
    """Return γ as given, or learned from distances of the rows; None for a kernel without one."""
    if model.kernel not in SCALED:
        return None
    if not isinstance(model.gamma, str) and model.kernel != "rbf":
        return float(model.gamma)
    n = rows.count()
    few = n <= MEDIAN_ROWS  # not copied
    sample = gather(rows, sparse=True) if few else take(rows, median_rows(n, rng))
    gamma = _gamma(model, sample, n, record, rng)
    if model.kernel == "rbf" and model.n_components is not None and min(n - 1, rows.n_features) >= model.n_components:
        record.evidence["similarity to PCA"] = similarity_to_pca(sample, model.n_components, gamma, rng)
    return gamma


def _gamma(model: Any, sample: Any, n: int, record: Recorder, rng: np.random.Generator) -> float:
    if not isinstance(model.gamma, str):
        return float(model.gamma)
    if model.gamma == "median" or model.kernel != "rbf":
        return median_gamma(model.kernel, sample, n)
    width = gaussian_width(sample, model.n_components or n, rng, n)
    if width.hidden_groups:
        record.evidence["groups hidden at the median width"] = width.hidden_groups
    return width.gamma


def fit_kernel(
    model: Any, rows: RowSource, chosen: landmarks.Landmarks | None, record: Recorder, draws: list[np.random.Generator]
) -> KernelFit:
    """Solve for the components of the training rows, over all pairs (no landmarks ``chosen``) or through landmarks."""
    n, given = rows.count(), model._pairwise
    k = count_components(model, n, chosen)
    if chosen is None:
        with record.stage("kernel"):
            items = on_host(gather(rows, sparse=True))
            dtype = np.dtype(np.float64) if n <= DENSE_LIMIT else rows.dtype  # of few rows the copy is small
            rule = _training_kernel(model, items)
            K = items.astype(dtype, copy=False) if given else square(rule, items, dtype=dtype, stage="kernel")
            anchors = np.arange(n) if given else items.copy()  # the caller's array may change after the fit
        with record.stage("solve"):
            found = from_pairs(K, k, psd=rule.psd, rng=draws[0], eps=rule.eps, doubt=rule.doubt)
        return KernelFit("all pairs", anchors, found, found.expansion.dual * found.values, rule.doubt)
    with record.stage("landmarks"):
        few = np.unique(np.linspace(0, n - 1, CHECKED_OBJECTS).astype(int))
        rule = _training_kernel(model, on_host(gather(rows) if given else take(rows, few)))
        rows = as_rows(np.arange(n)[:, None]) if given else rows
        anchors = landmarks.choose(rule, rows, chosen, draws[1])
        anchors = rule.prepare(anchors) if given else anchors
    with record.stage("features"):
        found = from_landmarks(rule, rows, anchors, k, draws[0])
    with record.stage("embedding"):
        coordinates = FeatureMap(rule, anchors, found.expansion).coordinates
        Y = np.concatenate(list(rows.map(lambda block: coordinates(block.rows), stage="embedding")))
        signs = sign_of_columns(Y)  # by all rows, as in an exact fit
        found = replace(found, expansion=replace(found.expansion, dual=found.expansion.dual * signs))
    return KernelFit(f"{length(anchors)} landmarks ({chosen.strategy})", anchors, found, Y * signs, rule.doubt)


def _training_kernel(model: Any, items: Array) -> Kernel:
    """Return the kernel of training objects; a matrix of kernel values or a user's function is checked first."""
    if model._pairwise:
        _check_square(items)
        return GivenKernel(items)
    rule = fitted_kernel(model, items)
    if callable(model.kernel):
        check_function(rule, items, "KernelPCA")
    return rule


def _check_square(K: Array) -> None:
    """Require a square symmetric matrix without missing values."""

    def check(block: Array, _rows: slice, _columns: slice) -> None:
        if np.isnan(block.sum()):  # or entries of both signs that overflow
            refuse_missing(K, "KernelPCA", "kernel value", "K", FILL)

    check_symmetric(K, "KernelPCA", "kernel values", "K", check=check)
