"""A number that says how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Z95 = 1.959963984540054  # of a normal value, 95 % lie within so many standard deviations


class Measure(float):
    """A measured value: a float that also carries its 95 % interval and whether all of the data went into it.

    Parameters
    ----------
    value : float
        The value; a `Measure` is this number in all arithmetic and comparisons.
    low, high : float, optional
        The interval that holds the true value in 95 of 100 cases; default: the value itself.
    exact : bool
        Whether the value was computed from all points. Then, if it describes these very points (such as the
        trustworthiness of a map), the interval is the value; if it estimates something behind them (such as their true
        dimension), the interval is that of the estimate.
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
        """Make a measure."""
        out = super().__new__(cls, value)
        out.low = float(value if low is None else low)
        out.high = float(value if high is None else high)
        if out.low > out or out.high < out:
            raise ValueError(f"the interval [{out.low:g}, {out.high:g}] does not hold the value {float(value):g}")
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
        """Tell whether the intervals of two measures meet, so that their order says nothing.

        >>> Measure(0.9, 0.8, 1.0).overlaps(Measure(0.7, 0.6, 0.85))
        True
        """
        low, high = (other.low, other.high) if isinstance(other, Measure) else (other, other)
        return self.low <= high and low <= self.high


def _restored(value: float, low: float, high: float, exact: bool, groups: Mapping[Any, Measure] | None) -> Measure:
    return Measure(value, low, high, exact=exact, groups=groups)
