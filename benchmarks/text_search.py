"""Search of Cranfield's abstracts by latent semantic indexing, beside gensim and tf-idf, and a million short documents.

python -m benchmarks.text_search --folder DATA [--growth] [--powers] [--million]

DATA, or DATA/cranfield, has docs.jsonl.gz (title, text), queries.jsonl.gz (text) and qrels.tsv (query by position,
document by number from 1, code 1 to 4).

`--powers`: mean average precision of scores with weights Σ^p of the concepts, for each folder of DATA that has these
files; the table of `lowland.text.scoring`. The other collections are distributed by the University of Glasgow.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lowland.text import LatentSemanticIndex

ROUNDS = 5
SEEDS = 10  # of gensim's randomised decomposition
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)


def cranfield(folder: Path) -> tuple[list[str], list[str], dict[int, set[int]]]:
    """Return documents (title and text), queries, and the relevant documents of each query."""

    def lines(name: str) -> list[Any]:
        with gzip.open(folder / name, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    relevant: dict[int, set[int]] = {}
    for line in (folder / "qrels.tsv").read_text().splitlines():
        words = line.split()
        if words and words[0].isdecimal() and 1 <= int(words[2]) <= 4:
            relevant.setdefault(int(words[0]) - 1, set()).add(int(words[1]) - 1)
    documents = [f"{row['title']} {row['text']}" for row in lines("docs.jsonl.gz")]
    return documents, [row["text"] for row in lines("queries.jsonl.gz")], relevant


def average_precision(orders: Any, relevant: dict[int, set[int]]) -> float:
    """Return the mean average precision of orders of all documents, one for each query."""
    return statistics.fmean(average_precisions(orders, relevant))


def average_precisions(orders: Any, relevant: dict[int, set[int]]) -> list[float]:
    """Return the average precision of each query."""
    out = []
    for i, order in enumerate(orders):
        places = np.flatnonzero(np.isin(order, list(relevant.get(i, ())))) + 1
        out.append(float((np.arange(1, len(places) + 1) / places).sum()) / max(len(relevant.get(i, ())), 1))
    return out


def seconds(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the median time of some calls."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class Gensim:
    """gensim's LsiModel and MatrixSimilarity on the same words and weights."""

    def __init__(self, documents: list[str], k: int) -> None:
        from gensim import corpora, models
        from sklearn.feature_extraction.text import CountVectorizer

        self.words = CountVectorizer(stop_words="english").build_analyzer()
        tokens = [self.words(text) for text in documents]
        self.dictionary = corpora.Dictionary(tokens)
        self.dictionary.filter_extremes(no_below=2, no_above=1.0, keep_n=None)
        bags = [self.dictionary.doc2bow(words) for words in tokens]
        self.weights = models.LogEntropyModel(bags)
        rows = [self.weights[bag] for bag in bags]
        self.rows, self.k = rows, k
        self.decompose(0)

    def decompose(self, seed: int) -> None:
        """Make the index with another seed of the decomposition."""
        from gensim import models, similarities

        self.lsi = models.LsiModel(self.rows, id2word=self.dictionary, num_topics=self.k, random_seed=seed)
        self.index = similarities.MatrixSimilarity(self.lsi[self.rows], num_features=self.k)

    def scores(self, queries: list[str]) -> Any:
        """Return the similarities of queries and documents."""
        return self.index[self.lsi[[self.weights[self.dictionary.doc2bow(self.words(q))] for q in queries]]]

    def exact_scores(self, queries: list[str]) -> Any:
        """Return the similarities with singular vectors of full precision."""
        from gensim.matutils import corpus2csc
        from scipy.sparse.linalg import svds

        bags = [self.weights[self.dictionary.doc2bow(self.words(q))] for q in queries]
        X, Q = (corpus2csc(bag, num_terms=len(self.dictionary)).T.tocsr() for bag in (self.rows, bags))
        V = svds(X, k=self.k, v0=np.ones(min(X.shape)))[2].T
        D, Z = X @ V, Q @ V
        return Z @ (D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1e-12)).T

    def best(self, queries: list[str], k: int = 10) -> Any:
        """Return the first documents of each query."""
        return [np.argpartition(-row, k)[:k] for row in self.scores(queries)]


def against_gensim(folder: Path) -> None:
    """Print mean average precision and times side by side."""
    documents, queries, relevant = cranfield(folder)
    index = LatentSemanticIndex().fit(documents)
    n, k = index.n_documents, index.n_concepts
    found = average_precision([r.indices for r in index.search(queries, n)], relevant)
    print(f"LatentSemanticIndex, default: {k} concepts, mean average precision {found:.4f}")
    for features in ("log-entropy", "tfidf"):
        tried = {}
        for count in (100, 150, 200, 250, 300, 350):
            made = LatentSemanticIndex(count, features=features).fit(documents)
            tried[count] = average_precision([r.indices for r in made.search(queries, n)], relevant)
        print(features, " ".join(f"{count}: {value:.4f}" for count, value in tried.items()))
    from lowland.methods.steps import EncodeTexts

    step = EncodeTexts("tfidf")
    X = step.fit_transform(documents)
    cosines = (step.transform(queries) @ X.T).toarray()
    print(f"tf-idf cosine: {average_precision(np.argsort(-cosines, axis=1, kind='stable'), relevant):.4f}")
    peer, seeds = Gensim(documents, k), []
    for seed in range(SEEDS):
        peer.decompose(seed)
        seeds.append(average_precision(np.argsort(-peer.scores(queries), axis=1, kind="stable"), relevant))
    mean, spread = statistics.fmean(seeds), statistics.stdev(seeds)
    print(f"gensim, {k} concepts, {SEEDS} seeds: {mean:.4f}, standard deviation {spread:.4f}, ", end="")
    print(f"{min(seeds):.4f} to {max(seeds):.4f}")
    exact = average_precision(np.argsort(-peer.exact_scores(queries), axis=1, kind="stable"), relevant)
    print(f"gensim's weights, exact singular vectors: {exact:.4f}")
    plain = np.argsort(-weighted_scores(index, queries, 0.0), axis=1, kind="stable")
    print(f"LatentSemanticIndex without weights of concepts: {average_precision(plain, relevant):.4f}")
    rows = {
        "indexing": (lambda: LatentSemanticIndex().fit(documents), lambda: Gensim(documents, k), 3),
        "225 queries": (lambda: index.search(queries), lambda: peer.best(queries), ROUNDS),
    }
    for name, (ours, other, rounds) in rows.items():
        a, b = seconds(ours, rounds), seconds(other, rounds)
        print(f"{name}: {a:.3f} s, gensim {b:.3f} s, ratio {b / a:.2f}")
    one = seconds(lambda: [index.search(q) for q in queries]) / len(queries)
    explained = seconds(lambda: [index.search(q).terms for q in queries]) / len(queries)
    print(f"one query: {1e3 * one:.2f} ms, with terms {1e3 * explained:.2f} ms")


def weighted_scores(index: LatentSemanticIndex, queries: list[str], p: float) -> Any:
    """Return cosines of queries and documents with weights Σ^p of the concepts."""
    weights = index.singular_values_**p
    sides = (index.transform(queries) * weights, index.documents_ * weights)
    Q, D = (side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12) for side in sides)
    return Q @ D.T


def powers(folder: Path) -> None:
    """Print mean average precision for weights Σ^p, with Student's t of the difference from p = 0 over queries."""
    print("collection", *POWERS, sep="\t")
    for file in sorted(folder.glob("**/docs.jsonl.gz")):
        documents, queries, relevant = cranfield(file.parent)
        index = LatentSemanticIndex().fit(documents)
        found = []
        for p in POWERS:
            orders = np.argsort(-weighted_scores(index, queries, p), axis=1, kind="stable")
            found.append(np.array(average_precisions(orders, relevant)))
        cells = [f"{found[0].mean():.4f}"]
        for values in found[1:]:
            change = values - found[0]
            t = change.mean() / (change.std(ddof=1) / np.sqrt(len(change)))
            cells.append(f"{values.mean():.4f} ({t:+.1f})")
        print(f"{file.parent.name} (k = {index.n_concepts})", *cells, sep="\t", flush=True)


def growth(folder: Path) -> None:
    """Print how documents are ranked after additions and after a refit."""
    documents, queries, _ = cranfield(folder)
    order = np.random.default_rng(0).permutation(len(documents))
    texts = [documents[i] for i in order]
    for share in (0.05, 0.1, 0.2, 0.5, 1.0):
        first = round(len(texts) / (1 + share))
        index = LatentSemanticIndex().fit(texts[:first]).add(texts[first:])
        overlaps = []
        for again in (LatentSemanticIndex(index.n_concepts).fit(texts), LatentSemanticIndex().fit(texts)):
            pairs = zip(index.search(queries), again.search(queries), strict=True)
            overlaps.append(np.mean([len({*a.indices} & {*b.indices}) / 10 for a, b in pairs]))
        print(
            f"{100 * share:.0f} % more: overlap@10 {overlaps[0]:.3f} with a refit of {index.n_concepts} concepts, "
            f"{overlaps[1]:.3f} with a refit of its own number; drift {index.drift_:.4f}"
        )


def short_documents(n: int, seed: int = 0) -> Iterator[str]:
    """Yield documents of 5 to 15 words of 100 subjects, whose frequencies follow Zipf's law."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{j}" for j in range(50_000)])
    p = 1 / np.arange(1, len(words) + 1)
    p /= p.sum()
    for start in range(0, n, 10_000):
        lengths = rng.integers(5, 16, 10_000)
        drawn = rng.choice(len(words), lengths.sum(), p=p)
        subjects = np.repeat(rng.integers(0, 100, 10_000), lengths)
        own = rng.random(len(drawn)) < 0.5
        drawn[own] = (drawn[own] * 100 + subjects[own]) % len(words)  # half of the words are those of the subject
        ends = np.cumsum(lengths)
        for stop, length in zip(ends[: n - start].tolist(), lengths.tolist(), strict=False):
            yield " ".join(words[drawn[stop - length : stop]])


def million(n: int, concepts: int) -> None:
    """Print time and memory of an index of many short documents, read from a stream."""
    start = time.perf_counter()
    index = LatentSemanticIndex(concepts).fit(short_documents(n))
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    query = seconds(lambda: index.search("word100 word2300"))
    print(
        f"{n:,} documents, {len(index.terms):,} terms, {concepts} concepts: {took:.0f} s, peak {peak:.2f} GB; "
        f"one query {1e3 * query:.0f} ms"
    )


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description="Latent semantic indexing beside gensim.")
    parser.add_argument("--folder", type=Path, required=True, help="folder with cranfield/")
    parser.add_argument("--growth", action="store_true", help="additions against a refit")
    parser.add_argument("--powers", action="store_true", help="weights of the concepts in scores, on all collections")
    parser.add_argument("--million", type=int, nargs="?", const=1_000_000, help="an index of this many short documents")
    parser.add_argument("--concepts", type=int, default=100, help="concepts of that index")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    own = given.folder / "cranfield"
    folder = own if own.is_dir() else given.folder
    if given.million:
        million(given.million, given.concepts)
    elif given.powers:
        powers(given.folder)
    elif given.growth:
        growth(folder)
    else:
        against_gensim(folder)


if __name__ == "__main__":
    main()
