"""Texts as numbers: words counted and weighted."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
import polars as pl
import scipy.sparse as sp

from ...contract.fit_info import level_of_the_caller
from ...contract.parameters import AnyOf, Choice, ColumnList, Integer, Nothing, Real, Rule
from ...core.errors import DataError, DegenerateWarning
from ...core.formatting import count
from ...core.message import CountedItem, Message, Phrase, Remedies, Setting
from . import frames
from .rules import StopWords
from .step import Step
from .text_weights import FEATURES, global_weights, weighted
from .training_rows import Passes, TrainingRows
from .unfamiliar_terms import excess_of_unknown, summary, weight_of_unknown
from .words import words

Array = Any
Column = str | int

_SHARE_OR_COUNT = AnyOf((Integer(1), Real(0, 1, closed=True)))


class NoTermsError(DataError):
    """The training texts contain no terms."""


class EncodeTexts(Step):
    """Turn a column of texts into sparse rows: a column for each term, weighted.

    Terms are the words of two or more letters or digits, in lower case (scikit-learn's `CountVectorizer`), and runs of
    up to ``ngrams`` of them. Of scripts without spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese)
    they are pairs of neighbouring letters. Terms and weights are learned from the training texts; unknown words of new
    texts are ignored. A missing text is an empty text; a text without known terms is a row of zeros.

    Parameters
    ----------
    features : str
        For c occurrences of a term: "tfidf": (1 + ln c)(1 + ln((1 + N)/(1 + n))) for a term in n of N texts;
        "log-entropy": ln(1 + c) times 1 for a term of one text, down to 0 for a term spread evenly; "histogram": c/|x|,
        the share of the term in the text; "counts": c.
    columns : list of column names or numbers, or None
        Columns of text, joined in this order. None: the only column of text.
    stop_words : str, list of str or None
        Words that are not counted: "english" (scikit-learn's list), a list, or None.
    ngrams : int
        Longest run of words that is a term: 2 adds pairs of consecutive words.
    min_df, max_df : int or float
        Fewest and most texts in which a term occurs: a number of texts (int) or a share of them (float).
    max_features : int or None
        Keep the terms with the most occurrences, at most this many.
    hashing : int or None
        Count into this many hashed columns instead of listing terms, which bounds memory for very large vocabularies;
        terms then have no names.
    norm : str or None
        "auto": rows of unit Euclidean length for "tfidf" and "log-entropy"; "l2": for all; None: for none.

    Attributes
    ----------
    names_out_ : list of str
        The terms, sorted; of hashed columns their numbers, such as "#1742".
    weights_ : array
        Weight of each term.
    n_texts_ : int
        Number of training texts.
    buckets_ : array or None
        Hashed columns that are used.

    References
    ----------
    Salton & Buckley (1988), Information Processing & Management 24; Dumais (1991), Behavior Research Methods 23.

    Examples
    --------
    >>> import lowland
    >>> step = lowland.steps.EncodeTexts("histogram", min_df=1)
    >>> step.fit_transform(["the wing, the flow", "flow over a wing: flow"]).toarray().round(3).tolist()
    [[0.5, 0.5], [0.667, 0.333]]
    >>> step.names_out_
    ['flow', 'wing']
    """

    in_passes: ClassVar[bool] = False
    _parameters: ClassVar[Mapping[str, Rule]] = {
        "features": Choice(FEATURES),
        "columns": AnyOf((Nothing(), ColumnList())),
        "stop_words": AnyOf((Nothing(), StopWords())),
        "ngrams": Integer(1),
        "min_df": _SHARE_OR_COUNT,
        "max_df": _SHARE_OR_COUNT,
        "max_features": AnyOf((Nothing(), Integer(1))),
        "hashing": AnyOf((Nothing(), Integer(2))),
        "norm": AnyOf((Nothing(), Choice(("auto", "l2")))),
    }

    weights_: Array
    n_texts_: int
    buckets_: Array | None
    unfamiliar_: dict[str, Any]  # of the training texts: see `unfamiliar_terms`

    def __init__(
        self,
        features: str = "tfidf",
        *,
        columns: list[Column] | None = None,
        stop_words: str | list[str] | None = "english",
        ngrams: int = 1,
        min_df: int | float = 2,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        hashing: int | None = None,
        norm: str | None = "auto",
    ) -> None:
        self.features, self.columns, self.stop_words, self.ngrams = features, columns, stop_words, ngrams
        self.min_df, self.max_df, self.max_features = min_df, max_df, max_features
        self.hashing, self.norm = hashing, norm

    def describe(self) -> str:
        """Return the features and the number of terms."""
        named = {"tfidf": "tf-idf", "log-entropy": "log-entropy weights", "histogram": "shares", "counts": "counts"}
        return f"texts as {named[self.features]} of {count(len(self.names_out_), 'term')}"

    def origin(self) -> None:
        """Return None: the columns before are texts, so terms are the first columns of numbers."""
        return

    # -- texts --------------------------------------------------------------------------------------------

    def learn(self, texts: Iterable[str]) -> Any:
        """Learn terms and weights from texts, which are read once, and return their rows."""
        if not hasattr(self, "names_in_"):  # texts without a table
            self.names_in_, self.kinds_in_, self.n_features_in_ = ["x0"], [frames.CATEGORY], 1
        vectorizer = self._new_vectorizer(None)
        counts = sp.csr_array(self._count_new(vectorizer, texts))
        if counts.shape[0] == 0:
            raise DataError("EncodeTexts: there are no texts; give at least one")
        keep = self._kept(counts)
        names = None if self.hashing else vectorizer.get_feature_names_out()
        self.buckets_ = keep if self.hashing else None
        self.names_out_ = [f"#{b}" for b in keep] if names is None else names[keep].tolist()
        whole, counts = counts, counts if len(keep) == counts.shape[1] else sp.csr_array(counts[:, keep])
        counts.sort_indices()
        self.n_texts_, self.weights_ = counts.shape[0], global_weights(counts, self.features)
        rows = weighted(counts, self.features, self.weights_, self._row_norm)
        self._check_rows(rows)
        unit = weight_of_unknown(self.features, self.n_texts_)
        found = summary(whole, keep, self.weights_, unit, self._least(self.n_texts_))
        if found is not None:
            self.unfamiliar_ = dict(found)
        return rows

    def encode(self, texts: Iterable[str]) -> Any:
        """Return the rows of texts, one by one; nothing is learned."""
        if not hasattr(self, "_vectorizer"):
            self._vectorizer = self._new_vectorizer(None if self.hashing else self.names_out_)
        counts = sp.csr_array(self._vectorizer.transform(texts))
        if self.buckets_ is not None:
            counts = sp.csr_array(counts[:, self.buckets_])
        counts.sort_indices()
        return weighted(counts, self.features, self.weights_, self._row_norm)

    def unfamiliar(self, X: Any) -> tuple[Array, list[str]]:
        """Return by how much the unknown terms of each text exceed those of training texts; and them, in words."""
        analyze, told = self._new_vectorizer(None).build_analyzer(), self.unfamiliar_
        texts = _texts(self._rows(X)[0])
        if not hasattr(self, "_vectorizer"):
            self.encode([])
        counts = sp.csr_array(self._vectorizer.transform(texts))
        counts = counts if self.buckets_ is None else sp.csr_array(counts[:, self.buckets_])
        sizes = np.array([len(analyze(text)) for text in texts], dtype=np.float64)
        unknown, unit = sizes - counts.sum(axis=1), weight_of_unknown(self.features, self.n_texts_)
        known = counts @ self.weights_
        found = excess_of_unknown(known, unit * unknown, unit, told["mean"], told["variance"])
        return found, [f"{u:,.0f} of {count(int(n), 'term')} unknown" for u, n in zip(unknown, sizes, strict=True)]

    def _least(self, n: int) -> float:
        """Return in how many of n texts a term must occur."""
        return float(self.min_df if isinstance(self.min_df, (int, np.integer)) else self.min_df * n)

    @property
    def _row_norm(self) -> str | None:
        return (None if self.features in ("histogram", "counts") else "l2") if self.norm == "auto" else self.norm

    def _new_vectorizer(self, terms: Sequence[str] | None) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

        left = self.stop_words if self.stop_words is None or isinstance(self.stop_words, str) else [*self.stop_words]
        shared: dict[str, Any] = {"stop_words": left, "ngram_range": (1, self.ngrams), "dtype": np.float64}
        shared |= {"tokenizer": words, "token_pattern": None}
        if self.hashing:
            return HashingVectorizer(n_features=self.hashing, norm=None, alternate_sign=False, **shared)
        return CountVectorizer(vocabulary=None if terms is None else {t: i for i, t in enumerate(terms)}, **shared)

    def _count_new(self, vectorizer: Any, texts: Iterable[str]) -> Any:
        """Return the counts of terms (texts × terms); a vectorizer that does not hash learns all terms."""
        if self.hashing:
            return vectorizer.transform(texts)
        try:
            return vectorizer.fit_transform(texts)
        except ValueError as error:
            if "empty vocabulary" not in str(error):
                raise
            self._refuse_words()

    def _refuse_words(self) -> NoReturn:
        raise NoTermsError(
            Message(
                "EncodeTexts: the texts contain no terms: they are empty, or all of their words are stop words or have "
                "one letter; correct the column, or count stop words with ",
                Phrase("stop_words=None", "--stop-words none"),
            )
        )

    def _kept(self, counts: Any) -> Array:
        """Return the columns of the terms that occur in enough texts, and not in too many."""
        n, occurring = counts.shape[0], np.bincount(counts.indices, minlength=counts.shape[1])
        if not occurring.any():
            self._refuse_words()
        low, high = (
            limit if isinstance(limit, (int, np.integer)) else limit * n for limit in (self.min_df, self.max_df)
        )
        keep = np.flatnonzero((occurring >= max(low, 1)) & (occurring <= high))
        if not len(keep):
            raise _no_frequent_terms(int((occurring > 0).sum()), n, low, high)
        if self.max_features is not None and len(keep) > self.max_features:
            totals = np.bincount(counts.indices, weights=counts.data, minlength=counts.shape[1])[keep]
            keep = np.sort(keep[np.argsort(-totals, kind="stable")[: self.max_features]])
        return keep

    def _check_rows(self, rows: Any, which: str = "") -> None:
        empty = int((np.diff(rows.indptr) == 0).sum())
        if empty:
            first = int(np.argmax(np.diff(rows.indptr) == 0))
            item, n = CountedItem("text", first), f"{rows.shape[0]:,}"
            text = Message(item, f" has no terms{which}; its row is zeros")
            if empty > 1:
                text = Message(
                    f"{empty:,} texts of {n} have no terms{which} (the first is ", item, "); their rows are zeros"
                )
            warnings.warn(text, DegenerateWarning, stacklevel=level_of_the_caller())

    # -- tables -------------------------------------------------------------------------------------------

    def _frame(self, X: Any) -> tuple[pl.DataFrame, bool]:
        if isinstance(X, pl.Series) or (hasattr(X, "iloc") and not hasattr(X, "columns")):
            X = list(X)
        if isinstance(X, np.ndarray) and X.ndim == 1:
            X = X.tolist()
        if isinstance(X, list | tuple) and (not X or any(isinstance(text, str) for text in X)):
            for i, text in enumerate(X):
                if text is not None and not isinstance(text, str) and text == text:
                    raise DataError(f"EncodeTexts: item {i} is a {type(text).__name__}, not a text", row=i)
            return pl.DataFrame(
                {"x0": pl.Series([t if isinstance(t, str) else None for t in X], dtype=pl.String)}
            ), False
        return super()._frame(X)

    def _choose(self, rows: TrainingRows) -> list[str]:
        frame = rows.whole("EncodeTexts")
        if self.columns is not None:
            return frames.positions(frame.columns, self.columns, "EncodeTexts", "columns")
        texts = [c.name for c in frame.iter_columns() if c.dtype in (pl.String, pl.Categorical, pl.Enum)]
        if len(texts) == 1:
            return texts
        if not texts:
            raise DataError(f"EncodeTexts: none of the {count(frame.width, 'column')} contains texts")
        listed = ", ".join(map(repr, texts[:5])) + (", …" if len(texts) > 5 else "")
        raise DataError(f"EncodeTexts: {len(texts)} columns contain texts ({listed}); name one in columns")

    def _learn(self, rows: TrainingRows) -> Passes:
        yield from ()
        frame = rows.whole("EncodeTexts")
        for number, (name, kind) in enumerate(zip(self.names_in_, self.kinds_in_, strict=True)):
            if kind != frames.CATEGORY:
                raise DataError(f"EncodeTexts: column {name!r} holds {frame.schema[name]}, not texts", column=number)

    def _apply(self, frame: pl.DataFrame) -> Any:
        made = self.encode(_texts(frame))
        self._check_rows(made, " that the training texts have")
        return made

    def fit(self, X: Any, y: Any = None) -> EncodeTexts:
        """Learn terms and weights; ``y`` is there for pipelines and not used."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn terms and weights and return the rows of the training texts, which are read once."""
        rows = self._fit(X)  # the column, and that it holds texts
        with self._forgetting():
            return self.learn(_texts(rows.whole("EncodeTexts")))

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("_vectorizer", None)

    def _output(self, frame: Any, X: Any, named: bool) -> Any:
        return frame  # sparse rows whatever `set_output` says: tables have no sparse columns

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_vectorizer"}

    @property
    def inverse_transform(self) -> Any:
        """Not available: the order of words is lost."""
        raise AttributeError("EncodeTexts has no inverse_transform: the order of words is lost")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _no_frequent_terms(terms: int, n: int, low: float, high: float) -> DataError:
    limits, remedies = [], []
    if low > 1:
        limits.append(f"at least {low:g}")
        remedies.append(Message("set ", Setting("min_df", 1)))
    if high < n:
        limits.append(f"at most {high:g}")
        remedies.append(Message("raise ", Setting("max_df")))
    found = f"none of the {count(terms, 'term')} of {count(n, 'text')} occurs in {' and '.join(limits)} of them; "
    return DataError(Message("EncodeTexts: ", found, Remedies(*remedies)))


def _texts(frame: pl.DataFrame) -> list[str]:
    """Return a text for each row: its columns joined."""
    texts = [column.cast(pl.String).fill_null("") for column in frame.iter_columns()]
    if len(texts) == 1:
        return texts[0].to_list()
    return frame.select(pl.concat_str(texts, separator="\n")).to_series().to_list()
