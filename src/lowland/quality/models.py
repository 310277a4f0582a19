"""Quality of a model on held-out rows, compared with its training rows.

A Pipeline of scikit-learn can be measured against its input or against the input of its last step. The second ignores
the losses of the earlier steps. A recipe is measured in the space of its last preprocessing step: numbers that are
filled, encoded and scaled, before the first method.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.errors import DataError
from ..core.measure import Measure
from ..core.message import Message, Owner, Setting
from ..pairs.pairwise import tiles
from .anchors import labels
from .intervals import ratio
from .pair_values import pearson
from .pairs import PairTable
from .pairs_of_rows import correlation_over_rows
from .rank_measures import worst_ranks
from .ranks import RankTable, rank_table
from .reconstruction import len_of, numbers, plain_rows, row_errors
from .report import GIVEN
from .spaces import Metric, sides

Array = Any

PLACES = (None, "input", "last step")
_NEW, _OLD = "new", "training"


@dataclass(frozen=True)
class HeldOut:
    """Measures of held-out rows; see `held_out`.

    Attributes
    ----------
    n_new, n_training : int
        Number of new rows, and of training rows compared with them (0: new rows are compared with each other only).
    space : str
        The space that the map is compared with.
    measures : mapping of str to Measure
        Measures of the new rows; the interval is for a population of such rows, also if all were used (``exact``). The
        reconstruction error always uses all rows, so it may be exact if others are not.
    training : mapping of str to Measure
        The same for the training rows; the interval is due to sampling of these rows.
    n_seen : int
        Number of rows that equal a training row.
    """

    n_new: int
    n_training: int
    n_neighbors: int
    space: str
    measures: Mapping[str, Measure]
    training: Mapping[str, Measure] = field(default_factory=dict)
    n_seen: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "measures", MappingProxyType(dict(self.measures)))
        object.__setattr__(self, "training", MappingProxyType(dict(self.training)))

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy cannot be sent to a process by itself
        return HeldOut, tuple(dict(x) if isinstance(x, MappingProxyType) else x for x in vars(self).values())

    def __getitem__(self, name: str) -> Measure:
        """Return a measure of the new rows by its name."""
        if name not in self.measures:
            raise KeyError(f"{name!r}; there are {', '.join(self.measures)}")
        return self.measures[name]

    @property
    def sentence(self) -> str:
        """A summary: whether new rows are placed as well as training rows."""
        new = self.measures["trustworthiness"]
        text = f"{self._rows}: trustworthiness {new:.3f}"
        if not self.training:
            return f"{text}, among each other."
        old = self.training["trustworthiness"]
        verdict = "placed as well as" if new.high >= old else "placed worse than"
        return f"{text}, {verdict} the {self.n_training:,} training rows ({old:.3f})."

    @property
    def _rows(self) -> str:
        """The number of rows, and how many of them equal training rows."""
        if self.n_seen == 0:
            return f"{self.n_new:,} new rows"
        if self.n_seen == self.n_new:
            return f"{self.n_new:,} rows that all equal training rows, which is no test of new rows"
        return f"{self.n_new:,} rows, of which {self.n_seen:,} equal a training row"

    def __str__(self) -> str:
        width = max(len(name) for name in self.measures)
        rows = [("", "new rows", "training rows" if self.training else "")]
        rows += [(name, str(m), str(self.training.get(name, ""))) for name, m in self.measures.items()]
        wide = max(len(row[1]) for row in rows)
        lines = [f"{name:<{width}}  {new:<{wide}}  {old}".rstrip() for name, new, old in rows]
        return "\n".join([f"measured against {self.space}", *lines, self.sentence])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "n_new": self.n_new,
            "n_training": self.n_training,
            "n_seen": self.n_seen,
            "n_neighbors": self.n_neighbors,
            "space": self.space,
            "measures": {name: m.to_dict() for name, m in self.measures.items()},
            "training": {name: m.to_dict() for name, m in self.training.items()},
            "sentence": self.sentence,
        }


def held_out(
    model: Any,
    X_new: Any,
    X_train: Any = None,
    n_neighbors: int = 10,
    *,
    within: str | None = None,
    metric: Metric = "euclidean",
    anchors: int | str | None = "auto",
    pairs: int | str | None = "auto",
    random_state: int | None = None,
) -> HeldOut:
    """Measure how well a fitted model places held-out rows.

    The rows are placed by `transform`, and their neighbours among all rows, new and old, are compared with those in
    the data. Measures are means over the new rows, with an interval for a population of such rows.

    Parameters
    ----------
    model : Reducer, scikit-learn transformer or Pipeline
        A fitted model.
    X_new : array or sparse matrix
        Held-out rows.
    X_train : array or sparse matrix, optional
        The training rows; without them the new rows are compared with each other only.
    n_neighbors : int
        Number of neighbours in the local measures.
    within : {"input", "last step"} or None
        For a Pipeline: compare with its input, or with the input of its last step. None: for a recipe, the output of
        its last preprocessing step; else the input.
    metric, anchors, pairs, random_state
        As in `report`.

    Examples
    --------
    >>> import lowland
    >>> X, _ = lowland.data.swiss_roll(600, random_state=0)
    >>> model = lowland.Isomap(n_components=2, n_neighbors=8).fit(X[:500])
    >>> found = held_out(model, X[500:], X[:500])
    >>> found["trustworthiness"] > 0.9, "reconstruction_error" in found.measures
    (True, True)
    """
    owner = "held_out"
    need_transform(model, owner)
    if takes_pairs(model) or metric == "precomputed":
        raise DataError(
            Message(
                Owner("held_out"),
                "rows of distances to the training objects do not contain the distances among new rows; give "
                "coordinates and a metric, or use report with a distance matrix of all rows",
            )
        )
    head, last, space = cut_chain(model, within, owner)
    new = X_new if head is None else head.transform(X_new)
    old = X_train if head is None or X_train is None else head.transform(X_train)
    rows, m, seen = _coordinates(last, new, owner, "X_new"), 0, 0
    Y = as_array(last.transform(new))
    if old is not None:
        rows, m = _stacked(_coordinates(last, old, owner, "X_train"), rows), len_of(old)
        seen = _count_seen(rows, m)
        Y = np.concatenate([as_array(last.transform(old)), Y])
    names = [_OLD] * m + [_NEW] * (len(Y) - m)
    both = sides(rows, Y, metric, owner)
    table = rank_table(both, n_neighbors, anchors, random_state, names, owner=owner)
    found, beside = _of_rows(table, m)
    far = PairTable(both, pairs, random_state, labels(names, both.n) if m else None, owner)
    found["pearson"] = correlation_over_rows(far, np.arange(m, both.n))
    if m:
        beside["pearson"] = (far.of_sums(pearson, (-1.0, 1.0)).groups or {})[_OLD]
    restores = callable(getattr(last, "inverse_transform", None)) and getattr(last, "ridge_", True) is not None
    if restores and not getattr(last, "categorical_columns_", None):
        lost, spread, _ = row_errors(last, new, Y[m:])
        if spread.sum() > 0:
            found["reconstruction_error"] = ratio(lost, spread)
    return HeldOut(len(Y) - m, m, table.n_neighbors, space, found, beside, seen)


def _coordinates(model: Any, X: Any, owner: str, name: str) -> Any:
    """Return rows of finite numbers; for FAMD of categories its coded rows, whose distances are its own."""
    if getattr(model, "categorical_columns_", None):
        return model.coded(X)
    return numbers(model, X, owner, name)


def _of_rows(table: RankTable, m: int) -> tuple[dict[str, Measure], dict[str, Measure]]:
    """Return the means over new rows, with intervals for a population of rows, and the means over training rows."""
    most = worst_ranks(table.n, table.n_neighbors)
    values = {
        "trustworthiness": 1 - table.false_ranks / most,
        "continuity": 1 - table.missing_ranks / most,
        "neighborhood_overlap": table.shared,
    }
    is_new, exact = table.anchors.numbers >= m, table.anchors.exact
    ones = np.ones(int(is_new.sum()))
    found = {name: ratio(x[is_new], ones, (0.0, 1.0), exact=exact) for name, x in values.items()}
    beside = {}
    if m:
        means = {name: table.anchors.mean(x).groups or {} for name, x in values.items()}
        beside = {name: groups[_OLD] for name, groups in means.items()}
    return found, beside


def cut_chain(model: Any, within: str | None, owner: str) -> tuple[Any, Any, str]:
    """Return the first steps (or None), the rest of the model, and the name of the space between them."""
    if within not in PLACES:
        raise ValueError(Message(Owner(owner), Setting("within"), f" must be 'input' or 'last step'; it is {within!r}"))
    steps = getattr(model, "steps", None)
    if within is None:
        from ..methods.steps import Step, preprocessing

        head, rest = preprocessing(model) if steps and isinstance(steps[0][1], Step) else (None, model)
        if head is not None:
            return head, rest, f"the rows after {' → '.join(name for name, _ in head.steps)}"
        within = "input"
    names = "" if steps is None or len(steps) < 2 else " → ".join(str(name) for name, _ in steps[:-1])
    if within == "input":
        return None, model, f"{GIVEN}, before {names}" if names else GIVEN
    if not names:
        kind = type(model).__name__
        raise ValueError(
            Message(
                Owner(owner),
                Setting("within", within),
                f" requires a Pipeline of several steps; the model is a {kind}",
            )
        )
    return model[:-1], model[-1], f"the rows after {names}"


def need_transform(model: Any, owner: str) -> None:
    """Raise ValueError for a model without `transform`."""
    if not callable(getattr(model, "transform", None)):
        raise ValueError(
            Message(
                Owner(owner),
                f"{type(model).__name__} has no transform and cannot place new rows; use a method of Lowland",
            )
        )


def takes_pairs(model: Any) -> bool:
    """Return whether a model takes a matrix of pairwise values."""
    from sklearn.utils import get_tags

    return bool(get_tags(model).input_tags.pairwise)


def _stacked(old: Any, new: Any) -> Any:
    if old.shape[1] != new.shape[1]:
        raise DataError(
            Message(
                Owner("held_out"), f"X_new has {new.shape[1]} columns and X_train {old.shape[1]}; give the same columns"
            )
        )
    return sp.vstack([old, new]).tocsr() if sp.issparse(old) or sp.issparse(new) else np.concatenate([old, new])


def _count_seen(rows: Any, m: int) -> int:
    """Return how many of the rows after the first m equal one of the first m."""
    old = set(_digests(rows, 0, m))
    return sum(key in old for key in _digests(rows, m, rows.shape[0]))


def _digests(rows: Any, start: int, stop: int) -> Iterator[bytes]:
    """Yield a hash of 16 bytes for each row; equal rows have equal hashes."""
    for part in tiles(stop - start, 4096):
        few = rows[start + part.start : start + part.stop]
        if not sp.issparse(few):
            yield from (_digest(row.tobytes()) for row in few + 0.0)  # −0 is 0
            continue
        few.sum_duplicates()
        few.eliminate_zeros()
        for a, b in zip(few.indptr[:-1], few.indptr[1:], strict=True):
            yield _digest(few.indices[a:b].tobytes() + few.data[a:b].tobytes())


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def as_array(Y: Any) -> Array:
    """Return coordinates as float64."""
    return np.asarray(plain_rows(Y), dtype=np.float64)
