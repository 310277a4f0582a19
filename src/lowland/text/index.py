"""Latent semantic indexing."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self, overload

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..contract import parameters
from ..contract.fit_info import level_of_the_caller
from ..contract.parameters import RANDOM_STATE, AnyOf, Choice, Integer, Rule
from ..core.errors import DataError, LowlandWarning
from ..core.formatting import count
from ..core.message import Message, Setting, message
from ..core.random import seed
from ..methods.steps.encode_texts import EncodeTexts, NoTermsError
from ..rows.row_source import as_rows
from ..spectral import rowspace
from ..spectral.solved import ComponentRule, Scaling
from . import scoring
from .choosing import MAX_CONCEPTS, concepts_needed
from .documents import documents_of, warn_of_empty, warn_of_repeated
from .lookup import check_count, no_coordinates, no_known_terms, no_weights, place_of, query_texts, unknown_words
from .results import Concept, SearchResult, heaviest, strongest
from .updating import drift_of, grown, known_share, unknown_term_share

Array = Any

REFIT_DRIFT = 0.01  # Cranfield: 0.004 after 20 % more documents, 9 of 10 found as by a refit; 0.012 after 50 %
_SQUARE = 2000  # documents or terms whose square is decomposed whole
_BLOCK = 1 << 16  # documents that are projected at a time
_QUERIES = 1 << 25  # scores that a batch of queries holds at a time
_DIGITS = 6  # of scores, for ties to keep the order of the documents: scores are computed in float32
_UNMATCHED = -2.0  # below every cosine: documents without coordinates come last
_TERMS_SHOWN = 5
_RARE = 5  # documents of a term below which `related` leaves it out
_ENCODER = ("features", "stop_words", "ngrams", "min_df", "max_df", "max_features", "hashing")


class LatentSemanticIndex(BaseEstimator):  # type: ignore[misc]
    """Documents that can be searched by meaning: latent semantic indexing (Deerwester et al. 1990).

    X ≈ U Σ Vᵀ of documents × terms;   d = Vᵀx;   score = cos(Σ^½ d, Σ^½ Vᵀq).

    Words that occur in the same documents share concepts (rows of Vᵀ), so a query finds documents that have none of its
    words. Terms and weights are those of the fit; `add` takes in further documents without a refit.

    Parameters
    ----------
    n_components : int or "auto"
        Number of concepts. "auto": as many as hold half of ‖X‖², from 2 to 300.
    features : str
        "log-entropy" (Dumais 1991), "tfidf", "histogram" (shares of words) or "counts", as in `EncodeTexts`.
    stop_words, ngrams, min_df, max_df, max_features, hashing
        As in `lowland.steps.EncodeTexts`; hashing bounds the memory of vocabularies.
    random_state : int, generator or None
        Seed of the iterative solver; None is seed 0.

    Attributes
    ----------
    components_, singular_values_ : array (k, terms), array (k,)
        Concepts as weights of terms (Vᵀ), and their strengths (Σ).
    documents_ : array (N, k)
        Coordinates of the documents, XV = UΣ.
    encoder_ : EncodeTexts
        Terms and weights; ``encoder_.names_out_`` lists the terms.
    ids_, id_column_ : list of str or None, str or None
        Names of the documents, and the column that they are from if it was named.
    held_ : float
        Share of ‖X‖² that the concepts held at the fit.
    n_fitted_, drift_ : int, float
        Documents of the fit; after `add`, the share of what a refit would hold that the index misses.

    Examples
    --------
    >>> import lowland
    >>> texts = ["flutter of a wing", "wing and tail flutter", "heat of a nose", "nose heat in a shock", "wing tail"]
    >>> index = lowland.text.LatentSemanticIndex(2).fit(texts)
    >>> sorted(i for i, score in index.search("tail", k=3))
    [0, 1, 4]
    >>> index.related("flutter", k=2)[0][0]
    'tail'
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": AnyOf((Choice(("auto",)), Integer(1))),
        **{name: EncodeTexts._parameters[name] for name in _ENCODER},
        "random_state": RANDOM_STATE,
    }
    _state: ClassVar[tuple[str, ...]] = (
        *("encoder_", "components_", "singular_values_", "documents_", "ids_", "held_", "energy_", "lost_energy_"),
        *("n_fitted_", "known_share_", "drift_", "indptr_", "indices_", "weights_", "id_column_"),
    )

    encoder_: EncodeTexts
    components_: Array
    singular_values_: Array
    documents_: Array
    ids_: list[str] | None
    id_column_: str | None
    held_: float
    energy_: float
    lost_energy_: float
    n_fitted_: int
    known_share_: float
    drift_: float
    indptr_: Array
    indices_: Array
    weights_: Array

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        features: str = "log-entropy",
        stop_words: str | list[str] | None = "english",
        ngrams: int = 1,
        min_df: int | float = 2,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        hashing: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components, self.features, self.stop_words, self.ngrams = n_components, features, stop_words, ngrams
        self.min_df, self.max_df, self.max_features, self.hashing = min_df, max_df, max_features, hashing
        self.random_state = random_state

    def fit(self, documents: Any, y: None = None, *, column: str | None = None, id: str | None = None) -> Self:
        """Index documents: a list or iterator of texts, a table, a scan, a file (also JSON lines) or a folder of texts.

        ``column`` names the column of text of a table (default: the longest), ``id`` one with names of documents. An
        iterator, a folder of texts, a file of JSON lines and a `lowland.data.scan` are read once, and no text is kept;
        to find the longest of several columns a scan is read once more. Empty documents stay, match nothing, and are
        told by a warning.
        """
        parameters.check(type(self).__name__, self._parameters, self.get_params(deep=False))
        source = documents_of(documents, column, id)
        encoder = EncodeTexts(**{name: getattr(self, name) for name in _ENCODER})
        try:
            X = encoder.learn(source)
        except NoTermsError as error:
            if source.seen:
                raise
            raise DataError(f"{source.name}: there are no documents; give at least one") from error
        n, d = X.shape
        wanted = self.n_components
        if isinstance(wanted, str):
            most = min(n, d, MAX_CONCEPTS)
        elif wanted > min(n, d):
            raise DataError(
                message(
                    f"LatentSemanticIndex: {{n_components}} is more than min(documents, terms) = {min(n, d)} "
                    f"({count(n, 'document')}, {count(d, 'term')}); ask for {min(n, d)} at most",
                    n_components=int(wanted),
                )
            )
        else:
            most = int(wanted)
        energy = float(X.data @ X.data)
        if energy == 0:
            raise no_weights(n, self.features)
        space = self._space(X, most, energy)
        self.__dict__ = {name: value for name, value in vars(self).items() if name[-1:] != "_"}
        self.encoder_, self.ids_, self.n_features_in_ = encoder, source.ids, 1
        self.id_column_ = id
        self.singular_values_ = np.asarray(space.values, dtype=np.float64)
        self.components_ = np.ascontiguousarray(space.directions.T, dtype=np.float32)
        self._keep(X)
        self.documents_ = self._projected(X)
        self.energy_, self.lost_energy_, self.n_fitted_ = energy, 0.0, n
        self.held_ = float((self.singular_values_**2).sum() / energy)
        self.drift_, self.known_share_ = 0.0, 1.0
        warn_of_repeated(self.ids_)
        return self

    def _space(self, X: Any, most: int, energy: float) -> Any:
        """Return the leading singular triplets: of the smaller square where it is small, else by Lanczos."""

        def enough(solved: Any) -> int:
            return concepts_needed(np.sqrt(solved.spectrum[:most]), energy)

        solver = "gram" if X.shape[0] <= X.shape[1] else "covariance"
        if min(X.shape) > _SQUARE and 5 * most <= min(X.shape):
            solver = "lanczos"  # keeps vectors of the shorter side only; strengths of concepts are of similar size
        rule = ComponentRule(count=most, rule=enough if self.n_components == "auto" else None, leading=True)
        scaling = Scaling(False, ddof=0)
        return rowspace.decompose(as_rows(X), rule, scaling, solver=solver, rng=seed(self.random_state))

    def _keep(self, X: Any) -> None:
        """Keep the weights of the terms of each document: they explain scores."""
        self.indptr_, self.indices_ = X.indptr.astype(np.int64), X.indices.astype(np.int32)
        self.weights_ = X.data.astype(np.float32)

    def _projected(self, X: Any) -> Array:
        V = np.ascontiguousarray(self.components_.T)
        out = np.empty((X.shape[0], V.shape[1]), dtype=np.float32)
        for start in range(0, X.shape[0], _BLOCK):
            out[start : start + _BLOCK] = X[start : start + _BLOCK].astype(np.float32) @ V
        return out

    def add(self, documents: Any, *, column: str | None = None, id: str | None = None) -> Self:
        """Take in further documents without a refit, by updating the singular value decomposition (Zha & Simon 1999).

        Terms and weights stay those of the fit; unknown words of the new documents are ignored. ``drift_`` is the share
        of what a refit would hold that this index misses. Beyond 0.01 a refit pays, and a warning says so: below it, 9
        of the 10 first documents are those of a refit. A call that fails leaves the index as it was.
        """
        check_is_fitted(self, "documents_")
        source = documents_of(documents, column, id)
        if self.ids_ is not None and source.ids is None:
            own = getattr(self, "id_column_", None) or "COLUMN"  # older files do not say
            raise DataError(
                Message("the documents of the index have names; add the names of these with ", Setting("id", own))
            )
        if self.ids_ is None and source.ids is not None:
            raise DataError(
                Message("the documents of the index have no names, and these have; remove ", Setting("id"))
                if id is not None
                else "the documents of the index have no names, and these have; give a list of texts"
            )
        texts = list(source)
        if not texts:
            raise DataError("add: there are no documents; give at least one")
        X = self.encoder_.encode(texts)
        warn_of_empty(np.flatnonzero(np.diff(X.indptr) == 0).tolist(), len(texts), source.ids)
        found = grown(self, X)
        old = sp.csr_array((self.weights_, self.indices_, self.indptr_), shape=(self.n_documents, X.shape[1]))
        X = sp.csr_array(sp.vstack([old, X]))
        known = self.n_documents * self.known_share_ + len(texts) * known_share(self, texts)
        known /= X.shape[0]
        drift = drift_of(found.components, X, 1.0 - known)
        self.singular_values_, self.components_, self.documents_ = found.values, found.components, found.documents
        self.energy_, self.lost_energy_ = found.energy, found.lost
        self._keep(X)
        self.known_share_, self._unknown_terms_ = known, unknown_term_share(self, texts)
        self.ids_ = None if self.ids_ is None else [*self.ids_, *(source.ids or [])]
        warn_of_repeated(self.ids_)
        self.__dict__.pop("_norms", None), self.__dict__.pop("_term_vectors", None)
        self.drift_ = drift
        if drift > REFIT_DRIFT:
            warnings.warn(
                f"after the additions a refit would hold {100 * drift:.1f} % more of the documents than this index; "
                "fit it again with all documents",
                LowlandWarning,
                stacklevel=level_of_the_caller(),
            )
        return self

    @property
    def unknown_terms(self) -> float | None:
        """Share of the words of the last `add`, stop words apart, that are no terms; None without any."""
        return getattr(self, "_unknown_terms_", None)

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.documents_)

    @property
    def n_concepts(self) -> int:
        """Number of concepts."""
        return len(self.singular_values_)

    @property
    def terms(self) -> list[str]:
        """The terms, sorted."""
        return self.encoder_.names_out_

    @overload
    def search(self, query: str, k: int = 10) -> SearchResult: ...
    @overload
    def search(self, query: list[str], k: int = 10) -> list[SearchResult]: ...
    def search(self, query: str | list[str], k: int = 10) -> SearchResult | list[SearchResult]:
        """Return the k documents most similar to a query, or to each of a list of queries.

        A query without a known term is an error. The result iterates over pairs (index, score); documents without terms
        come last.
        """
        check_is_fitted(self, "documents_")
        check_count("search", "k", k)
        if isinstance(query, str):
            q = self.encoder_.encode([query])
            if q.nnz == 0:
                raise self._no_terms(query)
            return self._nearest(self._folded(q)[0], k)
        queries = query_texts(query)
        rows = self.encoder_.encode(queries)
        empty = np.flatnonzero(np.diff(rows.indptr) == 0)
        if len(empty):
            raise self._no_terms(queries[empty[0]], f"query {empty[0]}: ")
        Q = self._folded(rows)
        out = []
        for start in range(0, len(Q), step := max(1, _QUERIES // self.n_documents)):
            scores = Q[start : start + step] @ self.documents_.T
            scores /= self._lengths
            out += [self._result(q, s, k) for q, s in zip(Q[start : start + step], scores, strict=True)]
        return out

    def unknown_words(self, query: str) -> list[str]:
        """Return the words of a query that are no terms of the index, which a search ignores."""
        check_is_fitted(self, "documents_")
        return unknown_words(query, self.encoder_)

    def similar(self, document: int | str, k: int = 10) -> SearchResult:
        """Return the k documents most similar to a document, given by its number, or by its name in ``ids_``."""
        check_is_fitted(self, "documents_")
        check_count("similar", "k", k)
        place = place_of(document, self.ids_, self.n_documents)
        d = self.documents_[place : place + 1]
        if not d.any():
            raise no_coordinates(document, bool(self.indptr_[place + 1] > self.indptr_[place]))
        return self._nearest(scoring.queries(d, self.singular_values_)[0], k, leave_out=place)

    def related(self, term: str, k: int = 10) -> list[tuple[str, float]]:
        """Return the k terms with the most similar meaning, as pairs (term, cosine of their rows of VΣ).

        Terms of fewer than 5 documents (√N/2 of small collections) are left out: their place is chance.
        """
        check_is_fitted(self, "documents_")
        check_count("related", "k", k)
        row = self.encoder_.encode([term])
        if row.nnz == 0:
            raise self._no_terms(term)
        vectors = self._terms_unit
        wanted = np.asarray(row.data @ vectors[row.indices])
        scores = vectors @ (wanted / (np.linalg.norm(wanted) or 1.0))
        documents = np.bincount(self.indices_, minlength=len(scores))
        scores[documents < min(_RARE, int(self.n_documents**0.5 / 2))] = -np.inf
        scores[row.indices] = -np.inf
        return [(self.terms[j], float(scores[j])) for j in strongest(scores, k) if np.isfinite(scores[j])]

    def concepts(self, n: int | None = None, *, terms: int = 8, documents: int = 5) -> list[Concept]:
        """Return the first n concepts (default: all) with the terms and documents of the largest weights."""
        check_is_fitted(self, "documents_")
        n = self.n_concepts if n is None else n
        for name, value in (("n", n), ("terms", terms), ("documents", documents)):
            check_count("concepts", name, value)
        out = []
        for c in range(min(n, self.n_concepts)):
            v, d = self.components_[c], self.documents_[:, c]
            own = [(self.terms[j], float(v[j])) for j in heaviest(v, terms)]
            told = [(int(i), float(d[i])) for i in heaviest(d, documents)]
            out.append(Concept(c, float(self.singular_values_[c]), own, told))
        return out

    def transform(self, documents: Any, *, column: str | None = None) -> Array:
        """Return the coordinates Vᵀx of documents, new or old, one by one; nothing is learned from them."""
        check_is_fitted(self, "documents_")
        return self._projected(self.encoder_.encode(documents_of(documents, column)))

    def project(self, documents: Any = None, n: int = 2) -> Array:
        """Return coordinates on the first n concepts, for pictures: of the indexed documents, or of others."""
        check_is_fitted(self, "documents_")
        check_count("project", "n", n)
        if n > self.n_concepts:
            raise DataError(
                f"project: the index has {count(self.n_concepts, 'concept')}, so n must be at most that; got {n}"
            )
        return np.array((self.documents_ if documents is None else self.transform(documents))[:, :n])

    def _folded(self, rows: Any) -> Array:
        """Return the coordinates of queries as what documents are multiplied with."""
        V = self.components_
        if rows.shape[0] == 1:
            Z = (V[:, rows.indices] @ rows.data.astype(np.float32))[None]
        else:
            Z = np.asarray(rows.astype(np.float32) @ V.T)
        return scoring.queries(Z, self.singular_values_)

    @property
    def _lengths(self) -> Array:
        if "_norms" not in self.__dict__:
            self._norms = scoring.lengths(self.documents_, self.singular_values_)
        return self._norms

    @property
    def _terms_unit(self) -> Array:
        if "_term_vectors" not in self.__dict__:
            T = self.components_.T * self.singular_values_.astype(np.float32)
            lengths = np.linalg.norm(T, axis=1, keepdims=True)
            self._term_vectors = T / np.where(lengths > 0, lengths, 1.0)
        return self._term_vectors

    def _nearest(self, q: Array, k: int, leave_out: int | None = None) -> SearchResult:
        scores = self.documents_ @ q
        scores /= self._lengths
        if leave_out is not None:
            scores[leave_out] = -np.inf
        return self._result(q, scores, min(k, self.n_documents - (leave_out is not None)))

    def _result(self, q: Array, scores: Array, k: int) -> SearchResult:
        order = scores.round(_DIGITS)
        order[np.isinf(self._lengths) & np.isfinite(scores)] = _UNMATCHED
        places = strongest(order, k)
        ids = None if self.ids_ is None else [self.ids_[i] for i in places]
        return SearchResult(places, scores[places].astype(np.float64), ids, lambda found: self._parts(q, found))

    def _parts(self, q: Array, places: Array) -> list[list[tuple[str, float]]]:
        """Return the terms of documents with the largest parts x_t (v_t · q) / |Σ^½ d| in the score, their sum."""
        out = []
        for i in places:
            own = slice(self.indptr_[i], self.indptr_[i + 1])
            columns = self.indices_[own]
            parts = self.weights_[own] * (q @ self.components_[:, columns]) / self._lengths[i]
            best = strongest(parts, _TERMS_SHOWN)
            out.append([(self.terms[columns[j]], float(parts[j])) for j in best if parts[j] > 0])
        return out

    def _no_terms(self, query: str, place: str = "") -> DataError:
        return no_known_terms(query, [] if self.hashing else self.terms, place)

    def __getstate__(self) -> dict[str, Any]:
        return {n: v for n, v in super().__getstate__().items() if n not in ("_norms", "_term_vectors")}

    def __len__(self) -> int:
        return self.n_documents if "documents_" in self.__dict__ else 0

    def __bool__(self) -> bool:
        return True
