"""How many dimensions, linear and true, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, DominantColumnWarning, LowlandWarning
from ..measure import Measure
from ..reducer import seed
from ..rows import RowSource
from ..settings import format_share
from ..sources import are_objects, gather
from . import linear as counts
from .angles import Curve, Plateau, curve, plateau, scan
from .correlation import correlation_dimension
from .dominance import dominant_column
from .neighbors import TIED, discrete, levina_bickel_of, two_nn_of
from .parallel import above_null
from .points import Points, Spec, choose_anchors, left_out, points_of, ties
from .variances import Variances, variances_of

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Array = Any

APART = 0.25  # by how much distances and directions may differ
LABELS = {("linear", "consensus"): "consensus (median)", ("nonlinear", "consensus"): "consensus (plateau)"}


@dataclass(frozen=True)
class Estimate:
    """What `estimate` found; prints as a table.

    Attributes
    ----------
    linear, nonlinear : mapping of name to Measure
        Each rule's own count. ``nonlinear["directions"]`` is the plateau over scales, the others are raw.
    consensus : mapping
        ``"linear"`` (where there are rows): the median of the rules; ``"nonlinear"``: the plateau of the directions
        over scales. It is no vote: the rules by distance look at the finest scale only and read noise as dimensions.
    sentence : str
        What it comes to.
    warnings : tuple of str
        What stands in the way of believing it.
    skipped : mapping of name to reason
        Rules that could not be used.
    scales : Curve
        The dimension at each scale: ``neighbors``, ``radius``, ``value``, ``distances``, …
    plateau : Plateau
        The range of scales that counts.
    spectrum : Variances or None
        Eigenvalues of the covariance.
    n_rows : int
        Rows given, equal ones included.
    """

    linear: Mapping[str, Measure]
    nonlinear: Mapping[str, Measure]
    consensus: Mapping[str, Measure]
    sentence: str
    warnings: tuple[str, ...]
    skipped: Mapping[str, str]
    scales: Curve
    plateau: Plateau
    spectrum: Variances | None
    n_rows: int

    def rows(self) -> list[tuple[str, str, Measure]]:
        """Return (kind, name, measure) of all rules, each kind's consensus last."""
        found = []
        for kind, part in (("linear", self.linear), ("nonlinear", self.nonlinear)):
            found += [(kind, name, value) for name, value in part.items()]
            if kind in self.consensus:
                found.append((kind, "consensus", self.consensus[kind]))
        return found

    def __str__(self) -> str:
        lines = [f"{'':10} {'rule':22} {'dimensions':>10}  95 % interval"]
        kind = None
        for group, name, value in self.rows():
            between = "" if value.low == value == value.high else f"{value.low:.4g} to {value.high:.4g}"
            first = "" if group == kind else group
            lines.append(f"{first:10} {LABELS.get((group, name), name):22} {float(value):>10.4g}  {between}".rstrip())
            kind = group
        return "\n".join([*lines, self.sentence, *(f"Note: {text}" for text in self.warnings)])

    def to_frame(self) -> pl.DataFrame:
        """Return the table: kind, rule, value, low, high, exact."""
        import polars as pl

        return pl.DataFrame(
            [
                {"kind": kind, "rule": name, **{key: value.to_dict()[key] for key in ("value", "low", "high", "exact")}}
                for kind, name, value in self.rows()
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        scales = self.scales
        return {
            "n_rows": self.n_rows,
            "linear": {name: value.to_dict() for name, value in self.linear.items()},
            "nonlinear": {name: value.to_dict() for name, value in self.nonlinear.items()},
            "consensus": {kind: value.to_dict() for kind, value in self.consensus.items()},
            "sentence": self.sentence,
            "warnings": list(self.warnings),
            "skipped": dict(self.skipped),
            "scales": {
                name: getattr(scales, name).tolist()
                for name in ("neighbors", "radius", "value", "inner", "outer", "distances", "noisy")
            },
            "plateau": {"first": self.plateau.first, "last": self.plateau.last, "level": self.plateau.level},
        }

    def figure(self) -> Figure:
        """Draw the dimension against the scale, and the spectrum with the counts that it gives."""
        from ..plots.dimension import dimension

        return dimension(self)


def estimate(
    X: Any,
    *,
    n_neighbors: tuple[int, int] = (10, 20),
    metric: Spec = "euclidean",
    scale: bool = False,
    anchors: int | str | None = "auto",
    random_state: int | None = None,
) -> Estimate:
    """Say how many dimensions data have: linear ones, that PCA needs, and the true ones of a curved shape.

    Linear counts come from the spectrum; their consensus is the median, where a rule by which nothing stands out from
    noise counts all dimensions. The true dimension comes from the directions of neighbours at one scale after another:
    noise adds dimensions at fine scales, curvature at coarse ones, and the lowest range over which the count stays the
    same is reported. Estimates from distances stand beside it; they are made at the finest scale, read noise as
    dimensions and are too low in many dimensions.

    Parameters
    ----------
    X : array, sparse matrix, data frame, RowSource, list of objects
        The rows; with ``metric="precomputed"`` their distances, for which there are no linear counts.
    n_neighbors : (int, int)
        The neighbours that `levina_bickel` averages over.
    metric : str or callable
        How rows are compared. Squared distances (sqeuclidean, cosine, correlation) are taken by their roots.
    scale : bool
        Give every column the same variance first.
    anchors : int, None or "auto"
        Around how many points is looked: all (None); "auto" all up to 2,000 for directions and pairs, and up to 10,000
        for distances to neighbours. Of more than 100,000 points, directions look at a random 100,000.
    random_state : int, optional
        Which points and draws are taken; None is 0.

    Returns
    -------
    Estimate
        The table with its consensus and a sentence; prints as a table.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.random.default_rng(0).uniform(0, 2 * np.pi, 500)
    >>> found = estimate(np.column_stack([np.cos(t), np.sin(t)]))
    >>> round(found.consensus["linear"]), round(found.consensus["nonlinear"])
    (2, 1)
    >>> found.sentence.split(":")[0]
    'The data have about 1 dimension (1 to 1.03) but fill 2 linear ones'
    """
    source = _in_memory(X)
    square = isinstance(metric, str) and metric == "precomputed"
    spectrum = None
    if not square and not are_objects(source):
        spectrum = variances_of(source, scale=scale, owner="estimate", random_state=random_state)
    if spectrum is not None:
        from ..quality.spaces import warn_of_square

        warn_of_square(source, "estimate, X")
    points = points_of(_scaled(source) if scale and spectrum is not None else source, metric, "estimate")
    notes = [left_out(points)] if points.n < points.n_rows else []
    linear, skipped, silent = _linear(spectrum, random_state) if spectrum is not None else ({}, {}, set())
    rng = seed(random_state)
    scales = curve(scan(points, rng, anchors), rng)
    size = spectrum.rank if spectrum is not None and not callable(metric) else None
    level = plateau(scales, size)
    if size is not None:
        level = level._replace(value=_at_most(level.value, size))
    nonlinear, unusable, share = _nonlinear(points, n_neighbors, anchors, random_state)
    nonlinear, skipped = {"directions": level.value, **nonlinear}, skipped | unusable
    consensus = {"nonlinear": level.value}
    if spectrum is not None:
        consensus = {"linear": _vote(linear, silent, spectrum.size), **consensus}
    if share > TIED:
        notes.append(discrete(share))
    notes += _doubts(level, scales, points.n)
    sure = not (_many(level.value.high, points.n) or _rough(level, scales) or not (level.level or level.rising))
    names = None if spectrum is None else spectrum.names
    for text in notes:
        warnings.warn(f"dimension: {text}", LowlandWarning, stacklevel=2)
    if spectrum is not None and not scale:
        notes += _dominant(spectrum, names)
    return Estimate(
        linear,
        nonlinear,
        consensus,
        _sentence(consensus, level, sure),
        tuple(notes),
        skipped,
        scales,
        level,
        spectrum,
        points.n_rows,
    )


def _in_memory(X: Any) -> Any:
    """Return rows that can be read twice; a stream is gathered."""
    return gather(X, sparse=True) if isinstance(X, RowSource) and X.array is None else X


def _scaled(X: Any) -> Any:
    """Return rows divided by the deviations of their columns; constant ones stay."""
    import scipy.sparse as sp

    from .. import arrays
    from ..rows import as_rows

    rows = gather(as_rows(X, owner="estimate"), sparse=True)
    if sp.issparse(rows):
        mean = np.asarray(rows.mean(axis=0)).reshape(-1)
        deviations = np.sqrt(np.maximum(np.asarray(rows.multiply(rows).mean(axis=0)).reshape(-1) - mean**2, 0))
        return rows @ sp.diags_array(1 / np.where(deviations > 0, deviations, 1.0))
    table = np.ascontiguousarray(arrays.to_numpy(rows), dtype=np.float64)  # sums then have one order
    deviations = table.std(axis=0)
    return table / np.where(deviations > 0, deviations, 1.0)


def _linear(spectrum: Variances, random_state: int | None) -> tuple[dict[str, Measure], dict[str, str], set[str]]:
    """Return the counts, why some are missing, and the rules by which no component stands out."""
    rules: dict[str, Callable[[], Measure]] = {
        "variance_share": lambda: counts.variance_share(spectrum),
        "largest_gap": lambda: counts.largest_gap(spectrum),
        "participation_ratio": lambda: counts.participation_ratio(spectrum),
        "broken_stick": lambda: counts.broken_stick(spectrum),
        "parallel_analysis": lambda: above_null(spectrum, spectrum.columns, seed(random_state)),
        "minka": lambda: counts.minka(spectrum),
        "gavish_donoho": lambda: counts.gavish_donoho(spectrum),
    }
    found, skipped = _each(rules)
    silent = {name for name, value in found.items() if round(value) == 0}
    if "minka" in found and found["minka"] >= spectrum.size - 1:  # the same model as all of them
        silent.add("minka")
    if "parallel_analysis" in silent:
        found["parallel_analysis"] = Measure(1, 1, max(1.0, found["parallel_analysis"].high))  # one by definition
    return found, skipped, silent


def _each(rules: Mapping[str, Callable[[], Measure]]) -> tuple[dict[str, Measure], dict[str, str]]:
    """Return what the rules say, and why some say nothing."""
    found: dict[str, Measure] = {}
    skipped: dict[str, str] = {}
    for name, rule in rules.items():
        try:
            found[name] = rule()
        except DataError as error:  # too wide for it, all distances alike: the others still count
            skipped[name] = str(error)
    return found, skipped


def _vote(found: Mapping[str, Measure], silent: set[str], size: int) -> Measure:
    """Return the median of the counts; a rule by which nothing stands out votes for all dimensions.

    The interval leaves out the lowest and the highest vote.
    """
    votes = sorted(float(size) if name in silent else float(round(value)) for name, value in found.items())
    inner = votes[1:-1] if len(votes) > 2 else votes
    return Measure(votes[(len(votes) - 1) // 2], inner[0], inner[-1])


def _nonlinear(
    points: Points, n_neighbors: tuple[int, int], anchors: int | str | None, random_state: int | None
) -> tuple[dict[str, Measure], dict[str, str], float]:
    """Return the estimates from distances, why some are missing, and the share of ties among nearest neighbours."""
    low, high = (min(int(k), points.n - 1) for k in n_neighbors)
    numbers = choose_anchors(points.n, anchors, seed(random_state))
    _, distances = points.nearest(numbers, np.arange(points.n), max(2, high))
    rules: dict[str, Callable[[], Measure]] = {
        "two_nn": lambda: two_nn_of(distances),
        "levina_bickel": lambda: levina_bickel_of(distances, max(2, low), max(2, high)),
        "correlation_dimension": lambda: correlation_dimension(points, anchors=anchors, random_state=random_state),
    }
    found, skipped = _each(rules)
    return found, skipped, ties(distances)


def _at_most(value: Measure, size: int) -> Measure:
    """Keep an estimate within the dimensions that there are."""
    d = min(float(value), float(size))
    return Measure(d, min(value.low, d), max(d, min(value.high, float(size))), exact=value.exact)


def _doubts(level: Plateau, scales: Curve, n: int) -> list[str]:
    """Say what stands in the way of believing the plateau."""
    notes, d = [], float(level.value)
    inside = slice(level.first, level.last + 1)
    if level.rising:
        notes.append(
            f"the directions of neighbours fill {scales.value[0]:.2g} dimensions at the finest scale and more at every "
            "other: the data curve within the distance of neighbours, and the dimension was followed back to a "
            "distance of zero; more points would tell it better"
        )
    elif not level.level:
        notes.append(
            f"the dimension changes from scale to scale ({_span(scales.value)} from fine to coarse) and stays the same "
            "over none of them: noise is as large as the shape, or there are too few points"
        )
    elif level.first > 0 and scales.value[: level.first].max() > d + max(0.5, 0.25 * d):
        finest = scales.value[: level.first].max()
        notes.append(
            f"scales disagree: within a distance of {scales.radius[level.first]:.3g} the data fill {finest:.2g} "
            f"dimensions, beyond it {d:.2g}; what is below is taken for noise or thickness"
        )
    if level.level and scales.value[level.last :].min() < 0.6 * d:
        notes.append(
            f"over long distances the data spread in {scales.value[level.last :].min():.2g} dimensions only: the shape "
            "is long, or a few rows lie far out"
        )
    if _rough(level, scales):
        by_distance = float(scales.distances[inside].mean())
        notes.append(
            f"distances between neighbours grow as in {by_distance:.2g} dimensions, their directions fill {d:.2g}: the "
            "points are too few for such a shape, or it is no smooth one (clusters, discrete values, a fractal)"
        )
    if _many(d, n):
        most = 2 * np.log10(n)
        contrast = float(scales.radius[0] / scales.radius[-1])
        notes.append(
            f"{n:,} points are few for {d:.0f} dimensions (distances between so many tell {most:.1f} at most): the "
            f"nearest neighbours are {format_share(contrast)} as far as all others; read it as many, not a number"
        )
    return notes


def _many(d: float, n: int) -> bool:
    """Tell whether there are too few points for such a dimension."""
    return bool(d > 2 * np.log10(n))


def _rough(level: Plateau, scales: Curve) -> bool:
    """Tell whether distances and directions disagree: on a smooth shape they do not."""
    d = float(level.value)
    by_distance = float(scales.distances[level.first : level.last + 1].mean())
    return bool(level.level and abs(by_distance - d) > APART * d + 0.3)


def _span(values: Array) -> str:
    return f"{values[0]:.2g} to {values[-1]:.2g}"


def _dominant(spectrum: Variances, names: Any) -> list[str]:
    found = None if spectrum.columns is None else dominant_column(spectrum.columns)
    if found is None:
        return []
    name = str(found[0]) if names is None else repr(names[found[0]])
    text = (
        f"column {name} owns {format_share(found[1])} of the variance, so the dimension is mostly its own; if the "
        "columns have different units, scale them (scale=True)"
    )
    warnings.warn(f"dimension: {text}", DominantColumnWarning, stacklevel=3)
    return [text]


def _sentence(consensus: Mapping[str, Measure], level: Plateau, sure: bool) -> str:
    true = consensus["nonlinear"]
    d = max(1, round(true))
    said = f"about {d} dimension{'s' if d > 1 else ''} ({true.low:.3g} to {true.high:.3g})"
    if not level.level and not level.rising:
        said = f"no dimension that holds over several scales; the best guess is {said}"
    start = f"The data have {said}"
    if "linear" not in consensus:
        return f"{start}."
    flat = round(consensus["linear"])
    if flat > d and not sure:
        return f"{start} and fill {flat} linear ones, which alone does not prove that they curve."
    if flat > d:
        return (
            f"{start} but fill {flat} linear ones: they curve, and a nonlinear method can show them in fewer "
            "dimensions than PCA (closed shapes, such as rings and spheres, take one more than they have)."
        )
    if flat < d:
        return (
            f"{start}; {flat} linear one{'s' if flat > 1 else ''} hold{'' if flat > 1 else 's'} most of their "
            "variance, and the others are small."
        )
    return f"{start}, and as many linear ones hold them: PCA can show them."
