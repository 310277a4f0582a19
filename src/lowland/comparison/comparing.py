"""`lowland.compare`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.message import Message, Owner
from .dataset import HELD_OUT, SAMPLE
from .request import Request
from .result import Comparison
from .running import BUDGET, LOCAL, again, begin


def compare(
    X: Any,
    methods: str | Sequence[Any] = "auto",
    n_components: int = 2,
    budget: float | str | None = BUDGET,
    target: Any = None,
    *,
    metric: str = "euclidean",
    n_neighbors: int | None = None,
    sample: int | None = SAMPLE,
    held_out: float = HELD_OUT,
    random_state: int | None = None,
    record: Mapping[str, Any] | None = None,
    engine: str = LOCAL,
) -> Comparison:
    """Fit several methods to the same rows within a time budget, measure their maps alike, and rank them.

    Each candidate is fitted on the training rows, places the held-out rows with `transform`, and is judged by two
    criteria that are 0 at chance and 1 when perfect, for training and held-out rows alike:

    - local: neighbours. The mean of trustworthiness and continuity (Venna, Kaski 2001), each (x − chance)/(1 − chance).
    - global: distances. Spearman's correlation between the distances in the map and in the data; where the rows are
      more than a Gaussian cloud and their neighbour graph is connected, distances along that graph (Tenenbaum, de
      Silva, Langford 2000): direct distances would favour maps that leave a curved sheet folded.

    A target adds the share of rows whose class the nearest others in the map guess. The score is the mean of these.
    Settings of neighbours, perplexity and kernel widths are searched while time is left.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        Rows; columns of text are coded as FAMD does. With ``metric="precomputed"`` a square matrix of distances.
    methods : "auto" or list
        Names, (name, parameters) pairs or models. "auto" takes what suits the data, cheap and different ones first.
    n_components : int
        Dimensions of the maps.
    budget : str, float or None
        Time for everything: "90s", "5min", "1h" or seconds; None: until all candidates have run.
    target : array or str, optional
        Classes of the rows, or the name of the data frame's column that holds them; it is not reduced.
    metric : str
        How rows are compared; maps are compared by Euclidean distances.
    n_neighbors : int or None
        Size of a neighbourhood in the criteria; None: 10, of fewer than 40 rows a quarter of them.
    sample : int or None
        Rows that are compared at most, drawn at random; None: all.
    held_out : float
        Share of them that is held out; fewer than 50 rows and distances are all fitted, and fewer than 10 held-out
        rows, too.
    random_state : int or None
        Seed of the draws and of the candidates; None is seed 0.
    record : dict, optional
        Of an earlier comparison (`Comparison.record`): what ran then is run again, without a budget, on the same data;
        X, the target and the engine are all that is given beside it.
    engine : "local" or "dask"
        "dask": candidates run on the workers of the current ``distributed.Client``, one at a time on each.

    Returns
    -------
    Comparison
        With `table`, `recommend`, `figure`, `to_html`, `fit_best` and the ``record``.

    Examples
    --------
    >>> import lowland
    >>> X, _ = lowland.data.swiss_roll(300, random_state=0)
    >>> found = lowland.compare(X, methods=["pca", "isomap"], budget="1min")
    >>> found.recommend().method
    'isomap'
    """
    if record is not None:
        _refuse_others(locals())
        return Comparison(*again(X, target, record, engine))
    seed = 0 if random_state is None else random_state
    asked = Request(n_components, metric, n_neighbors, sample, held_out, seed, methods)
    return Comparison(*begin(X, target, asked, budget, engine))


def _refuse_others(given: Mapping[str, Any]) -> None:
    """Refuse what a record decides."""
    for name, parameter in inspect.signature(compare).parameters.items():
        if name not in ("X", "target", "record", "engine") and given[name] != parameter.default:
            raise ValueError(
                Message(
                    Owner("compare"),
                    f"a record holds every setting except the data: remove {name}, or compare anew without a record",
                )
            )
