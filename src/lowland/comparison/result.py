"""What a comparison found: the record, the maps, the ranking."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError, LowlandError
from ..core.message import Message, Owner
from ..core.show import show
from .candidates import Candidate
from .measuring import Map
from .ranking import SIDES, Judge, seconds
from .recommendation import Recommendation, criterion_names, recommend

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Array = Any

_DISTANCES = ("direct", "geodesic")


class Comparison:
    """What `lowland.compare` found.

    Attributes
    ----------
    record : dict
        Plain values, ready for JSON: the data's fingerprint, versions, settings, what the data show by themselves, and
        every candidate with its parameters and what came of it: "done" with its criteria, "failed", "ended" or
        "skipped" with the reason. ``lowland.compare(X, record=…)`` runs the same again.
    maps : dict
        The map of each candidate that finished, by its key: at most 2,000 rows of each, for pictures. ``Y`` are their
        places and ``rows`` their numbers; ``kept``, of the recommended map, the share of nearest neighbours that it
        keeps.
    """

    def __init__(
        self, record: Mapping[str, Any], maps: Mapping[str, Map], colors: Mapping[str, Any] | None = None
    ) -> None:
        self.record: dict[str, Any] = copy.deepcopy(dict(record))
        self.maps = dict(maps)
        self._colors = colors

    def _done(self) -> list[dict[str, Any]]:
        return [dict(entry) for entry in self.record["candidates"] if entry["status"] == "done"]

    def ranked(self) -> list[dict[str, Any]]:
        """Return the records of the candidates that finished, best score first."""
        done = self._done()
        return [dict(entry) for entry in Judge(done).ranked(done)] if done else []

    @property
    def criteria(self) -> list[str]:
        """The criteria that the score is the mean of."""
        return Judge(self._done()).criteria

    def recommend(self, prefer: str = "balanced") -> Recommendation:
        """Say which candidate to take, with reasons.

        The best score wins. Candidates whose difference to it is not sure (its 95 % interval over the folds of the rows
        holds 0) or below 0.01 tie with it, and the simplest of them is taken: linear before distances, manifolds,
        kernels, networks and embeddings. Where the rows are no more than a Gaussian cloud, PCA is taken, or FAMD or
        classical scaling, whichever is there. Where a candidate places no new rows, all are judged by the fitted rows
        alone.

        Parameters
        ----------
        prefer : str
            "balanced"; "local" (neighbours), "global" (distances) or "target" for one criterion alone; "speed": of
            those at most 0.05 below the best, the one whose plan for all rows is the fastest.
        """
        return recommend(self.record, prefer)

    def table(self) -> pl.DataFrame:
        """Return a polars data frame with one row for each candidate, best first, then those that did not end.

        Criteria stand with their 95 % intervals (``local_low``, ``local_high``, …) for this map and other rows, and so
        does what a candidate is ``behind`` the best score; ``tied`` tells whether that difference is not significant.
        ``global`` is one of ``direct`` and ``geodesic``, the rank correlations with direct and with geodesic
        distances.
        ``training`` and ``held_out`` are the scores on either. ``seconds`` is the time of the fit of the compared rows,
        ``whole_seconds`` what the plan says for all rows.
        """
        import polars as pl

        done = self.ranked()
        judge = Judge(done)
        names = judge.criteria
        rows: list[dict[str, Any]] = []
        for place, entry in enumerate(done, start=1):
            row: dict[str, Any] = {"rank": place, "candidate": entry["key"], "method": entry["method"]}
            row |= {"status": "done", "score": judge.score(entry)}
            middle, half = judge.difference(done[0], entry)
            row |= {"behind": middle, "behind_low": middle - half, "behind_high": middle + half}
            row["tied"] = place == 1 or judge.tied(done[0], entry)
            for name in names:
                found = judge.measure(entry, name)
                row |= {name: float(found), f"{name}_low": found.low, f"{name}_high": found.high}
            row |= {name: _distances(judge, entry, name) for name in _DISTANCES}
            row |= {"training": _side(entry, names, SIDES[0]), "held_out": _side(entry, names, SIDES[1])}
            row |= {"seconds": seconds(entry), "whole_seconds": entry.get("whole_seconds"), "reason": ""}
            rows.append(row)
        for entry in self.record["candidates"]:
            if entry["status"] != "done":
                rows.append(
                    {"candidate": entry["key"], **{name: entry[name] for name in ("method", "status", "reason")}}
                )
        kinds: dict[str, Any] = {"rank": pl.Int64, **dict.fromkeys(("candidate", "method", "status"), pl.String)}
        kinds |= {**dict.fromkeys(("score", "behind", "behind_low", "behind_high"), pl.Float64), "tied": pl.Boolean}
        kinds |= {f"{name}{end}": pl.Float64 for name in names for end in ("", "_low", "_high")}
        kinds |= dict.fromkeys((*_DISTANCES, "training", "held_out", "seconds", "whole_seconds"), pl.Float64)
        kinds["reason"] = pl.String
        return pl.DataFrame([{name: row.get(name) for name in kinds} for row in rows], schema=kinds)

    @property
    def best(self) -> Any:
        """The recommended model, not fitted; `fit_best` fits it."""
        found = self.recommend()
        return Candidate(found.method, found.parameters).build()

    def fit_best(self, X: Any, prefer: str = "balanced") -> Any:
        """Fit the recommended model on all rows and return it.

        X has the columns that were compared; the target's, where it is a column of X, is left out again. For rows with
        columns of text the model is a pipeline: FAMD codes them, then comes the method.
        """
        X = self._columns(X)
        found = self.recommend(prefer)
        model = Candidate(found.method, found.parameters).build()
        if self.record["data"]["kind"] != "categories" or found.method == "famd":
            return model.fit(X)
        if found.method == "pca":
            return self._fit_numeric(model, X)
        from sklearn.pipeline import make_pipeline

        from ..quality.spaces import famd_axes

        coder = famd_axes(X)
        coder.set_params(n_components=int(coder.n_components_))  # as many axes as there are, without a word about it
        return make_pipeline(coder, model).fit(X)

    def _fit_numeric(self, model: Any, X: Any) -> Any:
        """Fit a model on the columns of numbers, behind a step that picks them."""
        from sklearn.compose import make_column_transformer
        from sklearn.pipeline import make_pipeline

        from ..rows.mixed_rows import MixedRows, mixed_rows

        rows = mixed_rows(X, owner="fit_best")
        text = rows.categorical if isinstance(rows, MixedRows) else ()
        kept = [i for i in range(rows.n_features) if i not in set(text)]
        return make_pipeline(make_column_transformer(("passthrough", kept)), model).fit(X)

    def _columns(self, X: Any) -> Any:
        """Return X without the target's column; refuse other columns than were compared, by their names if known."""
        import narwhals as nw
        import numpy as np

        from .dataset import column_names, data_frame

        if self.record["data"]["kind"] == "distances":
            return X
        wanted, name = self.record["data"]["shape"][1], self.record["settings"]["target"]
        frame = data_frame(X)
        named = frame is not None and name in frame.columns
        shape = X.shape if hasattr(X, "shape") else np.shape(X)
        width = shape[1] if len(shape) == 2 else 0
        if named and width == wanted + 1:
            X, width, named = nw.to_native(frame.drop(name)), wanted, False
        if width != wanted:
            less = f" without the target {name!r}" if named else ""
            raise DataError(f"fit_best: X has {width} columns{less}; {wanted} were compared: give the same")
        compared, own = self.record["data"].get("columns"), column_names(X)
        if compared is not None and own is not None and compared != own:
            i = next(i for i, (a, b) in enumerate(zip(compared, own, strict=True)) if a != b)
            raise DataError(
                f"fit_best: column {i} of X is {own[i]!r}, and {compared[i]!r} was compared: give the same columns, in "
                "their order"
            )
        return X

    def rerun(self, X: Any, target: Any = None, *, engine: str = "local") -> Comparison:
        """Run what ran on the same data again; measures are the same, times are not."""
        from .running import again

        return Comparison(*again(X, target, self.record, engine))

    def colors(self, rows: Array) -> list[Any] | None:
        """Return the target's classes of some rows, or None without a target."""
        if self._colors is None:
            return None
        return [self._colors["values"][int(row)] for row in rows]

    @property
    def color_name(self) -> str | None:
        """The name of the target, or None without a target."""
        return None if self._colors is None else str(self._colors["name"])

    def drawn(self, most: int = 9) -> list[dict[str, Any]]:
        """Return the records of the best candidates with a map, the recommended one among them."""
        best, chosen = [entry for entry in self.ranked() if entry["key"] in self.maps], self.recommend().key
        if chosen in {entry["key"] for entry in best[:most]}:
            return best[:most]
        return [*best[: most - 1], next(entry for entry in best if entry["key"] == chosen)]

    def figure(self, most: int = 9, part: str = "all") -> Figure:
        """Draw the maps of the best candidates beside each other, and their criteria as bars below.

        ``part`` "maps" or "criteria" draws one of them alone, as wide as a printed page.
        """
        if not self.maps:
            raise LowlandError(Message(Owner("compare"), "no candidate finished, so there is no map to draw"))
        chosen, judge, drawn = self.recommend().key, Judge(self._done()), self.drawn(most)
        keys = [entry["key"] for entry in drawn]
        figures = {}
        for entry in drawn:
            found = {name: judge.measure(entry, name) for name in judge.criteria}
            figures[entry["key"]] = {name: (float(m), m.low, m.high) for name, m in found.items()}
        figure: Figure = show(
            "comparison",
            {key: self.maps[key].Y for key in keys},
            figures,
            colors=None if self._colors is None else {key: self.colors(self.maps[key].rows) for key in keys},
            color_name=self.color_name,
            marked=chosen,
            part=part,
            words=criterion_names(self.record),
        )
        return figure

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "Comparison",
        command: str | None = None,
        following: str | None = None,
        names: Sequence[Any] | None = None,
        names_title: str = "name",
        hover: Any = None,
        repeat: str | None = None,
        words: Callable[[str], str] = str,
    ) -> None:
        """Write one offline page: the recommendation, the maps, the table, and what did not run and why.

        The recommended map is interactive. ``names`` are what the rows of the table are called, from its column
        ``names_title``, and ``hover`` a data frame or a mapping of columns to show beside points, one value for each
        row. ``command`` made the comparison, ``following`` is to be run next, and ``repeat`` repeats it by its record,
        saved as record.json; the page shows them. ``words`` words the messages of the library for the reader.
        """
        about = {"names": names, "names_title": names_title, "hover": hover, "repeat": repeat, "words": words}
        show("comparison page", self, path, title, command, following, **about)

    def _repr_html_(self) -> str:
        text: str = show("comparison html", self)
        return text

    def __str__(self) -> str:
        lines, names = [self._rows()], self.criteria
        for row in self.table().iter_rows(named=True):
            if row["status"] == "done":
                figures = "  ".join(f"{name} {row[name]:.2f}" for name in names)
                lines.append(
                    f"{row['rank']:>3}  {row['candidate']:<32} {row['score']:.3f}  {figures}  {row['seconds']:.2g} s"
                )
        return "\n".join(lines) if len(lines) > 1 else "no candidate finished"

    def _rows(self) -> str:
        """Say how many rows were compared."""
        rows = self.record["rows"]
        some = f"{rows['compared']:,} of {rows['all']:,}" if rows["compared"] < rows["all"] else f"{rows['all']:,}"
        return f"compared on {some} rows"

    def __repr__(self) -> str:
        done = len(self._done())
        left = len(self.record["candidates"]) - done
        return f"<Comparison of {done} candidates, {self._rows()}; {left} did not finish>"


def _distances(judge: Judge, entry: Mapping[str, Any], name: str) -> float | None:
    """Return the rank correlation with one kind of distances, over the same rows as the criterion."""
    sides = entry["criteria"].get(name, {})
    values = [sides[side]["value"] for side in judge.sides.get("global", ()) if side in sides]
    return float(sum(values) / len(values)) if values else None


def _side(entry: Mapping[str, Any], names: list[str], side: str) -> float | None:
    """Return the score on fitted or on held-out rows alone."""
    values = [entry["criteria"][name][side]["value"] for name in names if side in entry["criteria"][name]]
    return float(sum(values) / len(values)) if len(values) == len(names) else None


__all__ = ["Comparison", "Map"]
