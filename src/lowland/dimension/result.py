"""The result of `lowland.dimension.estimate`: a table and a summary, as text, frame, plain values or figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.measure import Measure
from ..core.show import show
from ..spectral.variances import Variances
from .angles import Plateau, ScaleCurve
from .levels import explain, that_matter
from .notes import sentence

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

HEADINGS = ("", "rule", "dimensions", "95 % interval", "in the consensus")
_LABELS = {("linear", "consensus"): "consensus (median)", ("nonlinear", "consensus"): "consensus (plateau)"}
_RANGE = "range of rules"  # kind of interval of the linear consensus, of its rules; all others are 95 % intervals
_APART = "no: finest scale only"  # the rules by distance in the nonlinear consensus


@dataclass(frozen=True, eq=False)
class Estimate:
    """The result of `estimate`; prints as a table.

    Attributes
    ----------
    linear, nonlinear : mapping of name to Measure
        The result of each rule. ``nonlinear["directions"]`` is the plateau over scales.
    consensus : mapping
        ``"linear"`` (if there are rows): the median of ``counted``, of an even number the lower one in the middle; its
        interval is their range. ``"nonlinear"``: the plateau of the directions over scales. The rules by distance are
        not included, because they use the finest scale only and count noise as dimensions.
    sentence : str
        A summary.
    warnings : tuple of str
        Warnings about the reliability of the estimate.
    skipped : mapping of name to reason
        Rules that could not be applied.
    scales : ScaleCurve
        The dimension at each scale: ``neighbors``, ``radius``, ``value``, ``distances``, …
    plateau : Plateau
        The range of scales used for the estimate.
    spectrum : Variances or None
        Eigenvalues of the covariance; of unit rows for ``cosine`` and ``correlation``.
    n_rows : int
        Number of rows, duplicates included.
    closed : bool
        Whether the shape is closed, like a ring or a sphere: a map then needs one more coordinate. False also if this
        is unknown.
    coordinates : int
        Number of coordinates that a map needs: the intrinsic dimension, plus 1 for a closed shape; the linear dimension
        if curvature is not certain.
    linear_method : str or None
        The linear method whose dimensions ``sentence`` compares with; None if there is none for these rows.
    of_sample : str
        The size of the sample that was measured, in words; empty if all rows were.
    counted : mapping of name to int
        The whole number with which each linear rule takes part in the consensus.
    counting_all : mapping of name to reason
        The linear rules that take part with all dimensions, since they find no component above noise.
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
    linear_method: str | None = None
    of_sample: str = ""
    counted: Mapping[str, int] = field(default_factory=dict)
    counting_all: Mapping[str, str] = field(default_factory=dict)

    def of_levels(self, levels: int) -> Estimate:
        """Return the estimate of rows that code so many levels of categories: these may be the linear dimensions."""
        flat, d = round(self.consensus.get("linear", 0.0)), max(1, round(self.consensus["nonlinear"]))
        compared = self.linear_method is not None and not self.plateau.spanned  # with the linear dimensions
        levels = 0 if self.spectrum is None else that_matter(levels, self.spectrum.n_columns)
        if flat <= d or not compared or not explain(levels, flat, d):
            return self
        said = sentence(self.consensus, self.plateau, self.n_rows, sure=False, linear=self.linear_method, levels=levels)
        return replace(self, sentence=said, closed=False, coordinates=flat)

    def rows(self) -> list[tuple[str, str, Measure]]:
        """Return (kind, name, measure) of all rules, each kind's consensus last."""
        found = []
        for kind, part in (("linear", self.linear), ("nonlinear", self.nonlinear)):
            found += [(kind, name, value) for name, value in part.items()]
            if kind in self.consensus:
                found.append((kind, "consensus", self.consensus[kind]))
        return found

    def cells(self) -> list[tuple[str, ...]]:
        """Return the table as it is shown, under `HEADINGS`."""
        shown: list[tuple[str, ...]] = []
        before = ""
        for kind, name, value in self.rows():
            between = "" if value.low == value == value.high else f"{value.low:.4g} to {value.high:.4g}"
            if between and _interval(kind, name) == _RANGE:
                between += f" ({_RANGE})"
            label = _LABELS.get((kind, name), name)
            cells = (label, f"{float(value):.4g}", between, self._part(name, value))
            shown.append(("" if kind == before else kind, *cells))
            before = kind
        return shown

    def _counted(self, name: str, value: Measure) -> float | None:
        """Return the number with which a rule takes part in the consensus; None if it does not."""
        return float(value) if name == "directions" else self.counted.get(name)

    def _part(self, name: str, value: Measure) -> str:
        number = self._counted(name, value)
        if number is None:
            return "" if name == "consensus" else _APART
        return f"{number:.4g}" + (f" (all: {self.counting_all[name]})" if name in self.counting_all else "")

    def __str__(self) -> str:
        lines = [f"{a:10} {b:22} {c:>10}  {d:28} {e}".rstrip() for a, b, c, d, e in (HEADINGS, *self.cells())]
        without = [f"Without {name}: {reason}" for name, reason in self.skipped.items()]
        return "\n".join([*lines, self.sentence, *(f"Note: {text}" for text in (*self.warnings, *without))])

    def to_frame(self) -> pl.DataFrame:
        """Return the table: kind, rule, value, low, high, interval (what low and high are), exact, counted.

        ``counted`` is the number with which a rule takes part in the consensus, null if it does not.
        """
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
                    "counted": self._counted(name, value),
                }
                for kind, name, value in self.rows()
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values; None if the distances at a scale give no estimate."""
        plain = {
            kind: {name: value.to_dict() for name, value in part.items()}
            for kind, part in (("linear", self.linear), ("nonlinear", self.nonlinear), ("consensus", self.consensus))
        }
        for kind, value in plain["consensus"].items():
            value["interval"] = _interval(kind, "consensus")
            counted = {name: self._counted(name, rule) for name, rule in getattr(self, kind).items()}
            value["rules"] = {name: number for name, number in counted.items() if number is not None}
            value["counting_all"] = dict(self.counting_all) if kind == "linear" else {}
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
        figure: Figure = show("dimension", self)[0].figure
        return figure

    def _repr_html_(self) -> str:
        text: str = show("dimension html", self)
        return text


def _interval(kind: str, name: str) -> str:
    return _RANGE if (kind, name) == ("linear", "consensus") else "95 %"


def _plain(values: Any) -> list[Any]:
    return [None if np.isnan(value) else value for value in values.tolist()]
