"""The Cranfield collection: 1,400 abstracts on aerodynamics, 225 queries and their relevance judgements."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import polars as pl

from ...core.errors import DataError
from ...core.formatting import first_line
from ..arraytable import SparseTable
from ..table import Table
from .dataset import Dataset
from .fetching import fetch

_FIELDS = {"T": "title", "A": "author", "B": "source", "W": "text"}


def collection(row: Dataset, part: str) -> Table:
    """Load one part: documents, counts (of their words), queries or judgements.

    The judgements number the queries by their position, 1 to 225, not by the numbers in the file of queries.
    """
    archive = fetch(row.files[0], row.name)
    if part == "judgements":
        return Table(_judgements(_member(archive, "cranqrel")), row.name, notes=row.notes)
    if part == "queries":
        records = _records(_member(archive, "cran.qry"))
        frame = pl.DataFrame(
            {
                "query": range(1, len(records) + 1),
                "number": [record["number"] for record in records],
                "text": [record["text"] for record in records],
            }
        )
        return Table(
            frame.drop("query", "number"),
            row.name,
            notes=row.notes,
            aside=frame[["query", "number"]],
            roles={"text": "text"},
        )
    records = _records(_member(archive, "cran.all.1400"))
    frame = pl.DataFrame(
        {"document": [record["number"] for record in records]}
        | {name: [record[name] for record in records] for name in _FIELDS.values()}
    )
    if part == "counts":
        return _counts(row, frame)
    return Table(frame.drop("document"), row.name, notes=row.notes, aside=frame[["document"]], roles={"text": "text"})


def _counts(row: Dataset, frame: pl.DataFrame) -> SparseTable:
    """Count the words of titles and texts; scikit-learn's tokens of two or more characters."""
    from scipy import sparse
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer()
    # A text usually begins with its title; a title stands alone where the text is empty.
    matrix = words.fit_transform(frame.select(pl.concat_str("title", "text", separator=" ")).to_series().to_list())
    names = words.get_feature_names_out().tolist()
    return SparseTable(sparse.csr_array(matrix), row.name, names, aside=frame[["document"]], notes=row.notes)


def _member(path: Path, name: str) -> str:
    """Read one file of the archive, without unpacking it to disk."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            for entry in archive:
                if Path(entry.name).name == name and (file := archive.extractfile(entry)) is not None:
                    return file.read().decode("latin-1").replace("\r\n", "\n")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise DataError(f"{path}: the archive cannot be read: {first_line(error)}") from error
    raise DataError(f"{path}: the archive has no file {name}")


def _records(content: str) -> list[dict[str, str | int]]:
    """Split ``.I 1 .T title .A author .B source .W text`` into records; line breaks become spaces."""
    records: list[dict[str, str | int]] = []
    for piece in re.split(r"^\.I (?=\d)", content, flags=re.M)[1:]:
        number, _, body = piece.partition("\n")
        parts = re.split(r"^\.([TABW])[ \t]*$", body, flags=re.M)
        texts = dict.fromkeys(_FIELDS.values(), "")
        for key, text in zip(parts[1::2], parts[2::2], strict=True):
            joined = " ".join(text.split())
            texts[_FIELDS[key]] = f"{texts[_FIELDS[key]]} {joined}".strip()
        records.append({"number": int(number), **texts})
    return records


def _judgements(content: str) -> pl.DataFrame:
    rows = [[int(word) for word in line.split()] for line in content.splitlines() if line.strip()]
    return pl.DataFrame(rows, schema=["query", "document", "relevance"], orient="row")
