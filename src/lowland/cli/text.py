"""`lowland text`: index texts, search them by meaning, add further ones, and list concepts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table

from ..core.command_line import command_line
from ..core.errors import DataError, ModelFileError
from ..core.formatting import count
from .answer import Answer, UsageError, note
from .options import COMPONENTS, OUT, Common
from .stream_options import Stream

if TYPE_CHECKING:
    from ..text import LatentSemanticIndex, SearchResult
    from ..text.documents import Documents

_ALL = 0.999  # share of the squared weights
_NOTHING = 1e-6  # scores up to this are rounding
_WRITTEN = {"model": "--out"}
_STREAMED = ".csv, .parquet, .arrow, .jsonl or a folder of .txt files"
INDEX_KEYS = {
    "index": "the file that was written",
    "documents": "number of documents",
    "terms": "number of terms",
    "concepts": "number of concepts",
    "held": "share of the squared weights that the concepts hold",
}
SEARCH_KEYS = {
    "query": "the query, or the document",
    "results": "the most similar documents: index (from 0), id (or null), score, terms with their parts in the score",
}
ADD_KEYS = {
    **INDEX_KEYS,
    "added": "number of added documents",
    "unknown_terms": "share of the words of the added documents, stop words apart, that are no terms of the index; "
    "null if that is not known",
    "drift": "share of the squared weights that a new index would represent and this one does not",
}
CONCEPT_KEYS = {
    "concepts": "for each: number, strength, terms and documents with their weights",
}

Docs = Annotated[
    Path,
    Parameter(help="Texts: a folder of .txt files, a table with a column of texts (also .jsonl, .gz), or a pattern."),
]
IndexFile = Annotated[Path, Parameter(help="Index written by `lowland text index`.")]
TextColumn = Annotated[str | None, Parameter(help="Column of the texts. Default: text, or the column with most text.")]
NameColumn = Annotated[
    str | None, Parameter(name="--id", help="Column with the name of each document, shown in results.")
]
Top = Annotated[int, Parameter(name=("--top", "-k"), help="Number of documents to list.")]
IndexOut = Annotated[Path, Parameter(name=OUT, help="Write the index here, such as docs.lowland.")]


def index(
    docs: Docs,
    /,
    *,
    out: IndexOut,
    text: TextColumn = None,
    id: NameColumn = None,
    components: Annotated[
        int | None,
        Parameter(
            name=COMPONENTS, help="Number of concepts. Default: as many as hold half of the squared weights, 2 to 300."
        ),
    ] = None,
    features: Annotated[
        Literal["log-entropy", "tfidf", "histogram", "counts"],
        Parameter(
            help="Weights of words: log-entropy and tfidf favour words of few texts; histogram: the share of the text; "
            "counts: how often they occur."
        ),
    ] = "log-entropy",
    stop_words: Annotated[
        str, Parameter(help="Words that are not counted: english, none, or a file with one word a line.")
    ] = "english",
    ngrams: Annotated[int, Parameter(help="Longest run of words that is a term.")] = 1,
    min_df: Annotated[float, Parameter(help="Fewest texts of a term: a number, or a share below 1.")] = 2,
    max_df: Annotated[
        float | None, Parameter(help="Most texts of a term: a number, or a share below 1. Default: all.")
    ] = None,
    hashing: Annotated[
        int | None,
        Parameter(help="Count into this many hashed columns instead of listing terms, for very large vocabularies."),
    ] = None,
    seed: Annotated[int | None, Parameter(help="Seed of the iterative solver. Default: 0.")] = None,
    stream: Stream = False,
    common: Common | None = None,
) -> Answer:
    """Index texts, so that they can be searched by meaning (latent semantic indexing).

    Example: lowland text index docs.jsonl --out docs.lowland
    """
    from ..modelfile import save
    from ..text import LatentSemanticIndex
    from .outputs import check_outputs
    from .recipe_options import stop_word_list

    check_outputs(_WRITTEN, model=out, inputs=(docs,))
    made = LatentSemanticIndex(
        "auto" if components is None else components,
        features=features,
        stop_words=stop_word_list(stop_words),
        ngrams=ngrams,
        min_df=_limit(min_df),
        max_df=1.0 if max_df is None else _limit(max_df),
        hashing=hashing,
        random_state=seed,
    )
    source = _documents(docs, text, id, stream)
    _checked(made.fit, source, id=id)
    if source.passes is not None:
        times = "once" if source.passes == 1 else "twice, first to find the column with most text"
        note(f"{source.name}: {count(source.seen, 'document')} read in blocks, {times}")
    save(made, out)
    facts = {"index": out, **_facts(made)}
    summary = (
        f"Indexed {count(made.n_documents, 'document')} by {count(len(made.terms), 'term')} and "
        f"{count(made.n_concepts, 'concept')}, which hold {100 * made.held_:.0f} % of the squared weights."
    )
    term = made.terms[0] if hashing is None else "QUERY"
    best = made.concepts(1, terms=1)
    if hashing is None and best:
        term = best[0].terms[0][0]
    return Answer(facts, summary, command_line("text search", out, term))


def search(
    index: IndexFile,
    query: Annotated[str, Parameter(help="What to search for: one or more words, in quotes.")],
    /,
    *,
    top: Top = 10,
    common: Common | None = None,
) -> Answer:
    """List the documents that are closest in meaning to a query, with the terms that contribute most.

    Example: lowland text search docs.lowland "heat transfer at the nose" -k 5
    """
    from ..text.lookup import spelt_like

    held = _index(index)
    _check_top(top)
    found = held.search(query, top)
    for word in held.unknown_words(query):
        near = spelt_like(word, held.terms)
        note(f"{word} is not a term of the index" + (f"; similar terms: {', '.join(near)}" if near else ""))
    return _listed(held, query, found, command_line("text similar", index, _name(found, 0)))


def similar(
    index: IndexFile,
    document: Annotated[str, Parameter(help="Name of a document, or its number, counted from 0.")],
    /,
    *,
    top: Top = 10,
    common: Common | None = None,
) -> Answer:
    """List the documents that are closest in meaning to a document of the index.

    Example: lowland text similar docs.lowland 12
    """
    held = _index(index)
    _check_top(top)
    named = held.ids_ is not None and document in held.ids_
    found = held.similar(int(document) if not named and document.isdecimal() else document, top)
    return _listed(held, document, found, command_line("text concepts", index), document=True)


def add(
    index: IndexFile,
    docs: Docs,
    /,
    *,
    out: Annotated[
        Path | None, Parameter(name=OUT, help="Write the index here. Default: the file INDEX is replaced.")
    ] = None,
    text: TextColumn = None,
    id: NameColumn = None,
    common: Common | None = None,
) -> Answer:
    """Add documents to an index without indexing the others again.

    Words that the index does not know are ignored. The drift is the share of the squared weights that a new index
    of all documents would represent and this one does not; above 0.01 a warning recommends indexing again.

    Example: lowland text add docs.lowland more.jsonl
    """
    from ..modelfile import save
    from .outputs import check_outputs

    held, target = _index(index), out or index
    check_outputs(_WRITTEN, model=target, inputs=(docs, *((index,) if out is not None else ())))
    before = held.n_documents
    held.add(str(docs), column=text, id=id)
    save(held, target)
    facts = {"index": target, **_facts(held), "added": held.n_documents - before}
    facts |= {"unknown_terms": held.unknown_terms, "drift": held.drift_}
    summary = f"Added {count(held.n_documents - before, 'document')} to {before:,}; drift {held.drift_:.3f}"
    unknown = held.unknown_terms
    summary += "." if unknown is None else f"; {100 * unknown:.0f} % of their words are no terms of the index."
    return Answer(facts, summary, command_line("text similar", target, _doc(held, before)))


def concepts(
    index: IndexFile,
    /,
    *,
    top: Annotated[int, Parameter(name=("--top", "-k"), help="Number of concepts to list.")] = 10,
    terms: Annotated[int, Parameter(help="Number of terms to list for each concept.")] = 8,
    common: Common | None = None,
) -> Answer:
    """List the concepts of an index: the terms and documents with the largest weights of each.

    A concept has two ends; a minus sign marks the terms of the second.

    Example: lowland text concepts docs.lowland -k 5
    """
    held = _index(index)
    _check_top(top)
    _check_top(terms, "--terms")
    found = held.concepts(top, terms=terms)
    grid = _grid("concept", "strength", "terms", "documents")
    for concept in found:
        own = ", ".join(f"{'−' if weight < 0 else ''}{term}" for term, weight in concept.terms)
        grid.add_row(
            str(concept.number), f"{concept.strength:.3g}", own, ", ".join(_doc(held, i) for i, _ in concept.documents)
        )
    summary = f"{index.name} has {count(held.n_concepts, 'concept')} of {count(len(held.terms), 'term')}."
    told = {"concepts": [vars(concept) for concept in found]}
    following = command_line("text similar", index, _doc(held, found[0].documents[0][0]))
    if not held.hashing:  # terms have names
        following = command_line("text search", index, found[0].terms[0][0])
    return Answer(told, summary, following, shown=[grid])


def _listed(
    held: LatentSemanticIndex, query: str, found: SearchResult, following: str, *, document: bool = False
) -> Answer:
    named = held.ids_ is not None
    grid = _grid("index", *(["id"] if named else []), "score", "terms")
    results: list[dict[str, Any]] = []
    for place, (i, score) in enumerate(found):
        if score <= _NOTHING:  # these have nothing in common with it
            continue
        words = ", ".join(term for term, _ in found.terms[place])
        name = None if found.ids is None else found.ids[place]
        grid.add_row(str(i), *([] if name is None else [name]), f"{score:.3f}", words)
        results.append({"index": i, "id": name, "score": score, "terms": dict(found.terms[place])})
    what = f"document {query}" if document else repr(query)
    summary = f"The {len(results):,} of {count(held.n_documents, 'document')} that are most similar to {what}"
    if not results:
        summary = f"No document has anything in common with {what} on {count(held.n_concepts, 'concept')}"
        if held.held_ < _ALL:
            summary += "; rarer words need more --components of `lowland text index`"
    elif len(results) < len(found):
        summary += "; the others have nothing in common with it"
    return Answer({"query": query, "results": results}, f"{summary}.", following, shown=[grid])


def _index(file: Path) -> LatentSemanticIndex:
    from ..modelfile import load
    from ..text import LatentSemanticIndex

    held: Any = load(file)
    if not isinstance(held, LatentSemanticIndex):
        raise ModelFileError(
            f"{file} is a {type(held).__name__}, not an index of texts; make one with `lowland text index`"
        )
    return held


def _checked(work: Any, *args: Any, **options: Any) -> Any:
    """Call the library; a wrong value of a parameter is a usage error."""
    try:
        return work(*args, **options)
    except DataError:
        raise
    except ValueError as error:
        raise UsageError(error.args[0]) from error


def _documents(docs: Path, text: str | None, id: str | None, stream: bool) -> Documents:
    """Return the documents of a file or folder; ``stream``: read a table in blocks also if it fits in memory."""
    from ..data.scans.opening import SUFFIXES
    from ..text.documents import documents_of, scanned

    in_blocks = stream and docs.is_file() and docs.name.lower().endswith(SUFFIXES)
    made = documents_of(scanned(docs, id) if in_blocks else str(docs), text, id)
    if stream and made.passes is None:
        raise UsageError(f"--stream: {docs.name} cannot be read in blocks; leave out --stream, or use {_STREAMED}")
    return made


def _facts(made: LatentSemanticIndex) -> dict[str, Any]:
    return {
        "documents": made.n_documents,
        "terms": len(made.terms),
        "concepts": made.n_concepts,
        "held": made.held_,
    }


def _limit(limit: float) -> int | float:
    return int(limit) if limit >= 1 else limit


def _check_top(top: int, option: str = "--top") -> None:
    if top < 1:
        raise UsageError(f"{option} {top}: it must be 1 or more")


def _name(found: SearchResult, place: int) -> object:
    return found.indices[place] if found.ids is None else found.ids[place]


def _doc(held: LatentSemanticIndex, i: int) -> str:
    return str(i) if held.ids_ is None else held.ids_[i]


def _grid(*headings: str) -> Table:
    grid = Table(box=None, pad_edge=False)
    for heading in headings:
        number: Any = "right" if heading in ("index", "score", "concept", "strength") else "left"
        grid.add_column(heading, justify=number, overflow="fold")
    return grid


__all__ = ["ADD_KEYS", "CONCEPT_KEYS", "INDEX_KEYS", "SEARCH_KEYS", "add", "concepts", "index", "search", "similar"]
