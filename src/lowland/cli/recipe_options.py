"""Options of the steps between a table and a method, the same on every command that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from .answer import UsageError
from .name_lists import split_names

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

ALL = "all"  # columns of numbers
_FUNCTIONS = ("log", "log1p", "sqrt", "rank", "clr", "hellinger")
_KINDS = ("number", "category", "date", "dmy", "mdy")
TEXT_OPTIONS = ("stop_words", "ngrams", "min_df", "max_df")
STEPS = Group("Steps before the method", sort_key=20)


@Parameter(name="*", group=STEPS)
@dataclass(frozen=True)
class RecipeOptions:
    """The steps between the table and the method; the defaults add none."""

    types: Annotated[
        tuple[str, ...],
        Parameter(
            help="Types of columns, as kind=columns, such as category=stage,code; kinds: number, category, date, and "
            "dmy or mdy for dates such as 01/02/2024 with the day or the month first. May be repeated.",
            show_default=False,
        ),
    ] = ()
    dates: Annotated[
        Literal["elapsed", "cyclic", "drop"] | None,
        Parameter(help="Dates: elapsed (days since the first), cyclic (position in year, week, day), drop (default)."),
    ] = None
    transform: Annotated[
        tuple[str, ...],
        Parameter(
            help="Functions of columns, as function=columns, such as log=crp,ferritin or sqrt=all (all columns of "
            "numbers); functions: log, log1p, sqrt, rank, clr, hellinger. May be repeated.",
            show_default=False,
        ),
    ] = ()
    missing: Annotated[
        Literal["error", "drop-rows", "mean", "median", "ppca"] | None,
        Parameter(
            help="Missing numbers: error (default), drop-rows, or filled by mean, median or ppca (probabilistic PCA)."
        ),
    ] = None
    missing_category: Annotated[
        Literal["error", "level", "mode"] | None,
        Parameter(help="Missing categories: error (default), level (a level of their own), mode (the most frequent)."),
    ] = None
    categories: Annotated[
        Literal["famd", "one-hot", "drop"] | None,
        Parameter(
            help="Columns of text: famd (axes of factor analysis of mixed data), one-hot (one column for each level), "
            "drop (default; the method famd takes them as they are)."
        ),
    ] = None
    texts: Annotated[
        Literal["tfidf", "log-entropy", "histogram", "counts"] | None,
        Parameter(
            help="Reduce the texts of the column --text by their words: each word becomes a column of weights (tfidf, "
            "log-entropy), shares of the text (histogram) or counts."
        ),
    ] = None
    stop_words: Annotated[
        str | None,
        Parameter(help="Words that --texts does not count: english (default), none, or a file with one word a line."),
    ] = None
    ngrams: Annotated[int | None, Parameter(help="Longest run of words that --texts counts as a term. Default: 1.")] = (
        None
    )
    min_df: Annotated[
        float | None,
        Parameter(help="Fewest texts in which a term of --texts must occur: a number, or a share below 1. Default: 2."),
    ] = None
    max_df: Annotated[
        float | None,
        Parameter(help="Most texts in which a term of --texts may occur: a number, or a share below 1. Default: all."),
    ] = None
    scaler: Annotated[
        Literal["standard", "robust", "minmax"] | None,
        Parameter(
            help="Scale columns: standard (unit variance, as --scale), robust (median, quartiles), minmax (0 to 1)."
        ),
    ] = None
    normalize: Annotated[Literal["l2"] | None, Parameter(help="l2: divide each row by its Euclidean length.")] = None
    pre: Annotated[
        str | None, Parameter(help="Reduce with this method first, as method:components, such as pca:50.")
    ] = None
    unseen: Annotated[
        Literal["error", "ignore"] | None,
        Parameter(
            help="Categories of new rows that the training rows do not have, or that are missing: error (default) or "
            "ignore."
        ),
    ] = None

    @property
    def needed(self) -> bool:
        """Whether an option asks for a step."""
        return self != RecipeOptions()

    @property
    def keeps_categories(self) -> bool:
        """Whether categories reach the method, so that FAMD can code them."""
        return all(option is None for option in (self.texts, self.categories, self.normalize, self.pre))

    @property
    def sets_units(self) -> bool:
        """Whether a step decides how much each column counts, so that --scale is no remedy any more."""
        return (
            self.texts is not None
            or self.categories == "famd"
            or any(option is not None for option in (self.scaler, self.normalize, self.pre))
        )

    def refuse_unseen(self) -> None:
        """Raise `UsageError` for --unseen on a command without new rows."""
        if self.unseen is not None:
            raise UsageError(
                f"--unseen {self.unseen} is for new rows, and this command has none: remove it (reduce and transform "
                "take it)"
            )

    def steps(
        self, method: Any, columns: Sequence[str] | None = None, drop: Sequence[str] = (), *, scale: bool = False
    ) -> Pipeline:
        """Return the steps for a method, unfitted; ``scale``: with unit variance."""
        from ..recipes import recipe

        if scale and self.scaler not in (None, "standard"):
            raise UsageError(f"--scale and --scaler {self.scaler} both scale the columns; use one of them")
        if self.pre is not None and not all(self.pre.partition(":")[::2]):
            raise UsageError(f"--pre {self.pre}: write it as method:components, such as --pre pca:50")
        made = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in TEXT_OPTIONS}
        made["texts"] = self.encoder()
        if made["texts"] is not None and (self.dates or self.unseen):
            raise UsageError(f"{'--dates' if self.dates else '--unseen'} has no effect on texts; remove it")
        made["scale"] = made.pop("scaler") or ("standard" if scale else None)
        made |= {"types": self.column_types(), "transform": self.functions(), "dates": self.dates or "drop"}
        if self.missing == "drop-rows":
            made["missing"] = None  # done when the rows are read
        if self.texts is None and self.categories is None and not _takes_categories(method):
            made["categories"] = "drop"
        made = {name: value for name, value in made.items() if value}
        try:
            whole = recipe(method, columns=columns, drop=list(drop) or None, **made)
        except ValueError as error:
            raise UsageError(error.args[0]) from error
        return whole if method is None else whole[:-1]

    def encoder(self) -> Any:
        """Return the step that turns texts into numbers, or None."""
        given = {name: getattr(self, name) for name in TEXT_OPTIONS if getattr(self, name) is not None}
        if self.texts is None:
            if given:
                raise UsageError(f"--{next(iter(given)).replace('_', '-')} needs --texts, such as --texts tfidf")
            return None
        from ..methods.steps import EncodeTexts

        if self.stop_words is not None:
            given["stop_words"] = stop_word_list(self.stop_words)
        for name in ("min_df", "max_df"):
            if (limit := given.get(name)) is not None and limit >= 1:
                given[name] = int(limit)
        return EncodeTexts(self.texts, **given)

    def column_types(self) -> dict[str, str]:
        """Return the kind of each column that --types names."""
        found = _assigned(self.types, "--types")
        for kind in found:
            if kind not in _KINDS:
                raise UsageError(f"--types: there is no kind {kind!r}; choose {', '.join(_KINDS)}")
        return {name: kind for kind, names in found.items() for name in names}

    def functions(self) -> dict[str, list[str] | str]:
        """Return the columns of each function that --transform names; "all" stands for all columns of numbers."""
        found = _assigned(self.transform, "--transform")
        for name in found:
            if name not in _FUNCTIONS:
                raise UsageError(f"--transform: there is no function {name!r}; choose {', '.join(_FUNCTIONS)}")
        return {name: ALL if columns == [ALL] else columns for name, columns in found.items()}

    def words(self) -> dict[str, Any]:
        """Return the options for a command line with the same steps."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def stop_word_list(text: str) -> str | list[str] | None:
    """Return the stop words: of a language, none, or those of a file."""
    if text.lower() in ("english", "none"):
        return None if text.lower() == "none" else "english"
    file = Path(text)
    if not file.is_file():
        raise UsageError(f"--stop-words {text}: write english, none, or the name of a file with one word a line")
    from ..core.errors import DataError

    try:
        return [word.lower() for word in file.read_text(encoding="utf-8").split()]
    except UnicodeDecodeError as error:
        raise DataError(f"{file.name}: stop words must be in a UTF-8 text file") from error


def _assigned(texts: Sequence[str], option: str) -> dict[str, list[str]]:
    """Read ``word=column,column``."""
    found: dict[str, list[str]] = {}
    for text in texts:
        word, equals, names = text.partition("=")
        if not equals or not word.strip():
            example = "--types category=stage" if option == "--types" else "--transform log=crp,ferritin"
            raise UsageError(f"{option} {text}: write it as word=columns, such as {example}")
        found.setdefault(word.strip(), []).extend(split_names([names], option) or [])
    return found


def _takes_categories(method: Any) -> bool:
    from ..contract import registry

    row = registry.by_class(type(method).__name__)
    return row is not None and "categories" in row.needs
