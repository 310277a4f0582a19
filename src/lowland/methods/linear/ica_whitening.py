"""How rows become white for ICA: by their principal axes, or taken as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape, Plan, check_allocation, largest
from ...core.errors import LowlandWarning, NotConvergedWarning, ScaleError
from ...core.message import message
from ...rows.block import Block
from ...rows.row_source import RowSource
from ...spectral import rowspace
from ...spectral.rowspace import RowSpace
from ...spectral.solved import ComponentRule, Scaling
from ..shared.linear_map import linear_plan
from . import ica_rotation
from .ica_white_rows import WhiteRows, held_rows, white_rows, whitened

Array = Any

ALGORITHM = "FastICA, Picard-O"
_REMEDY = "ask for fewer components, or fit fewer rows"
_WHITE = 0.1  # departure of second moments from the identity up to which rows count as white


@dataclass(frozen=True)
class Whitening:
    """White rows, and their origin: z = K(x − m) and x = m + Bz; without K, z = x."""

    rows: WhiteRows
    mean: Array
    K: Array | None = None
    B: Array | None = None

    def unmixing(self, W: Array) -> tuple[Array, Array]:
        """Return WK, and its pseudo-inverse BWᵀ, for orthogonal W."""
        return (W, W.T) if self.K is None or self.B is None else (W @ self.K, self.B @ W.T)


def plan(model: Any, shape: DataShape) -> Plan:
    """Return the plan of a fit; without whitening, there are as many sources as columns."""
    n, d = shape.n_rows or 1, shape.n_features
    k = (model.n_components or min(n, d)) if model.whiten else d
    whitening, separating, seconds = ica_rotation.cost(shape, k)
    axes = (
        linear_plan(model, shape, model.n_components, remedy=_REMEDY)
        if model.whiten
        else Plan(method=type(model).__name__, algorithm=ALGORITHM, bytes=0, seconds=0.0, remedy="fit fewer rows")
    )
    parts = largest(axes.parts, whitening, separating)
    return replace(
        axes,
        algorithm=ALGORITHM,
        bytes=sum(parts.values()) + shape.copied,
        seconds=axes.seconds + seconds,
        model_bytes=k * (3 * d + k) * shape.dtype.itemsize + 8 * d + 8 * k,
        parts=parts,
    )


def by_principal_axes(rows: RowSource, count: int | None, rng: np.random.Generator, record: Recorder) -> Whitening:
    """Return rows divided by their standard deviations along ``count`` principal axes."""
    with record.stage("principal axes"):
        space = rowspace.decompose(rows, ComponentRule(count=count), Scaling(True, False, 0), rng=rng)
    _tell(space, count, record)
    root, mean = np.sqrt(space.solved.n_rows), space.solved.mean
    K, B = (space.directions / space.values * root).T, space.directions * space.values / root
    with record.stage("whitening"):
        _require_held(rows, len(K), "the white rows", _REMEDY)
        return Whitening(whitened(rows, mean, K), mean, K, B)


def _require_held(rows: RowSource, k: int, what: str, remedy: str) -> None:
    """Raise if white rows are to be held and the memory limit does not allow it."""
    rows.count()
    if held_rows(rows.shape, k):
        check_allocation(8 * rows.count() * k, what, remedy)


def _tell(space: RowSpace, count: int | None, record: Recorder) -> None:
    """Write down how the rows were whitened, and warn where that fell short."""
    solved, k = space.solved, len(space.values)
    record.note(algorithm=ALGORITHM, solver=f"white by {solved.route}")
    record.evidence["share of variance"] = min(1.0, float((space.values**2).sum() / solved.total))
    if space.short:
        record.warn_short(k, count)
    if not solved.converged:
        record.warn(
            f"ICA: the principal axes are right to {solved.residual:.2g} only; ask for more components",
            NotConvergedWarning,
        )


def _squares(Z: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return Z @ Z.T


def as_they_are(rows: RowSource, count: int | None, record: Recorder) -> Whitening:
    """Return the rows themselves, which should be white, and warn where they are not."""
    if count is not None:
        record.warn(
            message("ICA: Ignoring {n_components} with {whiten}.", n_components=..., whiten=False), LowlandWarning
        )

    def work(block: Block) -> Array:
        rows.check(block)
        part = block.rows.toarray() if sp.issparse(block.rows) else arrays.to_numpy(block.rows)
        return np.array(part.T, dtype=np.float64, order="C")

    d = rows.n_features
    with record.stage("reading"):
        _require_held(rows, d, "the rows in float64", "fit fewer rows")
        white = white_rows(rows, work, d)
    moments = sum(white.each(_squares)) / white.n
    departure = float(np.abs(moments - np.eye(d)).max())
    if not np.isfinite(departure):
        raise ScaleError(message("ICA: squares of the rows overflow; use {whiten}", whiten="unit-variance"))
    record.note(algorithm=ALGORITHM, solver="rows as they are")
    record.evidence["departure from white"] = departure
    if departure > max(_WHITE, 2 / white.n):  # variances may have been divided by N − 1
        text = f"ICA: the second moments of the rows differ from the identity by {departure:.2g}: the rows are not "
        text += "white. The contrast functions assume variance 1, so the sources are unreliable; whiten the rows, or "
        text += "use {whiten}"
        record.warn(message(text, whiten="unit-variance"), LowlandWarning)
    return Whitening(white, np.zeros(d))
