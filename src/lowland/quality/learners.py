"""Learners that `downstream` knows by name, with nearest neighbours that vote as in `lowland.compare`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from ..core.message import Message, Owner, Setting
from .class_accuracy import voted

Array = Any

LEARNERS = ("neighbors", "linear", "forest")
_NEIGHBORS = 10  # as in `lowland.compare`


class _Nearest(BaseEstimator):  # type: ignore[misc]
    """The k nearest training rows of new rows."""

    def __init__(self, n_neighbors: int = _NEIGHBORS) -> None:
        self.n_neighbors = n_neighbors

    def _fit(self, X: Any, y: Any) -> Self:
        from ..graph.neighbors import searcher

        self._search, self._y = searcher("euclidean", X if sp.issparse(X) else np.asarray(X)), np.asarray(y)
        return self

    def _found(self, X: Any) -> Array:
        return self._search.query(X if sp.issparse(X) else np.asarray(X), min(self.n_neighbors, len(self._y)))[0]


class NeighborVote(ClassifierMixin, _Nearest):  # type: ignore[misc]
    """The class of most of the k nearest training rows; of equal numbers, that of the nearest row among them.

    >>> NeighborVote(3).fit([[0.0], [1.0], [5.0], [6.0], [7.0]], ["a", "a", "b", "b", "b"]).predict([[0.4]]).tolist()
    ['a']
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the training rows and their classes."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        return self._fit(X, codes)

    def predict(self, X: Any) -> Array:
        """Return the class of each row."""
        return self.classes_[voted(self._y[self._found(X)], len(self.classes_))]


class NeighborMean(RegressorMixin, _Nearest):  # type: ignore[misc]
    """The mean of the target over the k nearest training rows.

    >>> NeighborMean(2).fit([[0.0], [1.0], [9.0]], [1.0, 3.0, 50.0]).predict([[0.4]]).tolist()
    [2.0]
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the training rows and their values."""
        return self._fit(X, np.asarray(y, dtype=np.float64))

    def predict(self, X: Any) -> Array:
        """Return the mean of the neighbours' values for each row."""
        return self._y[self._found(X)].mean(axis=1)


def learner(estimator: Any, *, classes: bool, sparse: bool, random_state: int, numbers: bool = True) -> Any:
    """Return an unfitted learner: a copy of one, or the one of a name, with the seed where it has none.

    ``classes`` is whether the target is classes, ``numbers`` whether its values are numbers, which could be either.

    >>> learner("linear", classes=False, sparse=False, random_state=0).steps[-1][1]
    LinearRegression()
    """
    from sklearn.base import clone

    made = clone(estimator) if hasattr(estimator, "fit") else _named(estimator, classes, sparse)
    if not hasattr(made, "predict"):
        unable = f"{type(made).__name__} has no predict; give a classifier or a regressor"
        raise ValueError(Message(Owner("downstream"), unable))
    _check_kind(made, classes, numbers)
    seeds = [name for name, value in made.get_params().items() if name.endswith("random_state") and value is None]
    return made.set_params(**dict.fromkeys(seeds, random_state))


def _check_kind(made: Any, classes: bool, numbers: bool) -> None:
    """Raise ValueError if a regressor is to predict classes, or a classifier numbers; an unknown kind passes."""
    from sklearn.base import is_classifier, is_regressor

    if not hasattr(made, "__sklearn_tags__"):
        return
    name = type(made.steps[-1][1] if hasattr(made, "steps") else made).__name__
    if classes and is_regressor(made):
        other = ("; if it is a number to predict, use ", Setting("task", "regression")) if numbers else ()
        text = f"the target is classes, and {name} is a regressor; give a classifier"
        raise ValueError(Message(Owner("downstream"), text, *other))
    if not classes and is_classifier(made):
        text = (
            f"the target is numeric, and {name} is a classifier; give a regressor, or, if each value is a class, use "
        )
        raise ValueError(Message(Owner("downstream"), text, Setting("task", "classes")))


def _named(name: Any, classes: bool, sparse: bool) -> Any:
    if name in (None, "neighbors"):
        return NeighborVote() if classes else NeighborMean()
    if name == "linear":
        from sklearn.linear_model import LinearRegression, LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(
            StandardScaler(with_mean=not sparse), LogisticRegression(max_iter=1000) if classes else LinearRegression()
        )
    if name == "forest":
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        return RandomForestClassifier() if classes else RandomForestRegressor()
    listed = ", ".join(map(repr, LEARNERS))
    allowed = f" must be a scikit-learn estimator or one of {listed}; got {name!r}"
    raise ValueError(Message(Owner("downstream"), Setting("estimator"), allowed))


def learner_words(made: Any) -> str:
    """Return what a learner is called in a sentence."""
    if isinstance(made, _Nearest):
        return f"{made.n_neighbors} nearest neighbours"
    last = made.steps[-1][1] if hasattr(made, "steps") else made
    words = {"LogisticRegression": "logistic regression", "LinearRegression": "linear regression"}
    words |= {"RandomForestClassifier": "a random forest", "RandomForestRegressor": "a random forest"}
    return words.get(type(last).__name__, type(last).__name__)
