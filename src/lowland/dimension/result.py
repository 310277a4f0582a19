"""What `lowland.dimension.estimate` answers with: a table and a sentence, as text, frame, plain values or picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.measure import Measure
from ..core.show import show
from ..spectral.variances import Variances
from .angles import Plateau, ScaleCurve

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

HEADINGS = ("", "rule", "dimensions", "95 % interval")
_LABELS = {("linear", "consensus"): "consensus (median)", ("nonlinear", "consensus"): "consensus (plateau)"}
_RANGE = "range of rules"  # what the interval of the linear consensus is; all others hold the truth in 95 of 100 cases


@dataclass(frozen=True, eq=False)
class Estimate:
    """What `estimate` found; prints as a table.

    Attributes
    ----------
    linear, nonlinear : mapping of name to Measure
        Each rule's own count. ``nonlinear["directions"]`` is the plateau over scales, the others are raw.
    consensus : mapping
        ``"linear"`` (where there are rows): the median of the rules, with the range of their votes but for the lowest
        and the highest as its interval; ``"nonlinear"``: the plateau of the directions over scales. It is no vote: the
        rules by distance look at the finest scale only and read noise as dimensions.
    sentence : str
        What it comes to.
    warnings : tuple of str
        What stands in the way of believing it.
    skipped : mapping of name to reason
        Rules that could not be used.
    scales : ScaleCurve
        The dimension at each scale: ``neighbors``, ``radius``, ``value``, ``distances``, …
    plateau : Plateau
        The range of scales that counts.
    spectrum : Variances or None
        Eigenvalues of the covariance; of unit rows for ``cosine`` and ``correlation``.
    n_rows : int
        Rows given, equal ones included.
    closed : bool
        Whether the shape is seen to be closed, like a ring or a sphere: a map takes one coordinate more than it has
        dimensions. False also where that cannot be told.
    coordinates : int
        How many coordinates a map needs: the true dimensions, one more for a closed shape, and all linear ones where it
        is not sure that the data curve.
    """

    linear: Mapping[str, Measure]
    nonlinear: Mapping[str, Measure]
    consensus: Mapping[str, Measure]
    sentence: str
    warnings: tuple[str, ...]
    skipped: Mapping[str, str]
    scales: ScaleCurve
    plateau: Plateau
    spectrum: Variances | None
    n_rows: int
    closed: bool = False
    coordinates: int = 1

    def rows(self) -> list[tuple[str, str, Measure]]:
        """Return (kind, name, measure) of all rules, each kind's consensus last."""
        found = []
        for kind, part in (("linear", self.linear), ("nonlinear", self.nonlinear)):
            found += [(kind, name, value) for name, value in part.items()]
            if kind in self.consensus:
                found.append((kind, "consensus", self.consensus[kind]))
        return found

    def cells(self) -> list[tuple[str, str, str, str]]:
        """Return the table as it is shown, under `HEADINGS`."""
        shown, before = [], ""
        for kind, name, value in self.rows():
            between = "" if value.low == value == value.high else f"{value.low:.4g} to {value.high:.4g}"
            if between and _interval(kind, name) == _RANGE:
                between += f" ({_RANGE})"
            label = _LABELS.get((kind, name), name)
            shown.append(("" if kind == before else kind, label, f"{float(value):.4g}", between))
            before = kind
        return shown

    def __str__(self) -> str:
        lines = [f"{a:10} {b:22} {c:>10}  {d}".rstrip() for a, b, c, d in (HEADINGS, *self.cells())]
        return "\n".join([*lines, self.sentence, *(f"Note: {text}" for text in self.warnings)])

    def to_frame(self) -> pl.DataFrame:
        """Return the table: kind, rule, value, low, high, interval (what low and high are), exact."""
        import polars as pl

        return pl.DataFrame(
            [
                {
                    "kind": kind,
                    "rule": name,
                    "value": float(value),
                    "low": value.low,
                    "high": value.high,
                    "interval": _interval(kind, name),
                    "exact": value.exact,
                }
                for kind, name, value in self.rows()
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values; None where distances at a scale tell nothing."""
        plain = {
            kind: {name: value.to_dict() for name, value in part.items()}
            for kind, part in (("linear", self.linear), ("nonlinear", self.nonlinear), ("consensus", self.consensus))
        }
        for kind, value in plain["consensus"].items():
            value["interval"] = _interval(kind, "consensus")
        shown = ("neighbors", "radius", "value", "inner", "outer", "distances", "noisy")
        return {
            "n_rows": self.n_rows,
            **plain,
            "closed": self.closed,
            "coordinates": self.coordinates,
            "sentence": self.sentence,
            "warnings": list(self.warnings),
            "skipped": dict(self.skipped),
            "scales": {name: _plain(getattr(self.scales, name)) for name in shown},
            "plateau": {name: getattr(self.plateau, name) for name in ("first", "last", "level", "rising")},
        }

    def figure(self) -> Figure:
        """Draw the dimension against the scale, and the spectrum with the counts that it gives."""
        figure: Figure = show("dimension", self)
        return figure


def _interval(kind: str, name: str) -> str:
    return _RANGE if (kind, name) == ("linear", "consensus") else "95 %"


def _plain(values: Any) -> list[Any]:
    return [None if np.isnan(value) else value for value in values.tolist()]
