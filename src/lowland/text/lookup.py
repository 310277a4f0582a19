"""Documents of an index by name or number, and what to say of queries and documents that cannot be compared."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError
from ..core.message import Message, Owner, Phrase, Setting
from ..core.whole import is_whole
from ..methods.steps.words import words

if TYPE_CHECKING:
    from ..methods.steps.encode_texts import EncodeTexts

_LONGEST = 60  # letters of a query that a message repeats
_COMPARED = 100_000  # terms at most that a misspelt word is compared with


def place_of(document: Any, ids: list[str] | None, n: int) -> int:
    """Return the number of a document, given by its name or by its number, which may count from the end.

    >>> place_of("b", ["a", "b"], 2), place_of(-2, None, 2)
    (1, 0)
    """
    if isinstance(document, bool) or not isinstance(document, str | numbers.Integral):
        raise DataError(f"a document is given by its number or its name; got {document!r}")
    if isinstance(document, str):
        if ids is not None and document in ids:
            return ids.index(document)
        near = difflib.get_close_matches(document, ids or [], n=3)
        hint = f"; similar names: {', '.join(near)}" if near else ""
        way = Phrase("; search(text) finds texts", "; `lowland text search` finds texts by their words")
        raise DataError(Message(f"the index has no document named {document!r}{hint}", way))
    number = int(document)
    if not -n <= number < n:
        if ids is not None:
            raise DataError(
                f"document {number} is not one of the {n:,} documents: they have ids, such as {ids[0]!r} and "
                f"{ids[-1]!r}; as a number, counted from 0, it must be less than {n:,}"
            )
        raise DataError(f"document {number} is not one of the {n:,} documents, counted from 0")
    return number % n


def check_count(owner: str, name: str, value: Any) -> None:
    """Raise unless a number of results is a whole number of at least 1."""
    if not is_whole(value, 1):
        raise DataError(Message(Owner(owner), Setting(name), f" must be a whole number ≥ 1; got {value!r}"))


def query_texts(query: Any) -> list[str]:
    """Return several queries as a list; anything but texts is an error."""
    queries = list(query) if isinstance(query, Iterable) else [query]
    for one in queries:
        if not isinstance(one, str):
            raise DataError(Message(Owner("search"), f"a query is a text, or a list of texts; got {one!r}"))
    return queries


def unknown_words(query: str, encoder: EncodeTexts) -> list[str]:
    """Return the words of a query that are no terms and no stop words.

    Of hashed columns, whose words have no names, there are none.

    >>> import lowland
    >>> step = lowland.steps.EncodeTexts(min_df=1)
    >>> _ = step.fit(["a wing", "a nose"])
    >>> unknown_words("The wing of a Condor", step)
    ['condor']
    """
    if encoder.hashing:
        return []
    vectorizer = encoder._new_vectorizer(None)
    left_out, known = vectorizer.get_stop_words() or (), set(encoder.names_out_)
    found = dict.fromkeys(words(query.lower()))
    return [word for word in found if word not in known and word not in left_out]


def spelt_like(word: str, terms: Sequence[str]) -> list[str]:
    """Return up to three terms that are spelt like a word.

    >>> spelt_like("flutterr", ["flow", "flutter", "flutters"])
    ['flutter', 'flutters']
    """
    return difflib.get_close_matches(word.lower(), terms[:_COMPARED], n=3)


def no_known_terms(query: str, terms: Sequence[str], place: str = "") -> DataError:
    """Return the error for a query that has none of the terms, with terms that are spelt like it."""
    if not query.strip():
        return DataError(f"{place}the query is empty; write at least one word")
    shown = query if len(query) <= _LONGEST else query[: _LONGEST - 1] + "…"
    near = spelt_like(query, terms)
    hint = f"; similar terms: {', '.join(near)}" if near else "; write words that occur in the documents"
    return DataError(f"{place}none of the words of {shown!r} is a term of the index{hint}")


def no_coordinates(document: int | str, has_terms: bool) -> DataError:
    """Return the error for a document with coordinates 0: it has no terms, or only terms of concepts not kept."""
    if not has_terms:
        return DataError(f"document {document!r} has no terms, so nothing is similar to it")
    more = Phrase("fit with more n_components", "index the texts with more --components")
    return DataError(Message(f"none of the concepts of the index has a term of document {document!r}; ", more))


def no_weights(n: int, features: str) -> DataError:
    """Return the error for documents whose weights are all 0: every term occurs equally often in each of them."""
    equal = f"every term occurs equally often in each of the {n:,} documents, and {features} gives such terms no weight"
    return DataError(Message(f"{equal}; give more documents, or use ", Setting("features", "tfidf")))
