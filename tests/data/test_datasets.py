"""Data sets by name: shapes, names, printed values, labels, parameters, errors, and files to write them to."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import lowland
from lowland.data import Dataset, list_datasets, load_dataset, read
from lowland.data.arraytable import SparseTable
from lowland.data.catalogue.bundled import FOLDER
from lowland.data.catalogue.rows import PARTS
from lowland.data.catalogue.saving import write_dataset

ROWS = {row.name: row for row in list_datasets()}
AT_HAND = [name for name, row in ROWS.items() if row.kind != "fetched"]
GENERATED = [name for name, row in ROWS.items() if "n" in row.parameters]
DOCS = Path(__file__).parents[2] / "docs" / "datasets.md"


@pytest.mark.parametrize("name", AT_HAND)
def test_each_set_is_what_its_row_says(name: str) -> None:
    row, table = ROWS[name], load_dataset(name)
    assert "{} × {}".format(*table.X.shape) == row.size
    assert table.X.dtype == np.float64
    assert np.isfinite(table.X).all()
    assert tuple(table.aside.columns) == row.aside
    assert table.source == name
    assert row.shows in table.notes
    assert row.source in table.notes[1]
    if row.target is None:
        assert table.y is None
    else:
        np.testing.assert_array_equal(table.y, table.aside[row.target].to_list())
    frame = table.to_polars()
    assert frame.columns == [*row.aside, *table.names]
    assert table.to_pandas().columns.tolist() == frame.columns
    assert table.to_pandas().shape == frame.shape


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_each_row_is_complete(row: Dataset) -> None:
    assert re.fullmatch("[a-z_]+", row.name)
    assert row.kind in ("bundled", "scikit-learn", "generated", "fetched")
    assert row.form in ("table", "images", "texts", "distances")
    assert row.shows.endswith(".")
    assert all((row.source, row.licence))
    assert not re.search(r"\b[LKDMUT]\d+\b|=", row.shows), (
        "in words, without ids and without Python's or the shell's parameters"
    )
    assert row.target is None or row.target in row.aside
    assert bool(row.files) == (row.kind == "fetched")
    assert ("part" in row.parameters) == (row.name in PARTS)
    for file in row.files:
        assert re.fullmatch("sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}", file.checksum)
        assert file.address.startswith(("http://", "https://"))
    assert f"`{row.name}`" in DOCS.read_text(encoding="utf-8"), "docs/datasets.md lists every set"


def test_names_are_unique() -> None:
    assert len(ROWS) == len(list_datasets())


# -- what the documents print --------------------------------------------------------------------------------


def test_T3_smith() -> None:
    X = load_dataset("smith").X
    assert X[[0, 1, -1]].tolist() == [[2.5, 2.4], [0.5, 0.7], [1.1, 0.9]]
    assert X.mean(axis=0).round(9).tolist() == [1.81, 1.91]
    assert [f"{c:.9f}" for c in np.cov(X.T).ravel()] == ["0.616555556", "0.615444444", "0.615444444", "0.716555556"]


def test_T3_terms() -> None:
    table = load_dataset("terms")
    assert table.names == ["database", "SQL", "index", "regression", "likelihood"]
    assert table.aside["document"].to_list() == [f"d{i}" for i in range(1, 11)]
    assert table.X[[0, 4, 9]].tolist() == [[24, 21, 9, 0, 0], [43, 31, 20, 0, 3], [6, 0, 0, 17, 4]]
    assert table.X.sum(axis=0).tolist() == [129, 85, 42, 123, 60]


def test_T3_lab_is_said_to_be_a_part() -> None:
    table = load_dataset("lab")
    assert table.names == ["H-WBC", "H-RBC", "H-Hgb", "H-Hct", "H-MCV", "H-MCH", "H-MCHC"]
    assert table.X[0].tolist() == [8, 4.82, 14.1, 41, 85, 29, 34]
    assert table.X[8].tolist() == [5.1, 4.71, 14, 43, 92, 30, 32]
    assert "65 people and 53 values" in table.notes[0]
    # red cells, haematocrit and mean volume depend on one another: MCV ≈ 10 Hct / RBC
    np.testing.assert_allclose(table.X[:, 4], 10 * table.X[:, 3] / table.X[:, 1], rtol=0.02)


def test_T3_three_points() -> None:
    assert load_dataset("three_points").X.tolist() == [[1, 0], [2, 0.1], [3, -0.1]]


def test_T3_eigenvector() -> None:
    table = load_dataset("eigenvector")
    assert table.X.tolist() == [[2, 3], [2, 1]]
    np.testing.assert_array_equal(table.X @ table.y, 4 * table.y)


def test_T3_two_concepts() -> None:
    table = load_dataset("two_concepts")
    sigma = np.linalg.svd(table.X, compute_uv=False)
    assert sigma[:2].round(2).tolist() == [9.64, 5.29]
    assert np.linalg.matrix_rank(table.X) == 2
    assert table.y.tolist() == ["CS"] * 4 + ["medical"] * 3


def test_T3_deerwester() -> None:
    sigma = np.linalg.svd(load_dataset("deerwester").X, compute_uv=False)
    assert sigma.round(2).tolist() == [3.34, 2.54, 2.35, 1.64, 1.50, 1.31, 0.85, 0.56, 0.36]


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("line", [0.0938, 0.0007]),
        ("bent_line", [0.1260, 0.0054]),
        ("circle", [0.0884, 0.0725]),
        ("square", [0.0881, 0.0769]),
    ],
    ids=["line", "bent_line", "circle", "square"],
)
@pytest.mark.parametrize("n", [50, 200])
def test_T3_printed_eigenvalues(name: str, printed: list[float], n: int) -> None:
    table = load_dataset(name, n=n, random_state=n)
    np.testing.assert_allclose(lowland.PCA().fit(table.X).eigenvalues_, printed, rtol=1e-12)
    free = load_dataset(name, n=n, random_state=n, eigenvalues=None)
    assert not np.allclose(np.linalg.eigvalsh(np.cov(free.X.T))[::-1], printed, rtol=1e-3)


def test_stretching_keeps_the_shapes() -> None:
    circle = load_dataset("circle")
    centre = circle.X - circle.X.mean(axis=0)
    radius = np.hypot(*centre.T)
    assert radius.min() > 0.3  # an empty middle
    turn = np.unwrap(np.sort(np.arctan2(*centre.T)))
    assert np.diff(turn).max() < 0.3  # closed
    bent = load_dataset("bent_line", noise=0.001)
    order = np.argsort(bent.y)
    steps = np.diff(bent.X[order], axis=0)
    turned = np.arctan2(*steps[[0, -1]].T)
    assert abs(turned[1] - turned[0]) > 0.3


def test_T3_cloud_has_the_printed_mean_and_direction() -> None:
    pca = lowland.PCA().fit(load_dataset("cloud").X)
    np.testing.assert_allclose(pca.mean_, [0.54, 0.52], rtol=1e-14)
    assert pca.components_[0, 1] / pca.components_[0, 0] == pytest.approx(0.45, rel=1e-12)


@pytest.mark.parametrize("rho", [-1.0, -0.7, 0.0, 0.9])
def test_T5_correlation_is_exact(rho: float) -> None:
    X = load_dataset("correlated", correlation=rho).X
    assert np.corrcoef(X.T)[0, 1] == pytest.approx(rho, abs=1e-12)


def test_M9_sphere_in_cube() -> None:
    table = load_dataset("sphere_in_cube", dimensions=1000)
    volume = table.frame["sphere"].to_numpy()
    assert volume[:3].round(2).tolist() == [1.0, 0.79, 0.52]
    np.testing.assert_allclose(volume[3], np.pi**2 / 2 * 0.5**4)
    assert volume[-1] < 1e-300 or volume[-1] == 0


def test_sets_of_scikit_learn() -> None:
    iris, digits, wine = (load_dataset(name) for name in ("iris", "digits", "wine"))
    np.testing.assert_array_equal(iris.X, load_iris().data)
    assert iris.y[[0, 50, 149]].tolist() == ["setosa", "versicolor", "virginica"]
    assert digits.y[:3].tolist() == [0, 1, 2]
    assert digits.names[9] == "pixel_1_1"
    assert sorted(set(wine.y)) == [1, 2, 3]


@pytest.mark.parametrize("name", ["spheres", "swiss_roll", "s_curve", "fishbowl", "swiss_hole", "punctured_sphere"])
def test_generators_are_those_of_the_module(name: str) -> None:
    X, truth = getattr(lowland.data, name)(1000)
    table = load_dataset(name)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.aside.to_numpy(), truth.reshape(1000, -1))


def test_cities() -> None:
    D, names, places = lowland.data.cities()
    table = load_dataset("cities")
    np.testing.assert_array_equal(table.X, D)
    assert table.names == table.aside["city"].to_list() == names
    np.testing.assert_array_equal(load_dataset("cities", part="places").X, places)


# -- parameters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GENERATED)
def test_generated_sets_take_their_parameters(name: str) -> None:
    a, b, c = (load_dataset(name, n=40, random_state=seed).X for seed in (1, 1, 2))
    assert a.shape == (40, int(ROWS[name].size.split("×")[1]))
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("swiss_roll", {"n": 0}, "n must be a whole number of at least 1"),
        ("swiss_roll", {"n": "many"}, "n must be a whole number"),
        ("swiss_roll", {"noise": "much"}, "swiss_roll cannot be generated with noise='much'"),
        ("swiss_roll", {"random_state": -1}, "cannot be generated with random_state=-1"),
        ("swiss_roll", {"rows": 5}, "no parameter 'rows'; its parameters are n=1000, noise=0.0, random_state=0"),
        ("smith", {"n": 5}, "smith has no parameter 'n'; it has no parameters"),
        ("line", {"n": 2}, "n must be at least 3"),
        ("line", {"noise": 0.0}, "lie on one line"),
        ("line", {"eigenvalues": (1, 2)}, "two positive numbers, the larger first"),
        ("line", {"eigenvalues": 3}, "two positive numbers"),
        ("correlated", {"correlation": 2}, "between -1 and 1"),
        ("cloud", {"direction": (0, 0)}, "direction must not be zero"),
        ("sphere_in_cube", {"dimensions": 0}, "whole number from 1"),
        ("cities", {"part": "roads"}, "part='roads' must be distances or places"),
        ("cities", {"part": None}, "must be distances or places"),
    ],
    ids=[str(i) for i in range(15)],
)
def test_wrong_parameters_are_named(name: str, parameters: dict[str, object], message: str) -> None:
    with pytest.raises(lowland.DataError, match=re.escape(message)):
        load_dataset(name, **parameters)


def test_too_many_points_are_refused_before_they_are_made() -> None:
    with lowland.config(memory_limit="1GB"), pytest.raises(lowland.MemoryLimitError, match="generate fewer points"):
        load_dataset("spheres", n=10**9)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("swisroll", "did you mean 'swiss_roll'"),
        ("olivetti_faces", "did you mean 'olivetti'?"),
        ("sphere", "'spheres'"),
        ("", "there are smith, "),
        ("qqqq", "there are smith, "),
    ],
    ids=["typing", "longer", "part", "empty", "unknown"],
)
def test_unknown_names_get_near_matches(name: str, hint: str) -> None:
    with pytest.raises(lowland.DataError, match=re.escape(hint)):
        load_dataset(name)


def test_names_may_be_written_otherwise() -> None:
    assert load_dataset("Swiss-Roll", n=5).n_rows == 5


# -- files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet", "jsonl", "npz"])
@pytest.mark.parametrize("name", ["iris", "terms", "cities", "swiss_roll"])
def test_written_sets_are_read_back(name: str, ending: str, tmp_path: Path) -> None:
    table, file = load_dataset(name), tmp_path / f"set.{ending}"
    assert write_dataset(file, table, ROWS[name]) == []
    again = read(file)
    np.testing.assert_array_equal(again.select(columns=table.names).X, table.X)
    for column in table.aside.columns:
        assert again.column(column).to_list() == table.aside[column].to_list()
    if ending == "npz":
        assert again.names == table.names  # labels do not become data
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


def test_npy_says_what_it_leaves_out(tmp_path: Path) -> None:
    assert write_dataset(tmp_path / "a.npy", load_dataset("iris"), ROWS["iris"]) == ["species"]


def test_images_are_written_to_a_folder(tmp_path: Path) -> None:
    table = load_dataset("digits")
    write_dataset(tmp_path / "digits", table, ROWS["digits"])
    again = read(tmp_path / "digits")
    order = again.aside["file"].str.extract(r"(\d+)\.png").cast(pl.Int64).to_numpy()
    np.testing.assert_array_equal(np.rint(again.X * 16 / 255), table.X[order])
    assert again.aside["folder"].cast(pl.Int64).to_list() == table.y[order].tolist()
    assert [p.name for p in tmp_path.iterdir()] == ["digits"]
    with pytest.raises(lowland.DataError, match="name a new folder for the images"):
        write_dataset(tmp_path / "digits", table, ROWS["digits"])


def test_a_folder_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(lowland.WriteError, match="No space left"):
        write_dataset(tmp_path / "digits", load_dataset("digits"), ROWS["digits"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("out", ["smith", "a.docx", "no/a.csv", "no/a.jsonl"])
def test_places_that_cannot_be_written(out: str, tmp_path: Path) -> None:
    with pytest.raises(lowland.DataError):
        write_dataset(tmp_path / out, load_dataset("smith"), ROWS["smith"])
    assert list(tmp_path.iterdir()) == []


def test_a_sparse_set_keeps_its_names(tmp_path: Path) -> None:
    counts = sparse.csr_array(load_dataset("terms").X)
    terms = load_dataset("terms")
    table = SparseTable(counts, "terms", terms.names, aside=terms.aside)
    file = tmp_path / "terms.npz"
    write_dataset(file, table, ROWS["terms"])
    again = read(file)
    assert isinstance(again, SparseTable)
    assert (again.names, again.aside["document"].to_list()) == (terms.names, terms.aside["document"].to_list())
    np.testing.assert_array_equal(again.X.toarray(), terms.X)
    np.testing.assert_array_equal(sparse.load_npz(file).toarray(), terms.X)
    for other in ("terms.csv", "terms.npy"):
        with pytest.raises(lowland.DataError, match=r"write it as \.npz"):
            write_dataset(tmp_path / other, table, ROWS["terms"])
    assert [p.name for p in tmp_path.iterdir()] == ["terms.npz"]


def test_a_target_is_not_reduced() -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0], "grade": [3, 4]})
    table = lowland.data.Table(frame, "t", roles={"target": "grade"})
    assert table.X.tolist() == [[1], [2]]
    assert table.y.tolist() == [3, 4]
    assert table.select().left_out == {"grade": "target of the rows"}
    assert table.kinds()["grade"].kind == "number"


# -- the package -------------------------------------------------------------------------------------------


def test_bundled_files_are_small_and_all_used() -> None:
    names = {row.name for row in list_datasets() if row.kind == "bundled"}
    assert {path.stem for path in FOLDER.iterdir()} == names
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 100_000


def test_the_wheel_contains_the_bundled_files() -> None:
    # hatchling takes what lies in `packages`, except what is excluded there or ignored by git.
    root = Path(__file__).parents[2]
    wheel = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    files = [path.relative_to(root) for path in FOLDER.resolve().iterdir()]
    assert files
    ignored = [line.strip("/") for line in (root / ".gitignore").read_text(encoding="utf-8").split()]
    for file in files:
        assert any(file.is_relative_to(package) for package in wheel["packages"])
        for pattern in [*wheel["exclude"], *ignored]:
            assert not file.is_relative_to(pattern)
            assert not any(fnmatch(part, pattern) for part in file.parts)
