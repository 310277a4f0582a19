"""What `downstream` returns: scores of a learner on all columns and on components, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.formatting import count, format_share
from ..core.measure import Measure
from ..core.show import show

if TYPE_CHECKING:
    import polars as pl

_NAMED = 6  # most selected columns that the summary names
HALF = 0.5  # share of the discriminant direction beyond which its loss is named as the reason


@dataclass(frozen=True)
class Trial:
    """A learner on the components of a method, or on all columns (``method`` is "all columns", ``k`` their number).

    ``score`` is the mean over folds of the accuracy (classes) or r² (numbers) on held-out rows, ``loss`` what it is
    below that of all columns, paired over folds, both with 95 % intervals; ``folds`` the score of each fold.
    ``balanced`` is the mean accuracy over classes and ``classes`` that of each. ``variance`` is the share of the
    variance that principal components keep. ``seconds`` are medians over folds of reduction (fit and transform), fit
    and predict of the learner; ``peak_bytes`` is the largest memory that Python and NumPy allocated for them at once.
    ``columns`` are the selected columns of the method "columns": those selected in most folds.
    """

    method: str
    title: str
    k: int
    score: Measure
    loss: Measure
    folds: tuple[float, ...]
    balanced: float | None = None
    classes: Mapping[str, float] | None = None
    variance: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    peak_bytes: int = field(default=0, compare=False)
    columns: tuple[str, ...] | None = None

    def loses_nothing(self, tolerance: float = 0.0) -> bool:
        """Return whether the mean loss is at most one standard error above the tolerance."""
        return float(self.loss) <= tolerance + self.error

    @property
    def error(self) -> float:
        """The standard error of the loss."""
        from scipy.special import stdtrit

        return (self.loss.high - float(self.loss)) / float(stdtrit(len(self.folds) - 1, 0.975))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = {name: getattr(self, name) for name in ("method", "k", "balanced", "classes", "variance", "peak_bytes")}
        columns = None if self.columns is None else list(self.columns)
        more = {"folds": list(self.folds), "seconds": dict(self.seconds), "columns": columns}
        loss = {**self.loss.to_dict(), "error": self.error}
        return {**plain, "score": self.score.to_dict(), "loss": loss, **more}


@dataclass(frozen=True)
class Destroyed:
    """A case in which principal components keep the variance and lose the classes (or the numeric target).

    ``k`` components keep the share ``kept`` of the variance; the score falls from ``best`` to ``score``. ``discarded``
    is the share of the discriminant scores that lies outside of these components, ``variance`` the share of the
    variance that the discriminant directions hold, ``average`` that of an average direction.
    """

    k: int
    kept: float
    score: float
    best: float
    best_title: str
    baseline: float
    discarded: float
    variance: float
    average: float
    classes: bool = True

    @property
    def by_direction(self) -> bool:
        """Whether the reason is that the discriminant direction was discarded."""
        return self.discarded > HALF

    @property
    def sentence(self) -> str:
        """What happens, why, and what to do."""
        what = "the classes" if self.classes else "what predicts the target"
        name = "discriminant direction (LDA)" if self.classes else "direction of the regression"
        measure, always = ("accuracy", "naming the largest class") if self.classes else ("r²", "predicting the mean")
        score, best, chance = (_score(value, self.classes) for value in (self.score, self.best, self.baseline))
        text = (
            f"With {count(self.k, 'component')} PCA destroys {what}: {'it keeps' if self.k == 1 else 'they keep'} "
            f"{format_share(self.kept)} of the variance, but the {measure} is {score}, against {best} on "
            f"{self.best_title} ({always}: {chance})."
        )
        if not self.by_direction:
            outside = format_share(self.discarded)
            return f"{text} The {name} is not the reason: only {outside} of it lies outside of these components."
        remedy = "LDA axes" if self.classes else "PLS components"
        return (
            f"{text} The reason: the {name} holds {format_share(self.variance)} of the variance (an average direction: "
            f"{format_share(self.average)}), and {format_share(self.discarded)} of it lies outside of these "
            f"components. Use {remedy}, scale the columns, or keep more components."
        )


def _score(value: float, classes: bool) -> str:
    return format_share(value) if classes else f"{value:.3f}".replace("-", "−")


@dataclass(frozen=True)
class Downstream:
    """What a reduction does to a learner; see `downstream`.

    Attributes
    ----------
    everything : Trial
        The learner on all columns.
    trials : tuple of Trial
        The learner on components, by method and number of components.
    smallest : dict
        For each method the smallest tried number of components that loses nothing; None if none does. Empty if the
        learner on all columns is not measurably better than the baseline (``learns`` is false): nothing can be lost.
    destroyed : Destroyed or None
        Whether PCA keeps the variance and loses the classes.
    learner, task : str
        The learner in words; "classes" or "regression".
    baseline : float
        The score of naming the largest class always, or 0, the r² of predicting the mean.
    n_rows, n_columns, left_out, folds : int
        Rows and columns used, rows without a target, number of folds.
    skipped : dict
        Methods that failed, each with the reason.
    warnings : tuple of str
        Warnings of the fits; those that differ only in numbers once.
    mixed_columns : int or None
        If steps turned the columns into axes, as FAMD does, the number of columns before; ``n_columns`` counts the
        axes, and the method "columns" selects axes.
    """

    everything: Trial
    trials: tuple[Trial, ...]
    smallest: Mapping[str, int | None]
    destroyed: Destroyed | None
    learner: str
    task: str
    baseline: float
    n_rows: int
    n_columns: int
    folds: int
    tolerance: float = 0.0
    left_out: int = 0
    sampled_from: int | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    mixed_columns: int | None = None

    def of(self, method: str) -> list[Trial]:
        """Return the trials of a method, by number of components."""
        return sorted((trial for trial in self.trials if trial.method == method), key=lambda trial: trial.k)

    @property
    def methods(self) -> list[str]:
        """The names of the methods that were tried, in their order."""
        return list(dict.fromkeys(trial.method for trial in self.trials))

    @property
    def best(self) -> Trial:
        """The smallest reduction that loses nothing, of several the one with the best score; else all columns.

        If all columns are not better than the baseline, the reduction with the best score that is, if any.
        """
        if not self.learns:
            better = [trial for trial in self.trials if is_better(trial, self.baseline)]
            return max(better, key=lambda trial: trial.score.low, default=self.everything)
        found = [trial for trial in self.trials if trial.k == self.smallest.get(trial.method)]
        return min(found, key=lambda trial: (trial.k, -trial.score), default=self.everything)

    @property
    def learns(self) -> bool:
        """Whether the learner on all columns is measurably better than the baseline; if not, nothing can be lost."""
        return is_better(self.everything, self.baseline)

    def loses_nothing(self, trial: Trial) -> bool | None:
        """Return whether a trial loses nothing, the rule behind ``smallest``; None if nothing can be lost."""
        return trial.loses_nothing(self.tolerance) if self.learns else None

    @property
    def sentence(self) -> str:
        """A summary; it does not depend on the measured time and memory."""
        classes, score = self.task == "classes", self.everything.score
        what = "accuracy" if classes else "r²"
        low, high = (_score(value, classes) for value in (score.low, score.high))
        chance = f"always naming the largest class: {_score(self.baseline, classes)}" if classes else "the mean: 0"
        parts = [
            f"The {what} of {self.learner} on {self._all_columns()} is {_score(score, classes)} "
            f"(95 % interval {low} to {high}; {chance})."
        ]
        parts += [self._said(method) for method in self.methods] if self.learns else [self._nothing_learned()]
        if self.destroyed is not None:
            parts.append(self.destroyed.sentence)
        return " ".join(parts)

    def _nothing_learned(self) -> str:
        """Return why no number of components says anything, and the best reduction if the learner needs one."""
        classes, balance = self.task == "classes", self.everything.balanced
        text = "That is not measurably better, so there is nothing that a reduction could lose"
        if balance is not None:
            text += f" (balanced accuracy: {format_share(balance)})"
        best = self.best
        if best is self.everything:
            return f"{text}; try another learner or other columns."
        made = f"{self._counted(best)}{_names(best)}"
        return f"{text}. Better: {best.title}, {made}: {_score(best.score, classes)}."

    def _all_columns(self) -> str:
        every = self.n_columns if self.mixed_columns is None else self.mixed_columns
        text = "the only column" if every == 1 else f"all {count(every, 'column')}"
        return text if self.mixed_columns is None else f"{text} (coded as {_axes(self.n_columns)})"

    def _counted(self, trial: Trial) -> str:
        """Return how many components, or selected columns or axes, a trial has."""
        if trial.method != "columns":
            return count(trial.k, "component")
        return count(trial.k, "column") if self.mixed_columns is None else _axes(trial.k)

    def _said(self, method: str) -> str:
        """Return how many components of a method lose nothing, by the rule of `Trial.loses_nothing`."""
        trials, k, classes = self.of(method), self.smallest[method], self.task == "classes"
        selects = method == "columns"
        title = f"Selection of the {trials[0].title}" if selects else trials[0].title
        within = "" if not self.tolerance else f" plus {self.tolerance:g}"
        if k is None:
            near = min(trials, key=lambda trial: trial.loss)
            unit = "component" if not selects else "column" if self.mixed_columns is None else "axis"
            numbers = "numbers of axes" if unit == "axis" else f"numbers of {unit}s"
            return (
                f"{title}: all tried {numbers} lose more than a standard error{within}; the least, "
                f"with {self._counted(near)}, is {_difference(near.loss, near.error, classes)}."
            )
        best = next(trial for trial in trials if trial.k == k)
        start, s = f"{title}: {self._counted(best)}{_names(best)}", "s" if k == 1 else ""
        gained = float(best.loss) < 0
        size = _difference(-best.loss if gained else best.loss, best.error, classes)
        difference = f"{'gain' if gained else 'loss'} {size}"
        if self.destroyed is not None and method == "pca" and k <= self.destroyed.k:
            best_title = self.destroyed.best_title
            more = "" if best_title == self.everything.title else f", but worse than {best_title}"
            return f"{start} score{s} no worse than all columns ({difference}){more}."
        if float(best.loss) < -best.error:
            return f"{start} gain{s} {size}."
        most = f" more than {self.tolerance:g}" if self.tolerance else ""
        return f"{start} lose{s} nothing measurable{most} ({difference})."

    def to_frame(self) -> pl.DataFrame:
        """Return a data frame with a row for each trial, all columns first."""
        import polars as pl

        rows = [
            {
                "method": trial.method,
                "components": trial.k,
                "score": float(trial.score),
                "low": trial.score.low,
                "high": trial.score.high,
                "loss": float(trial.loss),
                "loss_low": trial.loss.low,
                "loss_high": trial.loss.high,
                "error": trial.error,
                "loses_nothing": self.loses_nothing(trial),
                "balanced": trial.balanced,
                "variance": trial.variance,
                **{f"seconds_{stage}": value for stage, value in trial.seconds.items()},
                "peak_bytes": trial.peak_bytes,
            }
            for trial in (self.everything, *self.trials)
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        names = ("learner", "task", "baseline", "n_rows", "n_columns", "folds", "tolerance", "left_out", "sampled_from")
        return {
            **{name: getattr(self, name) for name in names},
            "everything": self.everything.to_dict(),
            "trials": [{**trial.to_dict(), "loses_nothing": self.loses_nothing(trial)} for trial in self.trials],
            "smallest": dict(self.smallest),
            "destroyed": None
            if self.destroyed is None
            else {**vars(self.destroyed), "sentence": self.destroyed.sentence},
            "skipped": dict(self.skipped),
            "sentence": self.sentence,
        }

    def plot(self, **options: Any) -> Any:
        """Draw the score against the number of components; options as in `lowland.plots.downstream`."""
        return show("downstream", self, **options)

    def __str__(self) -> str:
        return self.sentence


def is_better(trial: Trial, baseline: float) -> bool:
    """Return whether a learner is measurably better than the baseline."""
    return trial.score.low > baseline


def _axes(n: int) -> str:
    return "1 axis" if n == 1 else f"{n:,} axes"


def _names(trial: Trial) -> str:
    """Return the names of a few selected columns in brackets."""
    return "" if trial.columns is None or trial.k > _NAMED else f" ({', '.join(trial.columns)})"


def _difference(loss: float, standard_error: float, classes: bool) -> str:
    """Return a loss or gain with its standard error: in points of percent, or of r²."""
    if not classes:
        return f"{_plain(loss)}, standard error {_plain(standard_error)}"
    value, error = (f"{100 * part:.1f}".replace("-0.0", "0.0").replace("-", "−") for part in (loss, standard_error))
    return f"{value} points, standard error {error}"


def _plain(value: float) -> str:
    return f"{value:.3f}".replace("-0.000", "0.000").replace("-", "−")
