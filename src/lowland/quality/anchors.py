"""Points that stand for all: which ones are looked at, and what their mean says about the mean of all.

Ranks cost a look at every other point, so a large set is judged by a sample of anchors, each against all points. Only
the anchors are drawn; no neighbour is missed. With groups each one is a stratum of its own, so that a rare one is
judged too, and the total weighs each by its size (Cochran, Sampling Techniques, 1977, chapters 2 and 5).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import DataError
from ..core.measure import Measure
from ..core.message import Message, Setting

Array = Any

ALL = 10_000  # points up to which all are anchors
SAMPLED = 5_000  # anchors of more points than that
FEWEST = 30  # anchors of a group, or all of its points; fewer where the groups are so many that few are left to each
MOST_GROUPS = 1_000  # groups that can be told apart
LEVEL = 0.95
_GROUPS = Setting("groups")


@dataclass(frozen=True, eq=False)
class Anchors:
    """The points that are looked at, and the groups they stand for.

    ``numbers`` are in ascending order; ``strata`` holds the group of each anchor as a number, ``sizes`` the points of
    each group and ``names`` its label. Points without a label are a group too, the last one, which has no name.
    """

    n: int
    numbers: Array
    strata: Array
    sizes: Array
    names: tuple[Any, ...] | None
    codes: Array | None  # the group of every point, where groups were given; −1 without a label

    @property
    def exact(self) -> bool:
        """Whether all points are anchors."""
        return len(self.numbers) == self.n

    def mean(self, values: Array, low: float = 0.0, high: float = 1.0, *, grouped: bool = True) -> Measure:
        """Return the mean over all points of a value that lies in [low, high] and is known for the anchors.

        Unless ``grouped`` is False the result has the mean of each group, too.

        The interval is Student's, from the spread of the anchors within each group and with the correction for a finite
        set. It is never narrower than the rule of three: where m anchors show no stray point, up to a share of 3/m of
        the others may still be some (with 95 % certainty no more), and these may have any value in the range.
        """
        values = np.asarray(values, dtype=np.float64)
        parts = [values[self.strata == g] for g in range(len(self.sizes))]
        groups = None
        if grouped and self.names is not None:
            groups = {
                name: _estimate([part], self.sizes[g : g + 1], low, high)
                for g, (name, part) in enumerate(zip(self.names, parts, strict=False))
            }
        if self.exact:
            return Measure(_inside(math.fsum(values) / self.n, low, high), groups=groups)
        total = _estimate(parts, self.sizes, low, high)
        return Measure(float(total), total.low, total.high, exact=False, groups=groups)


def _estimate(parts: list[Array], sizes: Array, low: float, high: float) -> Measure:
    """Return the mean of strata of these sizes, of each of which some values are known."""
    n = int(sizes.sum())
    weights = [size / n for size in sizes]
    value = _inside(math.fsum(w * math.fsum(v) / len(v) for w, v in zip(weights, parts, strict=True)), low, high)
    m = sum(len(v) for v in parts)
    if m == n:
        return Measure(value)
    spread, freedom = [], []
    for w, v, size in zip(weights, parts, sizes, strict=True):
        if len(v) < size:
            spread.append(w * w * float(np.var(v, ddof=1)) * (1 - len(v) / size) / len(v))
            freedom.append(len(v) - 1)
    variance = math.fsum(spread)
    half = 0.0
    if variance > 0:
        from scipy.special import stdtrit

        # Satterthwaite's degrees of freedom of a sum of variances
        degrees = variance**2 / math.fsum(s * s / f for s, f in zip(spread, freedom, strict=True))
        half = float(stdtrit(degrees, 0.5 + LEVEL / 2)) * math.sqrt(variance)
    missed = 3 / m * (1 - m / n)
    below, above = max(half, missed * (value - low)), max(half, missed * (high - value))
    return Measure(value, max(low, value - below), min(high, value + above), exact=False)


def _inside(value: float, low: float, high: float) -> float:
    """Return a mean that rounding may have put just outside its range."""
    return min(high, max(low, value))


def choose(
    n: int,
    anchors: int | str | None = "auto",
    random_state: int | None = None,
    groups: Sequence[Any] | Array | None = None,
    *,
    owner: str = "quality",
) -> Anchors:
    """Choose the anchors among n points: all of them, or a sample without repetition.

    Parameters
    ----------
    anchors : int, "auto" or None
        How many; None for all; "auto" for all up to 10,000 points and 5,000 of more than that.
    random_state : int, optional
        The seed of the sample; None is 0.
    groups : sequence, optional
        A label for each point, or what `labels` made of them. Each group gets its share of the anchors, but at least 30
        (2 of very many groups) or all of its points.

    Examples
    --------
    >>> choose(5).numbers.tolist(), choose(20_000).numbers.shape
    ([0, 1, 2, 3, 4], (5000,))
    """
    count, seed = _count(n, anchors, owner), check_seed(random_state, owner)
    names, codes = None, None
    strata = np.zeros(n, dtype=np.int64)
    if groups is not None:
        names, codes = labels(groups, n, owner)
        strata = np.where(codes < 0, len(names), codes)
    sizes = np.bincount(strata)
    if count == n:
        return Anchors(n, np.arange(n), strata, sizes, names, codes)
    rng = np.random.default_rng(seed)
    shares = np.ones(1, dtype=np.int64) * count if groups is None else _shares(sizes, count)
    drawn = [
        rng.choice(np.flatnonzero(strata == g), size=take, replace=False, shuffle=False)
        for g, take in enumerate(shares)
    ]
    numbers = np.sort(np.concatenate(drawn))
    return Anchors(n, numbers, strata[numbers], sizes, names, codes)


def _shares(sizes: Array, count: int) -> Array:
    """Return how many of each group are anchors: its share of all, but no fewer than `FEWEST` or those left to each.

    So groups make at most twice as many anchors of them, but for the two that a spread needs.
    """
    fewest = min(FEWEST, max(2, count // len(sizes)))
    return np.minimum(sizes, np.maximum(fewest, np.ceil(sizes * (count / sizes.sum())).astype(np.int64)))


def _count(n: int, anchors: Any, owner: str) -> int:
    if anchors is None:
        return n
    if isinstance(anchors, str):
        if anchors != "auto":
            raise ValueError(_wrong_anchors(owner, anchors))
        return n if n <= ALL else SAMPLED
    if isinstance(anchors, bool) or not isinstance(anchors, int | np.integer) or anchors < 2:
        raise ValueError(_wrong_anchors(owner, anchors))
    return min(n, int(anchors))


def _wrong_anchors(owner: str, anchors: Any) -> Message:
    allowed = " must be a whole number of at least 2, None (all points) or 'auto'; it is "
    return Message(f"{owner}: ", Setting("anchors"), f"{allowed}{anchors!r}")


def check_seed(random_state: Any, owner: str = "quality") -> int:
    """Return the seed of a measure's draws: a whole number, so that the same call gives the same value; None is 0.

    >>> check_seed(None), check_seed(7)
    (0, 7)
    """
    if random_state is None:
        return 0
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        allowed = f" must be a whole number of at least 0, or None; it is {random_state!r}"
        raise ValueError(Message(f"{owner}: ", Setting("random_state"), allowed))
    return int(random_state)


class Labels(NamedTuple):
    """The groups of points: the names in order, and for each point the number of its group, −1 for none."""

    names: tuple[Any, ...]
    codes: Array

    def members(self, code: int) -> Array:
        """Return the numbers of a group's points."""
        return np.flatnonzero(self.codes == code)


def labels(groups: Any, n: int, owner: str = "quality") -> Labels:
    """Read groups: one label a point; a point whose label is missing (None, NaN, NaT, NA) is in no group.

    >>> labels(["b", "a", None, "b"], 4)
    Labels(names=('a', 'b'), codes=array([ 1,  0, -1,  1]))
    """
    if isinstance(groups, Labels):
        return groups
    given = _listed(groups, n, owner)
    seen: dict[Any, int] = {}
    codes = np.empty(n, dtype=np.int64)
    for i, label in enumerate(given):
        try:
            codes[i] = -1 if _missing(label) else seen.setdefault(label, len(seen))
        except (TypeError, ValueError):  # not hashable, or an array that cannot be compared with itself
            kind = f" is a {type(label).__name__}; a label is one value, such as a word or a number"
            raise DataError(Message(f"{owner}: the label of point {i} in ", _GROUPS, kind)) from None
    if not seen:
        none = f"{owner}: none of the {n} points has a label in "
        raise DataError(Message(none, _GROUPS, "; give some labels, or leave it out"))
    if len(seen) > MOST_GROUPS:
        many = f" has {len(seen)} different labels for {n} points, and at most {MOST_GROUPS} groups are supported; "
        raise DataError(Message(f"{owner}: ", _GROUPS, many, "give classes, not the names of single points"))
    names = _ordered(seen, owner)
    place = np.empty(len(names) + 1, dtype=np.int64)
    place[[seen[name] for name in names]], place[-1] = np.arange(len(names)), -1
    return Labels(names, place[codes])


def _listed(groups: Any, n: int, owner: str) -> list[Any]:
    """Return the labels as a list of one for each point."""
    shape = getattr(groups, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        wrong = f" must contain one label for each point; its shape is {shape}, not ({n},)"
        raise DataError(Message(f"{owner}: ", _GROUPS, wrong))
    if getattr(getattr(groups, "dtype", None), "kind", "") in ("M", "m"):
        given = list(groups)  # as a plain list, times of nanoseconds would be numbers
    else:
        plain = next(
            (getattr(groups, name) for name in ("to_list", "to_pylist", "tolist") if hasattr(groups, name)), None
        )
        try:
            given = list(groups if plain is None else plain())
        except TypeError:
            wrong = f" must contain one label for each point; it is {groups!r}"
            raise DataError(Message(f"{owner}: ", _GROUPS, wrong)) from None
    if len(given) != n:
        wrong = f" has {len(given)} labels for {n} points; give one for each point"
        raise DataError(Message(f"{owner}: ", _GROUPS, wrong))
    return given


def _missing(label: Any) -> bool:
    if label is None:
        return True
    same = label == label  # NaN and NaT are not equal to themselves
    try:
        return not same
    except TypeError:  # pandas' NA: whether it is equal to itself is missing, too
        return True


def _ordered(names: Iterable[Any], owner: str) -> tuple[Any, ...]:
    """Return names in order; refuse those that read the same, as a table and a file could not tell them apart."""
    read: dict[str, Any] = {}
    for name in names:
        other = read.setdefault(str(name), name)
        if other is not name:
            same = f"{owner}: the labels {other!r} and {name!r} in "
            raise DataError(Message(same, _GROUPS, " are written the same; rename one of them"))
    try:
        return tuple(sorted(read.values()))
    except TypeError:  # labels of several kinds have no order of their own
        return tuple(sorted(read.values(), key=lambda label: (type(label).__name__, str(label))))
