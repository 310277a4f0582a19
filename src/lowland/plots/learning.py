"""Figure of a learner on components: its score against their number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..quality.downstream_result import Downstream
from .legends import add_labelled_legend
from .parts import grid_lines, heading, plain_numbers
from .style import axes_for, current

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINEAR = 12  # most components on a linear axis
_MARKS = ("o", "s", "^", "D", "v", "P", "X")


def downstream(X: Any, y: Any = None, *, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw the accuracy (or r²) of a learner against the number of components of each method.

    The band is the 95 % interval of the learner on all columns; a ring marks the smallest number of components that
    loses nothing measurable.

    Parameters
    ----------
    X, y, options :
        Rows, target and options of `lowland.quality.downstream`, or as X what it returned.
    ax : Axes, optional
        Axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> ax = downstream(*load_iris(return_X_y=True), methods=["pca", "lda"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('components', 'accuracy on held-out rows')
    """
    if not isinstance(X, Downstream):
        from ..quality.downstream_scores import downstream as measure

        X = measure(X, y, **options)
    found, axes, look = X, axes_for(ax, 7.0, 4.4), current()
    whole, classes = found.everything.score, found.task == "classes"
    axes.axhspan(whole.low, whole.high, color=look.faint, alpha=0.2, linewidth=0)
    axes.axhline(float(whole), color=look.ink, linewidth=look.line / 1.5, label=f"all {found.n_columns:,} columns")
    size, log = look.marker**0.5, max(trial.k for trial in found.trials) > _LINEAR
    for number, method in enumerate(found.methods):
        trials = found.of(method)
        color = look.palette[number % len(look.palette)]
        k, score = [trial.k for trial in trials], np.array([float(trial.score) for trial in trials])
        spread = [score - [trial.score.low for trial in trials], [trial.score.high for trial in trials] - score]
        drawn: dict[str, Any] = {
            "color": color,
            "marker": _MARKS[number % len(_MARKS)],
            "markersize": 4 * size,
            "capsize": 2,
        }
        beside = _beside(k, number - (len(found.methods) - 1) / 2, log)
        axes.errorbar(beside, score, yerr=spread, label=trials[0].title, linewidth=look.line, elinewidth=0.6, **drawn)
        best = found.smallest.get(method)
        if best is not None:
            axes.plot(
                beside[k.index(best)], score[k.index(best)], "o", mfc="none", mec=color, ms=11 * size, mew=look.line
            )
    label = "naming the largest class" if classes else "predicting the mean"
    dashed: dict[str, Any] = {"color": look.faint, "linewidth": look.line / 1.5, "linestyle": (0, (3, 3))}
    axes.axhline(found.baseline, label=label, **dashed)
    _scale(axes, max(trial.k for trial in found.trials), log)
    if not classes:  # r² has no lower bound
        axes.set_ylim(bottom=max(axes.get_ylim()[0], -0.5))
    axes.set_xlabel("components")
    axes.set_ylabel("accuracy on held-out rows" if classes else "r² on held-out rows")
    grid_lines(axes)
    add_labelled_legend(axes)
    ring = "; ring: loses nothing measurable" if found.learns else ", not measurably better than without columns"
    heading(axes, f"{found.learner}: {found.n_rows:,} rows, {found.folds} folds{ring}")
    return axes


def _beside(k: list[int], place: float, log: bool) -> Any:
    """Move the marks of a method a little, so that methods with equal scores can all be seen."""
    return np.array(k) * 1.025**place if log else np.array(k) + 0.05 * place


def _scale(axes: Axes, most: int, log: bool) -> None:
    """Label the numbers of components, on a logarithmic axis if there are many."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    if not log:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    axes.set_xscale("log", base=2)
    plain_numbers(axes.xaxis, FixedLocator([2.0**p for p in range(int(np.log2(most)) + 1)]))
    axes.xaxis.set_minor_locator(NullLocator())
