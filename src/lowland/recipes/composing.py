"""Composition of steps and a method to a scikit-learn Pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..contract import registry
from ..contract.parameters import AnyOf, Choice, Nothing, Rule, check
from ..core.message import Message, Owner, Phrase, Setting

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

Column = str | int

_NONE = Nothing()
RULES: Mapping[str, Rule] = {
    "dates": Choice(("elapsed", "cyclic", "drop")),
    "missing": Choice(("error", "drop-rows", "mean", "median", "ppca")),
    "missing_category": Choice(("error", "level", "mode")),
    "categories": AnyOf((_NONE, Choice(("drop", "one-hot", "famd")))),
    "scale": AnyOf((_NONE, Choice(("standard", "robust", "minmax")))),
    "unseen": Choice(("error", "ignore")),
    "normalize": AnyOf((_NONE, Choice(("l2",)))),
}


def recipe(
    method: Any = None,
    *,
    columns: Sequence[Column] | None = None,
    drop: Sequence[Column] | None = None,
    types: Mapping[str, str] | None = None,
    dates: str = "elapsed",
    transform: Mapping[str, Any] | None = None,
    missing: str = "error",
    missing_category: str = "error",
    categories: str | None = None,
    texts: Any = None,
    scale: str | None = None,
    normalize: str | None = None,
    pre: Any = None,
    unseen: str = "error",
) -> Pipeline:
    """Compose everything between a table and a method, and the method, to one scikit-learn Pipeline.

    The steps are, in this order and only those that are needed: "columns", "dates", "transform", "missing",
    "categories", "scale", "normalize", "pre" and "method"; or "texts", "pre" and "method". Each learns from the
    training rows only; `transform` of new rows repeats them row by row. `lowland.save` writes the whole Pipeline to one
    file.

    Parameters
    ----------
    method : Reducer, str or None
        The method, as a model or by name; None: preprocessing only.
    columns, drop : list of column names or numbers
        Columns to use (default: all), and columns to leave out.
    types : dict
        Types by column name: "number", "category", "date", or "dmy" and "mdy" for dates such as 01/02/2024 with the
        day or the month first; the others are taken from the table.
    dates : str
        "elapsed": days since the first training date; "cyclic": positions in year, week and day; "drop".
    transform : dict
        Functions of columns: ``{"log": ["crp", "ferritin"]}``; log, log1p, sqrt, rank, clr, hellinger.
    missing : str
        Missing numbers: "error" leaves them to the method, which refuses them unless it takes missing values (as
        ProbabilisticPCA does); "mean", "median" or "ppca" fill them.
    missing_category : str
        Missing categories: "error", "level" (a level of their own) or "mode" (the most frequent level).
    categories : str or None
        "one-hot": a column for each level; "famd": all axes of `FAMD`; "drop". None: FAMD as a method gets the
        categories; for other methods they are left out, with a warning.
    texts : str, EncodeTexts or None
        Reduce texts instead of numbers: "tfidf", "log-entropy", "histogram" or "counts" of their words, or a
        `lowland.steps.EncodeTexts` with further options. ``columns`` names the column of text, if there are several.
        The result is sparse, so steps for numbers and categories do not go with it.
    scale : str or None
        "standard": unit variance; "robust": median and quartiles; "minmax". ``categories="famd"`` standardises numbers
        by itself, so "standard" adds no step there.
    normalize : str or None
        "l2": divide each row by its length.
    pre : Reducer, str or None
        A method before the method, such as "pca:50".
    unseen : str
        Levels of new rows that the training rows do not have, and missing categories of new rows that
        ``missing_category`` does not fill: "error" or "ignore".

    Returns
    -------
    sklearn.pipeline.Pipeline

    Examples
    --------
    >>> import polars as pl, lowland
    >>> table = pl.DataFrame(
    ...     {
    ...         "age": [31, 54, 40, None, 62, 47],
    ...         "crp": [0.3, 12.0, 1.1, 5.0, 40.0, 2.2],
    ...         "sex": ["f", "m", "f", "f", "m", "m"],
    ...     }
    ... )
    >>> model = lowland.recipe(
    ...     lowland.PCA(2), transform={"log": ["crp"]}, missing="ppca", categories="one-hot", scale="standard"
    ... )
    >>> [name for name, _ in model.steps]
    ['columns', 'dates', 'transform', 'missing', 'categories', 'scale', 'method']
    >>> model.fit(table).transform(table.select("sex", "crp", "age")).shape
    (6, 2)
    >>> texts = ["shock and heat", "heat flow", "wing and flow", "shock of a wing"]
    >>> lowland.recipe(lowland.TruncatedSVD(2), texts="tfidf").fit_transform(texts).shape
    (4, 2)
    """
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    from ..methods import steps

    given = {"dates": dates, "missing": missing, "missing_category": missing_category, "categories": categories}
    check("recipe", RULES, given | {"scale": scale, "unseen": unseen, "normalize": normalize})
    if texts is not None:
        numeric = {
            "drop": drop,
            "types": types,
            "transform": transform,
            "categories": categories,
            "scale": scale,
            "missing": None if missing == "error" else missing,
            "missing_category": None if missing_category == "error" else missing_category,
        }
        return _text_recipe(texts, columns, normalize, _model(pre, "pre"), _model(method, "method"), numeric)
    if missing == "drop-rows":
        raise ValueError(
            Message(
                Owner("recipe"),
                Setting("missing", "drop-rows"),
                " cannot be a step, because a Pipeline keeps all rows; drop them before the fit",
                Phrase(" by frame.drop_nulls()", ""),
                ", or fill them with ",
                Setting("missing", "ppca"),
            )
        )
    last, before = _model(method, "method"), _model(pre, "pre")
    takes_categories = last is not None and _takes_categories(last)
    if takes_categories and unseen != "error":
        last = clone(last).set_params(unseen=unseen)
    _check_scaling(scale, categories, before if before is not None else last)
    kinds = ["number", *(["date"] if dates != "drop" else [])]
    if categories in ("one-hot", "famd") or (categories is None and takes_categories):
        kinds.append("category")
    others = "warn" if categories is None else "drop"
    chosen: list[tuple[str, Any]] = [
        (
            "columns",
            steps.SelectColumns(
                None if columns is None else list(columns),
                drop=None if drop is None else list(drop),
                types=None if types is None else dict(types),
                kinds=kinds,
                others=others,
            ),
        )
    ]
    if dates != "drop":
        chosen.append(("dates", steps.EncodeDates(dates)))
    if transform:
        chosen.append(("transform", steps.TransformColumns(dict(transform))))
    if missing != "error" or missing_category != "error":
        fill = "keep" if missing == "error" else missing
        chosen.append(("missing", steps.ImputeMissing(fill, categories=missing_category, unseen=unseen)))
    if categories in ("one-hot", "famd"):
        chosen.append(("categories", steps.EncodeCategories(categories, unseen=unseen)))
    if scale is not None and categories != "famd":
        chosen.append(("scale", steps.ScaleColumns(scale)))
    if normalize is not None:
        chosen.append(("normalize", steps.NormalizeRows(normalize)))
    chosen += [(name, model) for name, model in (("pre", before), ("method", last)) if model is not None]
    return Pipeline(chosen)


def _text_recipe(
    texts: Any,
    columns: Sequence[Column] | None,
    normalize: str | None,
    pre: Any,
    method: Any,
    others: Mapping[str, Any],
) -> Pipeline:
    """Compose a Pipeline for texts; ``others`` are options that only tables of numbers and categories have."""
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    from ..methods.steps import EncodeTexts
    from ..methods.steps.text_weights import FEATURES

    for name, value in others.items():
        if value:
            raise ValueError(
                Message(
                    Owner("recipe"),
                    _scaling(value) if name == "scale" else Setting(name, value),
                    " has no effect on texts; leave it out, or leave out ",
                    Setting("texts"),
                )
            )
    if not isinstance(texts, EncodeTexts):
        check("recipe", {"texts": Choice(FEATURES)}, {"texts": texts})
        texts = EncodeTexts(texts)
    step = clone(texts)
    if columns is not None:
        step.set_params(columns=list(columns))
    if normalize is not None:
        step.set_params(norm=normalize)
    chosen = [("texts", step), ("pre", pre), ("method", method)]
    return Pipeline([(name, model) for name, model in chosen if model is not None])


def _model(given: Any, parameter: str) -> Any:
    """Return a method: as given, by its name, or by its name and number of components."""
    if not isinstance(given, str):
        if given is not None and not (hasattr(given, "fit") and hasattr(given, "transform")):
            raise ValueError(
                Message(
                    Owner("recipe"),
                    Setting(parameter),
                    f" must be a method, such as lowland.PCA(2), or its name; got {given!r}",
                )
            )
        return given
    name, colon, number = given.partition(":")
    cls: Any = registry.method(name).load()
    if not colon:
        return cls()
    if not number.strip().isdecimal() or "n_components" not in cls._parameters:
        raise ValueError(
            Message(
                Owner("recipe"),
                Setting(parameter),
                f" must be a name and a number of components, such as 'pca:50'; got {given!r}",
            )
        )
    return cls(n_components=int(number))


def _takes_categories(model: Any) -> bool:
    row = registry.by_class(type(model).__name__)
    return row is not None and row.needs == "rows or categories"


def _scaling(scale: Any) -> Phrase:
    """Return the parameter ``scale`` with its value."""
    return Phrase(f"scale={scale!r}", "--scale" if scale == "standard" else f"--scaler {scale}")


def _check_scaling(scale: str | None, categories: str | None, model: Any) -> None:
    """Refuse to scale columns twice."""
    by_method = getattr(model, "scale", False) is True
    name = type(model).__name__
    setting = Message(Owner("recipe"), _scaling(scale))
    own = Phrase(f"{name}(scale=True)", f"scale=true of {name}")
    if scale is not None and by_method:
        raise ValueError(Message(setting, " and ", own, " both scale the columns; use one of them"))
    if categories == "famd" and by_method:
        famd = Phrase("categories='famd'", "--categories famd")
        raise ValueError(
            Message(
                Owner("recipe"),
                famd,
                " standardises the columns, and ",
                own,
                " would scale its axes; use one of them",
            )
        )
    if categories == "famd" and scale not in (None, "standard"):
        famd = Phrase("categories='famd'", "--categories famd")
        raise ValueError(
            Message(setting, " has no effect, because ", famd, " standardises numbers by itself; leave it out")
        )
    if scale is not None and model is not None and _takes_categories(model):
        raise ValueError(
            Message(setting, f" has no effect, because {name} standardises the columns by itself; leave it out")
        )
