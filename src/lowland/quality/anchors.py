"""Anchors: the sampled points at which a measure is computed, and the estimate of its mean over all points.

The ranks of one point need its distances to all others, so for a large set they are computed for a sample of anchors,
each against all points: only anchors are sampled, not their neighbours. With groups, sampling is stratified by group,
so that rare groups are covered, and the total weights each group by its size (Cochran, Sampling Techniques, 1977,
chapters 2 and 5).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import DataError
from ..core.measure import Measure
from ..core.message import Message, Owner, Setting

Array = Any

ALL = 10_000  # up to this number of points, all are anchors
SAMPLED = 5_000  # number of anchors for more points
SCANNED_PAIRS = 20_000_000_000  # anchors × rows of a table that is read in blocks, above which there are fewer anchors
SCANNED_NUMBERS = 100_000_000  # anchors × columns of such a table, which are held
FEWEST_SCANNED = 500  # least number of its anchors
FEWEST = 30  # least number of anchors in a group (or all of its points); less if there are very many groups
MOST_GROUPS = 1_000
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Anchors:
    """The sampled points and their groups.

    ``numbers`` are ascending; ``strata`` is the group number of each anchor, ``sizes`` the number of points and
    ``names`` the label of each group. Points without a label form the last group, which has no name.
    """

    n: int
    numbers: Array
    strata: Array
    sizes: Array
    names: tuple[Any, ...] | None
    codes: Array | None  # the group of every point if there are groups; −1 for points without a label

    @property
    def exact(self) -> bool:
        """Whether all points are anchors."""
        return len(self.numbers) == self.n

    def mean(self, values: Array, low: float = 0.0, high: float = 1.0, *, grouped: bool = True) -> Measure:
        """Estimate the mean over all points of a value in [low, high] that is known for the anchors.

        Unless ``grouped`` is False, the result also has the mean of each group.

        The interval is Student's, from the variance within each group, with the finite population correction. It is
        never narrower than the rule of three: if m anchors show no deviating point, up to a share of 3/m of the other
        points may deviate (95 % confidence), by any amount within the range.
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
    """Return the stratified mean for strata of these sizes, from sampled values of each."""
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
    """Clip a mean to its range, which rounding may have exceeded."""
    return min(high, max(low, value))


def choose(
    n: int,
    anchors: int | str | None = "auto",
    random_state: int | None = None,
    groups: Sequence[Any] | Array | None = None,
    *,
    owner: str = "quality",
) -> Anchors:
    """Choose the anchors among n points: all of them, or a sample without replacement.

    Parameters
    ----------
    anchors : int, "auto" or None
        Number of anchors; None: all; "auto": all up to 10,000 points, otherwise 5,000.
    random_state : int, optional
        The seed of the sample; None is 0.
    groups : sequence, optional
        A label for each point, or the result of `labels`. Each group gets anchors in proportion to its size, but at
        least 30 (2 if there are very many groups) or all of its points.

    Examples
    --------
    >>> choose(5).numbers.tolist(), choose(20_000).numbers.shape
    ([0, 1, 2, 3, 4], (5000,))
    """
    count, seed = _count(n, anchors, owner), check_seed(random_state, owner)
    if groups is None and count < n:  # without an array of n strata, for tables that are read in blocks
        numbers = np.sort(np.random.default_rng(seed).choice(n, size=count, replace=False, shuffle=False))
        return Anchors(n, numbers, np.zeros(count, dtype=np.int64), np.array([n]), None, None)
    names, codes = None, None
    strata = np.zeros(n, dtype=np.int64)
    if groups is not None:
        names, codes = labels(groups, n, owner)
        strata = np.where(codes < 0, len(names), codes)
    sizes = np.bincount(strata)
    if count == n:
        return Anchors(n, np.arange(n), strata, sizes, names, codes)
    rng = np.random.default_rng(seed)
    shares = _shares(sizes, count)
    drawn = [
        rng.choice(np.flatnonzero(strata == g), size=take, replace=False, shuffle=False)
        for g, take in enumerate(shares)
    ]
    numbers = np.sort(np.concatenate(drawn))
    return Anchors(n, numbers, strata[numbers], sizes, names, codes)


def anchors_of_scan(anchors: int | str | None, n: int, width: int) -> int | str | None:
    """Return the number of anchors of a table that is read in blocks; "auto" is fewer for very many rows or columns.

    >>> [anchors_of_scan("auto", n, 10) for n in (3_000_000, 10_000_000, 100_000_000)]
    [5000, 2000, 500]
    """
    if anchors != "auto" or n <= ALL:
        return anchors
    return max(FEWEST_SCANNED, min(SAMPLED, SCANNED_PAIRS // n, SCANNED_NUMBERS // width))


def _shares(sizes: Array, count: int) -> Array:
    """Return the number of anchors in each group: in proportion to its size, but at least `FEWEST` if possible.

    The total is at most twice ``count``, apart from the 2 anchors per group that a variance needs.
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
    return Message(Owner(owner), Setting("anchors"), f"{allowed}{anchors!r}")


def check_seed(random_state: Any, owner: str = "quality") -> int:
    """Return the random seed of a measure: a whole number, so that the same call gives the same value; None is 0.

    >>> check_seed(None), check_seed(7)
    (0, 7)
    """
    if random_state is None:
        return 0
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        allowed = f" must be a whole number of at least 0, or None; it is {random_state!r}"
        raise ValueError(Message(Owner(owner), Setting("random_state"), allowed))
    return int(random_state)


class Labels(NamedTuple):
    """Group names in sorted order, and the group number of each point (−1 without a label)."""

    names: tuple[Any, ...]
    codes: Array

    def members(self, code: int) -> Array:
        """Return the numbers of a group's points."""
        return np.flatnonzero(self.codes == code)


def labels(groups: Any, n: int, owner: str = "quality", what: str = "groups") -> Labels:
    """Read group labels, one for each point; missing labels (None, NaN, NaT, NA) belong to no group.

    Errors call them ``what``.

    >>> labels(["b", "a", None, "b"], 4)
    Labels(names=('a', 'b'), codes=array([ 1,  0, -1,  1]))
    """
    if isinstance(groups, Labels):
        return groups
    given = _listed(groups, n, owner, what)
    seen: dict[Any, int] = {}
    codes = np.empty(n, dtype=np.int64)
    for i, label in enumerate(given):
        try:
            codes[i] = -1 if _missing(label) else seen.setdefault(label, len(seen))
        except (TypeError, ValueError):  # not hashable, or an array that cannot be compared with itself
            kind = f" is a {type(label).__name__}; a label is one value, such as a word or a number"
            raise DataError(Message(Owner(owner), f"the label of point {i} in ", Setting(what), kind)) from None
    if not seen:
        none = f"none of the {n} points has a label in "
        raise DataError(Message(Owner(owner), none, Setting(what), "; give some labels, or leave it out"))
    if len(seen) > MOST_GROUPS:
        many = f" has {len(seen)} different labels for {n} points, and at most {MOST_GROUPS} groups are supported; "
        raise DataError(Message(Owner(owner), Setting(what), many, "give classes, not the names of single points"))
    names = _ordered(seen, owner, what)
    place = np.empty(len(names) + 1, dtype=np.int64)
    place[[seen[name] for name in names]], place[-1] = np.arange(len(names)), -1
    return Labels(names, place[codes])


def _listed(groups: Any, n: int, owner: str, what: str) -> list[Any]:
    """Return the labels as a list of one for each point."""
    shape = getattr(groups, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        wrong = f" must contain one label for each point; its shape is {shape}, not ({n},)"
        raise DataError(Message(Owner(owner), Setting(what), wrong))
    if getattr(getattr(groups, "dtype", None), "kind", "") in ("M", "m"):
        given = list(groups)  # tolist() would turn nanosecond times into integers
    else:
        plain = next(
            (getattr(groups, name) for name in ("to_list", "to_pylist", "tolist") if hasattr(groups, name)), None
        )
        try:
            given = list(groups if plain is None else plain())
        except TypeError:
            wrong = f" must contain one label for each point; it is {groups!r}"
            raise DataError(Message(Owner(owner), Setting(what), wrong)) from None
    if len(given) != n:
        wrong = f" has {len(given)} labels for {n} points; give one for each point"
        raise DataError(Message(Owner(owner), Setting(what), wrong))
    return given


def _missing(label: Any) -> bool:
    if label is None:
        return True
    same = label == label  # NaN and NaT are not equal to themselves
    try:
        return not same
    except TypeError:  # pandas' NA has no truth value
        return True


def _ordered(names: Iterable[Any], owner: str, what: str) -> tuple[Any, ...]:
    """Return sorted names; raise `DataError` for different labels with the same text."""
    read: dict[str, Any] = {}
    for name in names:
        other = read.setdefault(str(name), name)
        if other is not name:
            same = f"the labels {other!r} and {name!r} in "
            raise DataError(Message(Owner(owner), same, Setting(what), " are written the same; rename one of them"))
    try:
        return tuple(sorted(read.values()))
    except TypeError:  # labels of different types cannot be compared
        return tuple(sorted(read.values(), key=lambda label: (type(label).__name__, str(label))))
