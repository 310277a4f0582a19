"""Pictures that explain PCA: principal axes and projections, variance by direction, power iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.message import Message, Owner
from ..methods.linear.pca import PCA
from ..quality.directions import variance_along
from ..quality.model_axes import dense
from ..spectral.power import PowerPath, power_path
from .component_parts import note
from .legends import add_labelled_legend, add_legend
from .scatter import fit_texts
from .style import PALETTE, axes_for, current, grid_of_axes, value_colors
from .tip_names import write_tip_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = Any

STICKS_MOST = 500  # more sticks would fill the figure


def axes_and_projections(X: Any, *, onto: Sequence[float] | None = None, ax: Axes | None = None) -> Axes:
    """Draw points in the plane, their principal axes from the mean, and the projections on the first axis.

    Sticks join each point with its projection: PCA makes the sum of their squares as small as possible.

    Parameters
    ----------
    X : (n, 2) array of points.
    onto : another direction to project on, such as (1, 0.3); default: the first principal axis.
    ax : axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> ax = axes_and_projections([[0.0, 0.0], [2.0, 1.1], [4.0, 1.9]])
    >>> len(ax.collections[0].get_segments())
    3
    """
    from matplotlib.collections import LineCollection

    X, model = _plane(X, "axes_and_projections")
    mean = X.mean(axis=0)
    u = model.components_[0] if onto is None else _unit(onto)
    feet = mean + np.outer((X - mean) @ u, u)
    wide, high = np.ptp(np.vstack([X, feet]), axis=0)
    look, tall = current(), float(np.clip(5.2 * high / max(wide, 1e-300) + 1.0, 3.0, 6.5))
    ax = axes_for(ax, 5.2 + 0.25 * look.font, tall)
    drawn = np.arange(len(X))[:: -(-len(X) // STICKS_MOST)]
    ax.add_collection(
        LineCollection(
            list(np.stack([X[drawn], feet[drawn]], axis=1)), colors=look.faint, linewidths=0.55 * look.line, zorder=1
        )
    )
    ax.scatter(X[:, 0], X[:, 1], s=22 * look.marker, color=look.accent, linewidths=0, zorder=3, label="points")
    ax.scatter(
        feet[:, 0], feet[:, 1], s=9 * look.marker, color=look.second, linewidths=0, zorder=2, label="projections"
    )
    reach = np.abs((X - mean) @ model.components_.T).max(axis=0)
    for k, (v, length) in enumerate(zip(model.components_, reach, strict=True)):
        ends = mean + np.outer([-1.1 * length, 1.1 * length], v)
        ax.plot(*ends.T, color=look.ink, linewidth=look.line, linestyle="-" if k == 0 else (0, (4, 2)), zorder=1.5,
                label=f"axis {k + 1}: variance {model.explained_variance_[k]:.3g}")  # fmt: skip
    if onto is not None:
        half = 1.1 * float(np.abs((X - mean) @ u).max())
        ax.plot(*(mean + np.outer([-half, half], u)).T, color=look.second, linewidth=look.line, label="given direction")
    ax.plot(*mean, marker="+", markersize=12, markeredgewidth=look.line, color=look.ink, linestyle="", zorder=4)
    ax.set_aspect("equal")
    sticks = float(((X - feet) ** 2).sum()) / (len(X) - 1)
    along = float(variance_along(X, u)[0])
    add_labelled_legend(ax)
    note(ax, f"variance: {along:.3g} along the line + {sticks:.3g} in the sticks = {along + sticks:.3g}")
    return ax


def variance_by_direction(
    X: Any, *, candidates: Sequence[Sequence[float]] = ((1, 0.3), (1, 0.45)), ax: Axes | None = None
) -> Axes:
    """Draw the variance of points along a direction as a function of its angle, with the largest marked.

    Parameters
    ----------
    X : (n, 2) array of points.
    candidates : directions to compare, such as (1, 0.3) and (1, 0.45).
    ax : axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> ax = variance_by_direction([[0.0, 0.0], [2.0, 2.0], [4.0, 4.1]], candidates=[(1, 0.3)])
    >>> [line.get_label() for line in ax.lines[1:]]
    ['largest: 8.2 at 45.7°', '(1, 0.3): 6.27 at 16.7°']
    """
    X, model = _plane(X, "variance_by_direction")
    ax, look = axes_for(ax, 7.0, 4.4), current()
    angles = np.linspace(0, np.pi, 361)
    ways = np.column_stack([np.cos(angles), np.sin(angles)])
    ax.plot(np.rad2deg(angles), variance_along(X, ways), color=look.accent, linewidth=look.line)
    best = model.components_[0]
    marks = [("largest", best, look.ink, "*")]
    for i, candidate in enumerate(candidates):
        _unit(candidate)
        marks.append(
            (f"({candidate[0]:g}, {candidate[1]:g})", np.asarray(candidate, float), PALETTE[(1 + i) % 20], "o")
        )
    for name, way, color, shape in marks:
        angle, value = _angle(way), float(variance_along(X, way)[0])
        ax.plot([angle], [value], linestyle="", marker=shape, color=color, markersize=18 if shape == "*" else 6,
                label=f"{name}: {value:.3g} at {angle:.1f}°", zorder=3,
                markerfacecolor="none" if shape == "*" else color)  # fmt: skip
    ax.set_xticks(range(0, 181, 30), [f"{a}°" for a in range(0, 181, 30)])
    ax.set(xlabel="angle of the direction", ylabel="variance along the direction", xlim=(0, 180))
    ax.set_ylim(bottom=0)
    ax.grid(color=look.faint, alpha=0.3, linewidth=0.6)
    ax.legend(frameon=False, fontsize=look.font, labelcolor=look.ink, loc="best")
    return ax


def power_iteration(
    X: Any, *, start: Sequence[float] | None = None, steps: int = 8, ax: Axes | None = None
) -> list[Axes]:
    """Draw power iteration: vectors that are multiplied by C and normalised turn to the first eigenvector.

    The left panel shows the successive vectors (two columns only), the right one the angle to the first eigenvector by
    step, on a logarithmic scale, with the rate λ₂/λ₁ that theory predicts.

    Parameters
    ----------
    X : rows, (n, D), or their covariance matrix: a symmetric matrix without negative eigenvalues.
    start : the first vector; default: 80 degrees from the first eigenvector.
    steps : number of multiplications.
    ax : axes for the angles only; default: those of a new figure.

    Examples
    --------
    >>> left, right = power_iteration([[2.0, 0.8], [0.8, 1.0]], start=(-0.5, 1.0), steps=3)
    >>> right.lines[0].get_ydata().round(1).tolist()
    [87.6, 79.4, 50.7, 15.6]
    """
    path = power_path(_matrix(X), start, steps)
    if ax is not None or len(path.first) != 2:
        panels = [axes_for(ax, 5.6, 4.2)]
    else:
        panels = grid_of_axes(1, 2, width=4.8, height=4.2)
    _draw_angles(panels[-1], path)
    if len(panels) == 2:
        _draw_vectors(panels[0], path)
    return panels


def _draw_vectors(ax: Axes, path: PowerPath) -> None:
    import matplotlib as mpl
    from matplotlib.patches import Circle

    look, best = current(), path.first
    tones = mpl.colormaps.get_cmap(value_colors())(np.linspace(0.0, 0.9, len(path.vectors)))
    ax.add_patch(Circle((0, 0), 1.0, fill=False, edgecolor=look.faint, linewidth=0.6))
    ax.plot([0, 1.12 * best[0]], [0, 1.12 * best[1]], color=look.ink, linestyle=(0, (4, 2)), linewidth=look.line)
    for v, tone in zip(path.vectors, tones, strict=True):
        ax.plot([0, v[0]], [0, v[1]], color=tone, linewidth=look.line, solid_capstyle="round")
    ax.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), xlabel="first column", ylabel="second column")
    ax.set_aspect("equal")
    note(ax, "vector by step; dashed: first eigenvector")
    V = np.array(path.vectors)
    lines = np.vstack([V, 1.12 * best])
    write_tip_names(ax, V, [str(step) for step in range(len(V))], towards=V, arrows=lines)


def _draw_angles(ax: Axes, path: PowerPath) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    look, steps, angles = current(), np.arange(len(path.angles)), path.angles
    ax.plot(steps, angles, color=look.accent, marker="o", markersize=4 * look.marker**0.5, linewidth=look.line,
            label="angle")  # fmt: skip
    if 0 < path.rate < 1:
        tangent = np.tan(np.deg2rad(angles[0])) * path.rate**steps
        ax.plot(steps, np.rad2deg(np.arctan(tangent)), color=look.second, linestyle=(0, (4, 2)), linewidth=look.line,
                label=f"rate λ₂/λ₁ = {path.rate:.3g}")  # fmt: skip
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{np.format_float_positional(value, trim='-')}°"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel="step", ylabel="angle to the first eigenvector")
    ax.grid(color=look.faint, alpha=0.3, linewidth=0.6)
    handles, _ = ax.get_legend_handles_labels()
    add_legend(ax, handles, above=True)
    fit_texts(ax)


def _plane(X: Any, owner: str) -> tuple[Array, PCA]:
    points = dense(X)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3:
        raise ValueError(f"{owner}: give three or more points with two columns; got shape {points.shape}")
    return points, PCA(2, solver="covariance").fit(points)


def _unit(direction: Sequence[float]) -> Array:
    u = np.asarray(direction, dtype=np.float64)
    if u.shape != (2,) or not np.linalg.norm(u) > 0 or not np.isfinite(u).all():
        raise ValueError(f"a direction is two numbers, not both zero, such as (1, 0.3); got {direction!r}")
    return u / np.linalg.norm(u)


def _angle(v: Array) -> float:
    """Return the angle of a direction, from 0 to 180 degrees."""
    return float(np.rad2deg(np.arctan2(v[1], v[0])) % 180)


def _matrix(X: Any) -> Array:
    A = dense(X)
    if A.ndim == 2 and A.shape[0] == A.shape[1] and np.allclose(A, A.T):
        return A
    if A.ndim != 2 or len(A) < 2:
        raise ValueError(Message(Owner("power_iteration"), f"give rows or a covariance matrix; got shape {A.shape}"))
    return np.atleast_2d(np.cov(A, rowvar=False))
