"""Documents of an index by name or number, and what to say of queries and documents that cannot be compared."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ..core.errors import DataError
from ..core.message import Message, Phrase, Setting

_LONGEST = 60  # letters of a query that a message repeats
_COMPARED = 100_000  # terms at most that a misspelt word is compared with


def place_of(document: int | str, ids: list[str] | None, n: int) -> int:
    """Return the number of a document, given by its name or by its number, which may count from the end.

    >>> place_of("b", ["a", "b"], 2), place_of(-2, None, 2)
    (1, 0)
    """
    if isinstance(document, str):
        if ids is not None and document in ids:
            return ids.index(document)
        near = difflib.get_close_matches(document, ids or [], n=3)
        hint = f"; similar names: {', '.join(near)}" if near else ""
        way = Phrase("; search(text) finds texts", "; `lowland text search` finds texts by their words")
        raise DataError(Message(f"the index has no document named {document!r}{hint}", way))
    if not -n <= document < n:
        raise DataError(f"document {document} is none of the {n:,} documents, counted from 0")
    return int(document) % n


def no_known_terms(query: str, terms: Sequence[str], place: str = "") -> DataError:
    """Return the error for a query that has none of the terms, with terms that are spelt like it."""
    if not query.strip():
        return DataError(f"{place}the query is empty; write at least one word")
    shown = query if len(query) <= _LONGEST else query[: _LONGEST - 1] + "…"
    near = difflib.get_close_matches(query.lower(), terms[:_COMPARED], n=3)
    hint = f"; similar terms: {', '.join(near)}" if near else "; write words that occur in the documents"
    return DataError(f"{place}none of the words of {shown!r} is a term of the index{hint}")


def no_weights(n: int, features: str) -> DataError:
    """Return the error for documents whose weights are all 0: every term occurs equally often in each of them."""
    equal = f"every term occurs equally often in each of the {n:,} documents, and {features} gives such terms no weight"
    return DataError(Message(f"{equal}; give more documents, or use ", Setting("features", "tfidf")))
