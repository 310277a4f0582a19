"""A learner on all columns and on the components of several methods: scores, time and memory, by cross-validation."""

from __future__ import annotations

import re
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..contract.reducer import Reducer
from ..core import thread_pool
from ..core.errors import LowlandError, RankWarning
from ..core.measure import Measure
from ..core.message import Message, message_of
from ..core.settings import report_progress
from .class_accuracy import balanced, by_class
from .downstream_data import Supervised, check_tolerance, supervised
from .downstream_methods import Before, component_grid, reductions
from .downstream_result import Destroyed, Downstream, Trial, is_better
from .learners import learner, learner_words

Array = Any
Key = tuple[str, int]

EVERYTHING = "all columns"
_ENOUGH = 0.9  # share of the variance that one expects to be enough
_TRACED = 1  # fold in which memory is measured: the first one also loads modules
_STAGES = ("reduce", "fit", "predict")


def downstream(
    X: Any,
    y: Any,
    estimator: Any = None,
    *,
    methods: Any = None,
    components: int | Sequence[int] | None = None,
    steps: Any = None,
    task: str = "auto",
    folds: int = 10,
    tolerance: float = 0.0,
    sample: int | None = None,
    random_state: int | None = None,
) -> Downstream:
    """Measure what a reduction before a learner costs and saves: accuracy, time and memory.

    The learner is fitted on all columns and on k components of each method, in every fold of a cross-validation; steps
    and reductions are fitted inside of the folds, on their training rows. k *loses nothing* if the mean loss against
    all columns, paired over folds, is at most one standard error (the rule of Breiman et al. 1984). Variances of means
    over folds are corrected for their shared training rows: s² (1/F + 1/(F − 1)) for F folds (Nadeau & Bengio 2003).

    PCA keeps the directions of largest variance, which need not separate classes. If components with 90 % of the
    variance lose most of the score, the result says so, and measures how much of the discriminant direction they
    discard.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        Rows; with ``steps`` any table that these take.
    y : sequence, or name of a column of X
        Classes (text, booleans, or whole numbers of at most 20 different values) or a numeric target, which is
        predicted by regression and scored by r². Rows without a value are left out.
    estimator : scikit-learn estimator, "neighbors", "linear" or "forest"
        The learner, a classifier or a regressor as the target is. Default: the 10 nearest neighbours, which vote as in
        `lowland.compare`.
    methods : list of names or transformers, or dict from names to transformers
        Methods of Lowland, "lda" (discriminant axes), "pls", "columns" (those with the largest F statistic), or any
        transformer with ``n_components``. Default: PCA, LDA (PLS for a numeric target), columns, random projection.
    components : int or list of int, optional
        Numbers of components. Default: up to 64, and those with 90 % of the variance; the smallest that loses nothing
        is then searched between the two nearest.
    steps : transformer or Pipeline, optional
        Steps before everything, such as a recipe without a method; fitted in each fold.
    task : {"auto", "classes", "regression"}
        What the target is.
    folds, sample, random_state : int
        Number of folds; the largest number of rows, drawn at random (default: all); the seed, None is 0. Apart from
        time and memory, the same seed gives the same result.
    tolerance : float
        A loss that counts as nothing, from 0 to 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> found = downstream(*load_iris(return_X_y=True), methods=["pca"])
    >>> round(found.everything.score, 2), found.smallest
    (0.95, {'pca': 2})

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, Classification and Regression Trees (1984), section 3.4.
    C. Nadeau, Y. Bengio, Inference for the generalization error, Machine Learning 52 (2003).
    """
    check_tolerance(tolerance)
    seed = 0 if random_state is None else int(random_state)
    data = supervised(X, y, steps, task, folds, sample, seed)
    made = learner(
        estimator, classes=data.target is not None, sparse=data.sparse, random_state=seed, numbers=data.is_numeric
    )
    befores = reductions(methods, classes=data.n_classes, random_state=seed)
    with thread_pool.one_blas_thread():  # sums of other packages do not depend on the number of threads either
        return _measured(data, made, befores, components, tolerance)


@dataclass
class _Run:
    """What was measured of one number of components of a method, in each fold."""

    before: Before | None
    k: int
    scores: list[float] = field(default_factory=list)
    seconds: list[tuple[float, ...]] = field(default_factory=list)
    peak: int = 0
    guess: Array = None
    variance: list[float] = field(default_factory=list)
    chosen: Counter[int] = field(default_factory=Counter)


@dataclass
class _Bench:
    """Runs the trials of all folds; ``told`` are warnings, once if only numbers differ; ``skipped`` failed methods."""

    data: Supervised
    learner: Any
    runs: dict[Key, _Run] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def run(self, trials: Sequence[tuple[Before | None, int]]) -> None:
        """Run some trials in every fold; those of a method that fails are dropped, with the reason."""
        done, total = 0, len(trials) * self.data.folds
        for number in range(self.data.folds):
            with self._warnings_kept():
                train, test = self.data.prepared(number)
            for before, k in trials:
                name = EVERYTHING if before is None else before.name
                if name not in self.skipped:
                    self._one(before, k, number, train, test)
                done += 1
                report_progress("trials", done, total)
        for key in [key for key in self.runs if key[0] in self.skipped]:
            del self.runs[key]

    def _one(self, before: Before | None, k: int, number: int, train: Array, test: Array) -> None:
        key = (EVERYTHING if before is None else before.name, k)
        run = self.runs.setdefault(key, _Run(before, k, guess=np.full(self.data.n, np.nan)))
        try:
            with self._warnings_kept(), _memory(number == _TRACED) as peak:
                guess, seconds = self._learn(run, before, k, number, train, test)
        except (LowlandError, ValueError, ArithmeticError) as error:
            if before is None:
                raise
            self.skipped[before.name] = Message(f"{k} components: ", message_of(error))
            return
        here = self.data.fold == number
        run.guess[here] = guess
        run.scores.append(self.data.score(guess, here))
        run.peak = max(run.peak, *peak) if peak else run.peak
        if number != _TRACED:  # this fold is slowed down by the measurement of memory
            run.seconds.append(seconds)

    def _learn(
        self, run: _Run, before: Before | None, k: int, number: int, train: Array, test: Array
    ) -> tuple[Array, tuple[float, ...]]:
        """Reduce, fit and predict; return the predictions and the seconds of each stage."""
        from sklearn.base import clone

        codes, labels = self.data.training(number)
        marks = [time.perf_counter()]
        if before is not None:
            reducer = before.build(k)
            if isinstance(reducer, Reducer):
                train, test = self.data.named(train), self.data.named(test)
            reducer = reducer.fit(train, codes) if before.supervised else reducer.fit(train)
            train, test = reducer.transform(train), reducer.transform(test)
            if before.name == "columns":
                run.chosen.update(reducer.places_.tolist())
            if before.name == "pca":
                run.variance.append(float(np.sum(reducer.explained_variance_ratio_)))
        marks.append(time.perf_counter())
        fitted = clone(self.learner).fit(train, labels)
        marks.append(time.perf_counter())
        guess = self.data.codes_of(np.asarray(fitted.predict(test)))
        marks.append(time.perf_counter())
        return guess, tuple(np.diff(marks).tolist())

    @contextmanager
    def _warnings_kept(self) -> Iterator[None]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", RankWarning)  # the numbers of components are ours
            yield
        for text in (_text(one.message) for one in caught):
            self.told.setdefault(re.sub(r"\d[\d.]*", "0", text), text)

    def trial(self, key: Key) -> Trial:
        """Return what was measured, with intervals."""
        run, data = self.runs[key], self.data
        whole = self.runs[EVERYTHING, data.n_columns]
        losses = np.array(whole.scores) - np.array(run.scores)
        target = data.target
        classes = None if target is None else by_class(run.guess.astype(int), target)
        return Trial(
            key[0],
            self._title(run),
            run.k,
            _over_folds(run.scores, (0.0, 1.0) if target is not None else (-np.inf, 1.0), data.n if target else None),
            _over_folds(losses, (-np.inf, np.inf)),
            tuple(run.scores),
            None if classes is None else balanced(classes),
            classes,
            float(np.mean(run.variance)) if run.variance else None,
            dict(zip(_STAGES, np.median(run.seconds, axis=0).tolist(), strict=True)),
            run.peak,
            self._columns(run),
        )

    def _title(self, run: _Run) -> str:
        """Return the title of a method; columns that steps made as axes are not columns of the table."""
        if run.before is None:
            return EVERYTHING
        selects = run.before.name == "columns" and self.data.mixed is not None
        return "best axes" if selects else run.before.title

    def _columns(self, run: _Run) -> tuple[str, ...] | None:
        """Return the k columns that were selected in most folds, in their order."""
        if not run.chosen:
            return None
        places = sorted(sorted(run.chosen, key=lambda place: (-run.chosen[place], place))[: run.k])
        names = self.data.names
        return tuple(f"column {place}" if names is None else names[place] for place in places)


def _text(warning: Any) -> str:
    """Return the text of a warning: a message of ours, which commands word themselves, or the first line."""
    given = warning.args[0] if warning.args else ""
    return given if isinstance(given, Message) else str(warning).partition("\n")[0]


@contextmanager
def _memory(wanted: bool) -> Iterator[list[int]]:
    """Measure the largest memory that Python and NumPy allocate in a block."""
    found: list[int] = []
    if not wanted:
        yield found
        return
    traced = tracemalloc.is_tracing()
    if not traced:
        tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        yield found
        found.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        if not traced:
            tracemalloc.stop()


def _over_folds(values: Any, span: tuple[float, float], rows: int | None = None) -> Measure:
    """Return a mean over folds with its corrected interval; of ``rows`` without an error others may have 3/rows."""
    from scipy.special import stdtrit

    values = np.asarray(values, dtype=np.float64)
    mean, F = float(values.mean()), len(values)
    half = float(stdtrit(F - 1, 0.975) * values.std(ddof=1) * np.sqrt(1 / F + 1 / (F - 1)))
    below, above = half, half
    if rows is not None:  # rule of three, as in `lowland.compare`
        below, above = max(half, 3 / rows * mean), max(half, 3 / rows * (1 - mean))
    low, high = max(span[0], mean - below), min(span[1], mean + above)
    return Measure(mean, min(low, mean), max(high, mean), exact=False)


def _measured(data: Supervised, made: Any, befores: list[Before], components: Any, tolerance: float) -> Downstream:
    bench = _Bench(data, made)
    with bench._warnings_kept():
        shares = data.variance_shares()
        most = data.most_components()
    counts = component_grid(components, most, shares)
    trials: list[tuple[Before | None, int]] = [(None, data.n_columns)]
    trials += [(before, k) for before in befores for k in before.counts(counts, most)]
    bench.run(trials)
    if components is None:
        _search_between(bench, befores, tolerance)
    keys = sorted(bench.runs, key=lambda key: ([EVERYTHING, *(b.name for b in befores)].index(key[0]), key[1]))
    everything, *others = (bench.trial(key) for key in keys)
    smallest = {
        before.name: _smallest([trial for trial in others if trial.method == before.name], tolerance)
        for before in befores
        if before.name not in bench.skipped and is_better(everything, data.baseline)
    }
    with bench._warnings_kept():
        destroyed = _destroyed(data, everything, others, shares)
    return Downstream(
        everything,
        tuple(others),
        smallest,
        destroyed,
        learner_words(made),
        "regression" if data.target is None else "classes",
        data.baseline,
        data.n,
        data.n_columns,
        data.folds,
        tolerance,
        data.left_out,
        data.sampled_from,
        bench.skipped,
        tuple(bench.told.values()),
        data.mixed,
    )


def _smallest(trials: list[Trial], tolerance: float) -> int | None:
    return min((trial.k for trial in trials if trial.loses_nothing(tolerance)), default=None)


def _search_between(bench: _Bench, befores: list[Before], tolerance: float) -> None:
    """Bisect between the smallest number that loses nothing and the next smaller one that was tried."""
    while True:
        trials: list[tuple[Before | None, int]] = []
        for before in befores:
            tried = [bench.trial(key) for key in bench.runs if key[0] == before.name]
            found = _smallest(tried, tolerance)
            below = max((trial.k for trial in tried if found is not None and trial.k < found), default=0)
            if found is not None and found - below > 1:
                trials.append((before, (found + below) // 2))
        if not trials:
            return
        bench.run(trials)


def _destroyed(data: Supervised, everything: Trial, trials: list[Trial], shares: Array | None) -> Destroyed | None:
    """Return whether principal components with 90 % of the variance lose more than half of what can be known."""
    if shares is None:
        return None
    from .discriminant import DiscriminantAxes

    others = [trial for trial in trials if trial.method in ("lda", "pls")]
    best = max([everything, *others], key=lambda trial: trial.score)
    for trial in sorted((trial for trial in trials if trial.method == "pca"), key=lambda trial: trial.k):
        if (trial.variance or 0.0) < _ENOUGH * (1 - 1e-9) or trial.k >= len(shares):
            continue
        lost = _over_folds(np.array(best.folds) - np.array(trial.folds), (-np.inf, np.inf))
        if lost.low <= 0 or best.score - trial.score <= 0.5 * (best.score - data.baseline):
            return None
        axes = [
            DiscriminantAxes(max(1, (data.n_classes or 2) - 1)).fit(data.prepared(number)[0], data.training(number)[0])
            for number in range(data.folds)
        ]
        return Destroyed(
            trial.k,
            float(trial.variance or 0.0),
            float(trial.score),
            float(best.score),
            EVERYTHING if best is everything else f"{best.k} {best.title} {'axis' if best.k == 1 else 'axes'}",
            data.baseline,
            float(np.mean([one.discarded(trial.k) for one in axes])),
            float(np.mean([one.variance() for one in axes])),
            float(np.mean([1 / len(one.variances_) for one in axes])),
            data.target is not None,
        )
    return None
