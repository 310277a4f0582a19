"""Indexes of texts that are read in blocks: equal to those of lists in memory."""

import json
import tracemalloc

import numpy as np
import polars as pl
import pytest

import lowland
from lowland import DataError
from lowland.text import LatentSemanticIndex
from lowland.text.documents import documents_of

LEARNED = ("singular_values_", "components_", "documents_", "indptr_", "indices_", "weights_")


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(400)])
    chance = 1 / np.arange(1, 401)
    chance /= chance.sum()
    return [" ".join(rng.choice(words, rng.integers(3, 12), p=chance)) for _ in range(6000)]


@pytest.fixture(scope="module")
def expected(texts):
    return LatentSemanticIndex(8).fit(texts)


def same(one, other):
    assert one.terms == other.terms
    for name in LEARNED:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def stored(folder, texts, form):
    path = folder / f"docs.{form}"
    frame = pl.DataFrame({"key": [f"k{i}" for i in range(len(texts))], "size": range(len(texts)), "body": texts})
    if form in ("jsonl", "ndjson"):
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.rows(named=True)))
    else:
        getattr(frame, {"csv": "write_csv", "parquet": "write_parquet", "arrow": "write_ipc"}[form])(path)
    return path


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("column", ["body", None])
def test_a_scan_gives_the_bits_of_a_list(tmp_path, texts, expected, form, column):
    source = documents_of(lowland.data.scan(stored(tmp_path, texts, form)), column, "key")
    index = LatentSemanticIndex(8).fit(source)
    same(index, expected)
    assert index.ids_ == [f"k{i}" for i in range(len(texts))]
    assert source.passes == (1 if column else 2)


def test_a_scan_is_taken_by_fit_add_and_transform(tmp_path, texts, expected):
    table = lowland.data.scan(stored(tmp_path, texts, "csv"))
    index = LatentSemanticIndex(8).fit(table, column="body")
    np.testing.assert_array_equal(index.transform(table, column="body"), expected.documents_)
    index.add(table, column="body")
    assert index.n_documents == 2 * len(texts)


@pytest.mark.parametrize("form", ["jsonl", "ndjson"])
def test_json_lines_give_the_bits_of_a_list(tmp_path, texts, expected, form):
    same(LatentSemanticIndex(8).fit(stored(tmp_path, texts, form), column="body"), expected)


def test_a_folder_is_read_one_text_at_a_time(tmp_path, texts):
    (tmp_path / "sub").mkdir()
    for i, text in enumerate(texts[:200]):
        (tmp_path / "sub" / f"{i:03}.txt").write_text(text)
    source = documents_of(tmp_path)
    assert iter(source.texts) is source.texts  # nothing is read before
    index = LatentSemanticIndex(4).fit(source)
    same(index, LatentSemanticIndex(4).fit(texts[:200]))
    assert index.ids_ == [f"sub/{i:03}.txt" for i in range(200)]


def test_a_file_beyond_the_memory_limit_is_read_in_blocks(tmp_path, texts, expected):
    path = stored(tmp_path, texts, "csv")
    with lowland.config(memory_limit="200 KB"):
        source = documents_of(path, "body")
    assert source.passes == 1
    same(LatentSemanticIndex(8).fit(source), expected)


def test_no_text_is_held(tmp_path):
    """Documents of 35 MB in few different words: what is held is far less than the texts."""
    text = " ".join(["alpha", "beta", "gamma", "delta"] * 250)
    path = tmp_path / "long.csv"
    with path.open("w") as file:
        file.write("n,text\n")
        for i in range(6000):
            file.write(f"{i},{text} {'alpha beta' if i % 2 else 'gamma'}\n")
    assert path.stat().st_size > 34_000_000
    index = LatentSemanticIndex(1, features="counts")
    table = lowland.data.scan(path)
    list(zip(range(1), table.frames(), strict=False))  # what is loaded at first use
    tracemalloc.start()
    index.fit(table)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12_000_000


def test_errors_name_the_table_and_the_remedy(tmp_path, texts):
    table = lowland.data.scan(stored(tmp_path, texts[:50], "csv"))
    with pytest.raises(DataError, match=r"docs.csv has no column 'title'; it has key, size, body"):
        LatentSemanticIndex(2).fit(table, column="title")
    with pytest.raises(DataError, match="column 'size': it contains Int64, not text"):
        LatentSemanticIndex(2).fit(table, column="size")
    numbers = tmp_path / "x.npy"
    np.save(numbers, np.ones((20, 2)))
    with pytest.raises(DataError, match="contains numbers; an index needs texts"):
        LatentSemanticIndex(2).fit(lowland.data.scan(numbers))
