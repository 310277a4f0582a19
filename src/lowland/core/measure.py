"""`Measure`: a float with its confidence interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Z95 = 1.959963984540054  # 97.5 % quantile of the standard normal distribution


class Measure(float):
    """A float with its 95 % confidence interval, and whether it was computed from all of the data.

    Parameters
    ----------
    value : float
        The value; arithmetic and comparisons use it.
    low, high : float, optional
        The 95 % confidence interval; default: the value itself.
    exact : bool
        Whether the value was computed from all points. A statistic of these points (such as the trustworthiness of a
        map) then has no uncertainty and its interval is the value; an estimate of a property of their distribution
        (such as its dimension) keeps an interval.
    groups : mapping, optional
        The same measure for each group of points.

    Examples
    --------
    >>> m = Measure(0.974, 0.961, 0.987, exact=False)
    >>> m
    0.974 [0.961, 0.987]
    >>> m > 0.9, m.low, m.exact
    (True, 0.961, False)
    """

    low: float
    high: float
    exact: bool
    groups: Mapping[Any, Measure] | None

    def __new__(
        cls,
        value: float,
        low: float | None = None,
        high: float | None = None,
        *,
        exact: bool = True,
        groups: Mapping[Any, Measure] | None = None,
    ) -> Measure:
        """Create a measure."""
        out = super().__new__(cls, value)
        out.low = float(value if low is None else low)
        out.high = float(value if high is None else high)
        if out.low > out or out.high < out:
            raise ValueError(f"the interval [{out.low:g}, {out.high:g}] does not contain the value {float(value):g}")
        out.exact, out.groups = bool(exact), groups
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (float(self), self.low, self.high, self.exact, self.groups)

    def __repr__(self) -> str:
        if self.low == self == self.high:
            return f"{float(self):.4g}"
        return f"{float(self):.4g} [{self.low:.4g}, {self.high:.4g}]"

    __str__ = __repr__

    def to_dict(self) -> dict[str, Any]:
        """Return the value, its interval and whether it is exact as plain values.

        >>> Measure(1.0).to_dict()
        {'value': 1.0, 'low': 1.0, 'high': 1.0, 'exact': True}
        """
        plain: dict[str, Any] = {"value": float(self), "low": self.low, "high": self.high, "exact": self.exact}
        if self.groups is not None:
            plain["groups"] = {str(name): part.to_dict() for name, part in self.groups.items()}
        return plain

    def overlaps(self, other: float) -> bool:
        """Return whether the intervals of two measures overlap.

        >>> Measure(0.9, 0.8, 1.0).overlaps(Measure(0.7, 0.6, 0.85))
        True
        """
        low, high = (other.low, other.high) if isinstance(other, Measure) else (other, other)
        return self.low <= high and low <= self.high


def _restored(value: float, low: float, high: float, exact: bool, groups: Mapping[Any, Measure] | None) -> Measure:
    return Measure(value, low, high, exact=exact, groups=groups)
