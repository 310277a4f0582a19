"""FAMD: R's numbers, the identities that define it, hard tables, and models that come back."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import lowland
from lowland.core.errors import DataError
from lowland.methods.linear import famd_coding
from signs import same_up_to_sign

# MASS::farms of R (Venables & Ripley, Modern Applied Statistics with S): moisture, management, use, manure.
FARMS = [
    [f"M{code[0]}", {"S": "SF", "B": "BF", "H": "HF", "N": "NM"}[code[1]], f"U{code[2]}", f"C{code[3]}"]
    for code in re.findall(
        r"\w+", "1S24 1B22 2S24 2S24 1H12 1H22 1H33 5H33 4H11 2B11 1B31 4S22 5S23 5N30 5N20 5S33 2N10 1N10 5N10 5N10"
    )
]


@pytest.fixture
def iris():
    data = load_iris()
    frame = pd.DataFrame(data.data, columns=["sepal length", "sepal width", "petal length", "petal width"])
    return frame.assign(species=data.target_names[data.target])


@pytest.fixture
def table(rng):
    """Three columns of numbers and three of categories, all of them moved by one hidden number."""
    hidden, n = rng.standard_normal(300), 300
    kind = np.array(["low", "middle", "high"])[np.digitize(hidden + rng.standard_normal(n), [-0.7, 0.7])]
    return pl.DataFrame(
        {
            "a": hidden + rng.standard_normal(n),
            "kind": kind,
            "b": 100 * hidden + 200 * rng.standard_normal(n) + 1e6,
            "ok": hidden + rng.standard_normal(n) > 0.3,
            "town": rng.choice(["Bern", "Genf", "Basel", "Zug"], n),
            "c": rng.standard_normal(n),
        }
    )


def weighted(frame):
    """The table that FAMD decomposes, written out."""
    out = []
    for column in frame.iter_columns():
        values = column.to_numpy()
        if column.dtype.is_numeric():
            out.append((values - values.mean()) / values.std())
            continue
        for level in sorted(set(values.tolist())):
            p = (values == level).mean()
            out.append(((values == level) - p) / np.sqrt(p))
    return np.column_stack(out)


# -- published programs -----------------------------------------------------------------------------------------------


def test_iris_as_factominer_has_it(iris):
    """FAMD(iris, ncp = 3) of FactoMineR 2.7 (Lê, Josse, Husson 2008), to the digits it prints."""
    model = lowland.FAMD(3).fit(iris)
    np.testing.assert_allclose(model.eigenvalues_, [3.8701585292, 1.3422242962, 0.5917088209], rtol=1e-9)
    np.testing.assert_allclose(
        100 * model.explained_variance_ratio_, [64.502642154, 22.370404936, 9.861813682], rtol=1e-9
    )
    rows = [
        [-2.643906675, 0.6039664592, 0.06252436190],
        [1.087957692, -0.4662925578, 1.67520054318],
        [2.112382350, 1.3614098938, -0.08737526557],
    ]
    same_up_to_sign(model.transform(iris)[[0, 50, 100]], rows, rtol=1e-8)
    squares = [
        [0.7476425154, 0.073049530868, 9.705295356e-02],
        [0.2345287761, 0.508282175882, 2.348309895e-01],
        [0.9841357946, 0.001324617541, 1.990115735e-03],
        [0.9394587800, 0.013182818003, 2.817190602e-05],
        [0.9643926630, 0.746385153879, 2.578065902e-01],
    ]
    np.testing.assert_allclose(model.column_coordinates(), squares, rtol=1e-7)
    shares = [
        [19.318136707, 5.44242352612, 16.402147495953],
        [6.059926858, 37.86864664359, 39.686917150985],
        [25.428823836, 0.09868824046, 0.336333626388],
        [24.274426304, 0.98216207536, 0.004761109691],
        [24.918686295, 55.60807951446, 43.569840616983],
    ]
    np.testing.assert_allclose(100 * model.contributions(), shares, rtol=1e-7)
    centres = [
        [-2.6055640998, 0.4825098087, -0.08639108172],
        [0.5908792989, -1.3936926012, 0.51565938712],
        [2.0146848009, 0.9111827925, -0.42926830540],
    ]
    same_up_to_sign(model.category_coordinates()["species"], centres, rtol=1e-8)
    assert model.levels_ == {"species": ["setosa", "versicolor", "virginica"]}


def test_farms_as_mass_and_factominer_have_them():
    """mca(farms, nf = 4) of MASS 7.3 has the roots of λ/Q as d; MCA(farms) of FactoMineR 2.7 the coordinates y/√Q."""
    model = lowland.FAMD(4).fit(FARMS)
    np.testing.assert_allclose(
        np.sqrt(model.eigenvalues_ / 4), [0.806174560613, 0.745114341509, 0.718987360529, 0.618059635808], rtol=1e-11
    )
    scores = model.transform(FARMS)[:, :3] / np.sqrt(4)
    first = [
        [1.0607304943, -0.8154875992, 0.0105790900],
        [0.7706009378, 0.6345581587, 0.3960280890],
        [1.0703482400, -1.3067323162, 0.3544143002],
    ]
    same_up_to_sign(scores[:3], first, rtol=1e-8)


# -- identities -------------------------------------------------------------------------------------------------------


def test_it_is_the_svd_of_the_weighted_table(table):
    Z = weighted(table)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    model = lowland.FAMD(8).fit(table)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:8], rtol=1e-12)
    same_up_to_sign(model.components_.T, vectors[:, ::-1][:, :8], atol=1e-10)
    same_up_to_sign(model.transform(table), Z @ vectors[:, ::-1][:, :8], atol=1e-9)
    assert model.total_variance_ == pytest.approx(3 + (3 - 1) + (2 - 1) + (4 - 1), rel=1e-12)
    assert model.coded_names_[:4] == ["a", "kind=high", "kind=low", "kind=middle"]
    assert model.components_.shape[1] == len(model.coded_names_) == Z.shape[1]


def test_numbers_alone_are_pca_of_correlations(rng):
    X = rng.standard_normal((200, 5)) @ rng.standard_normal((5, 5)) * [1, 10, 100, 1e-3, 1] + [0, 5, 1e4, 0, 1]
    ours, pca = lowland.FAMD(3).fit(X), lowland.PCA(3, scale=True, ddof=0).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, pca.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(ours.transform(X), pca.transform(X), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.column_coordinates(), pca.loadings_**2, rtol=1e-10)
    np.testing.assert_allclose(ours.residual(X), pca.residual(X), atol=1e-9)
    assert ours.levels_ == ours.category_coordinates() == {}


def test_categories_alone_are_multiple_correspondence_analysis(rng):
    """The Burt table of Q columns: its correspondence analysis has the squares of MCA's eigenvalues λ/Q."""
    rows = np.column_stack([rng.choice(list("abc"), 400), rng.choice(list("uvwx"), 400), rng.choice(list("mn"), 400)])
    rows[:150, 1] = np.where(rows[:150, 0] == "a", "u", rows[:150, 1])
    G = np.column_stack([rows[:, j] == level for j in range(3) for level in sorted(set(rows[:, j]))]).astype(float)
    burt = G.T @ G
    P = burt / burt.sum()
    mass = P.sum(axis=0)
    inertias = np.linalg.svd((P - np.outer(mass, mass)) / np.sqrt(np.outer(mass, mass)), compute_uv=False)
    model = lowland.FAMD(6).fit(rows)
    np.testing.assert_allclose(model.eigenvalues_ / 3, inertias[:6], rtol=1e-10)
    assert model.fit_info_.evidence["columns of categories"] == 3


def test_an_axis_is_the_sum_of_its_relations_with_the_columns(table):
    model = lowland.FAMD(3).fit(table)
    Y = model.transform(table)
    for k in range(3):
        for j, column in enumerate(table.iter_columns()):
            values = column.to_numpy()
            if column.dtype.is_numeric():
                want = np.corrcoef(values, Y[:, k])[0, 1] ** 2
            else:
                groups = [Y[values == level, k] for level in set(values.tolist())]
                want = sum(len(g) * g.mean() ** 2 for g in groups) / (Y[:, k] ** 2).sum()
            assert model.column_coordinates()[j, k] == pytest.approx(want, rel=1e-9)
    np.testing.assert_allclose(model.column_coordinates().sum(axis=0), model.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(model.contributions().sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(Y.T @ Y / len(Y), np.diag(model.eigenvalues_), atol=1e-10)


def test_levels_stand_at_the_means_of_their_rows(table):
    model = lowland.FAMD(3).fit(table)
    Y = model.transform(table)
    for name, places in model.category_coordinates().items():
        values = table[name].to_numpy()
        means = [Y[values == level].mean(axis=0) for level in model.levels_[name]]
        np.testing.assert_allclose(places, means, atol=1e-12)


def test_a_category_of_two_levels_is_worth_a_number(table):
    as_number = table.with_columns(pl.col("ok").cast(pl.Int64))
    two, one = lowland.FAMD(3).fit(table), lowland.FAMD(3).fit(as_number)
    np.testing.assert_allclose(two.eigenvalues_, one.eigenvalues_, rtol=1e-12)
    same_up_to_sign(two.transform(table), one.transform(as_number), atol=1e-10)
    assert list(one.levels_) == ["kind", "town"]
    again = lowland.FAMD(3, categorical=["ok"]).fit(as_number)
    assert again.levels_["ok"] == [0, 1]
    np.testing.assert_allclose(again.transform(as_number), two.transform(table), atol=1e-12)


def test_all_axes_give_the_table_back(table):
    whole = lowland.FAMD(3 + 2 + 1 + 3).fit(table)
    back = whole.inverse_transform(whole.transform(table))
    assert back.shape == table.shape
    for j, column in enumerate(table.iter_columns()):
        if column.dtype.is_numeric():
            np.testing.assert_allclose(back[:, j].astype(float), column.to_numpy(), rtol=1e-9, atol=1e-9)
        else:
            assert back[:, j].tolist() == column.to_list()
    few = lowland.FAMD(1).fit(table)
    guess = few.inverse_transform(few.transform(table))[:, 1]
    assert (guess == table["kind"].to_numpy()).mean() > (table["kind"] == "middle").mean()
    with pytest.raises(DataError, match="must have 1 columns"):
        few.inverse_transform(np.ones((3, 2)))
    with pytest.raises(DataError, match="columns are categories"):
        few.residual(table)


def test_the_compressor_works_on_coded_rows(table):
    model = lowland.FAMD(2).fit(table)
    A, a, B, b = model.compressor()
    coded = weighted(table) * model.scale_ + model.mean_  # numbers, and 1 or 0
    indicator = [name.startswith("town=") for name in model.coded_names_]
    np.testing.assert_allclose(np.unique(coded[:, indicator].round(12)), [0, 1])
    np.testing.assert_allclose(coded @ A.T + a, model.transform(table), atol=1e-7)  # b is a million: 1e-16 · 1e6 / 200
    assert (B.shape, b.shape) == ((12, 2), (12,))


# -- new rows ---------------------------------------------------------------------------------------------------------


def test_an_unseen_level_is_an_error_or_says_nothing(table):
    model = lowland.FAMD(2).fit(table)
    row = table[7:8].with_columns(pl.lit("Chur").alias("town"))
    with pytest.raises(
        DataError, match=r"the level 'Chur', .*they have 'Basel', 'Bern'.* at row 0, column 4 \('town'\)"
    ) as caught:
        model.transform(row)
    assert (caught.value.row, caught.value.column) == (0, 4)
    model.set_params(unseen="ignore")
    places = [model.transform(row.with_columns(pl.lit(town).alias("town"))) for town in model.levels_["town"]]
    shares = [(table["town"] == town).mean() for town in model.levels_["town"]]
    np.testing.assert_allclose(
        model.transform(row), sum(p * y for p, y in zip(shares, places, strict=True)), atol=1e-12
    )


def test_missing_categories(table):
    holes = table.with_columns(pl.when(pl.col("town") == "Zug").then(None).otherwise("town").alias("town"))
    place = holes["town"].to_list().index(None)
    with pytest.raises(DataError, match=rf"missing category at row {place}, column 4 \('town'\)"):
        lowland.FAMD().fit(holes)
    model = lowland.FAMD(3, missing="level").fit(holes)
    assert model.levels_["town"] == ["Basel", "Bern", "Genf", None]
    np.testing.assert_allclose(model.transform(holes), lowland.FAMD(3).fit_transform(table), atol=1e-12)
    assert "town=missing" in model.coded_names_
    with pytest.raises(DataError, match="contains a missing category at row"):
        lowland.FAMD().fit(table).transform(holes)
    with pytest.raises(DataError, match=r"unseen='ignore', or fit the model with missing='level'"):
        lowland.FAMD().fit(table).transform(holes)
    ignoring = lowland.FAMD(unseen="ignore").fit(table)
    unknown = holes.with_columns(pl.col("town").fill_null("Chur"))
    np.testing.assert_array_equal(ignoring.transform(holes), ignoring.transform(unknown))
    with pytest.raises(DataError, match="missing category at row"):
        lowland.FAMD(unseen="ignore").fit(holes)
    with pytest.raises(DataError, match=r"the level None, which the training rows do not have"):
        lowland.FAMD(missing="level").fit(table).transform(holes)


def test_rows_are_mapped_one_by_one_and_by_name(table):
    model = lowland.FAMD(2).fit(table)
    Y = model.transform(table)
    single = np.vstack([model.transform(table[i : i + 1]) for i in range(0, 300, 17)])
    np.testing.assert_allclose(single, Y[::17], rtol=1e-12, atol=1e-12)
    with pytest.raises(DataError, match="same order as they were in fit"):
        model.transform(table[["kind", "a", "b", "ok", "town", "c"]])
    with pytest.raises(DataError, match=r"now missing:\n- c"):
        model.transform(table[["a", "kind", "b"]])
    with pytest.raises(DataError, match=r"'x', which is not a number .* at row \d+, column 0 \('a'\)"):
        model.transform(table.with_columns(pl.lit("x").alias("a")))
    assert model.get_feature_names_out().tolist() == ["famd0", "famd1"]
    assert model.set_output(transform="pandas").transform(table.to_pandas()).shape == (300, 2)


def test_a_model_of_numbers_refuses_texts(rng):
    model = lowland.FAMD().fit(rng.standard_normal((20, 3)))
    with pytest.raises(DataError, match=r"'x', which is not a number .* at row 1, column 2"):
        model.transform(np.array([[1, 2, 3], [1, 2, "x"]], dtype=object))


# -- forms, streams, threads ------------------------------------------------------------------------------------------


def test_every_form_and_any_cut_give_the_same_bits(table):
    want = lowland.FAMD(2).fit(table)
    forms = [
        table.to_pandas(),
        table.to_arrow(),
        lambda: table.iter_slices(37),
        lambda: (part.to_pandas() for part in table.iter_slices(111)),
    ]
    for form in forms:
        got = lowland.FAMD(2).fit(form)
        np.testing.assert_array_equal(got.components_, want.components_)
        np.testing.assert_array_equal(got.transform(form), want.transform(table))
    cells = table.rows()
    got = lowland.FAMD(2).fit(cells)
    np.testing.assert_array_equal(got.transform(cells), want.transform(table))
    assert list(got.levels_) == [1, 3, 4]


def test_the_order_of_rows_does_not_matter(table, rng):
    order = rng.permutation(300).tolist()
    a, b = lowland.FAMD(2).fit(table), lowland.FAMD(2).fit(table[order])
    assert a.fit_info_.warnings == ()  # of tied axes: those would turn
    assert a.levels_ == b.levels_
    np.testing.assert_allclose(a.components_, b.components_, atol=1e-12)


def test_threads_leave_no_trace(rng):
    n = 30_000
    frame = pl.DataFrame({f"k{j}": rng.choice([f"v{i}" for i in range(9)], n) for j in range(8)}).with_columns(
        pl.Series("x", rng.standard_normal(n))
    )
    results = []
    for threads in (1, 2, 3):
        with lowland.config(threads=threads):
            results.append(lowland.FAMD(2).fit(frame).transform(frame))
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_tensors_come_back_as_tensors(table, backend):
    X = np.column_stack([table[name].to_numpy() for name in "abc"] + [table["kind"].str.len_chars().to_numpy()])
    for kind in (np.float64, np.float32):
        given = backend(X.astype(kind))
        model = lowland.FAMD(2, categorical=[3]).fit(given)
        Y = model.transform(given)
        assert type(Y) is type(given)
        assert Y.dtype == given.dtype
        blocks = lowland.RowSource.from_blocks(lambda given=given: (given[:100], given[100:]))
        assert type(model.transform(blocks)) is type(given)
        want = lowland.FAMD(2, categorical=[3]).fit(X.astype(kind))
        np.testing.assert_array_equal(np.asarray(Y), want.transform(X.astype(kind)))
        back = model.inverse_transform(Y)
        assert isinstance(back, np.ndarray)  # of objects: no tensor can hold levels
        same = want.inverse_transform(np.asarray(Y))
        np.testing.assert_allclose(back[:, :3].astype(float), same[:, :3].astype(float), rtol=1e-6, atol=1e-6)
        assert back[:, 3].tolist() == same[:, 3].tolist()


def test_blocks_with_texts_are_a_row_source(table):
    for blocks in (lambda: table.iter_slices(90), [table[:100], table[100:]]):
        source = lowland.RowSource.from_blocks(blocks)
        np.testing.assert_array_equal(
            lowland.FAMD(2).fit(source).transform(source), lowland.FAMD(2).fit_transform(table)
        )
        with pytest.raises(DataError, match="column 'kind' contains categories, and this method needs numbers"):
            lowland.PCA(2).fit(source)
    with pytest.raises(DataError, match=r"at row 0, column 1 \('kind'\)"):
        lowland.RowSource.from_blocks(table.iter_slices(90))


def test_blocks_that_can_be_read_once_are_refused(table):
    with pytest.raises(DataError, match="reads the rows several times"):
        lowland.FAMD().fit(table.iter_slices(100))


def test_precision_of_the_numbers_is_kept(table):
    frame = table.with_columns(pl.col("a", "b", "c").cast(pl.Float32))
    model = lowland.FAMD(2).fit(frame)
    assert model.components_.dtype == model.transform(frame).dtype == np.float32
    same = frame.with_columns(pl.col("a", "b", "c").cast(pl.Float64))
    np.testing.assert_allclose(model.transform(frame), lowland.FAMD(2).fit_transform(same), rtol=1e-6, atol=1e-6)


def test_cancelling_while_levels_are_counted(table):
    seen = []

    def stop(stage, done, total):
        seen.append(stage)
        return False

    model = lowland.FAMD()
    with lowland.config(progress=stop), pytest.raises(lowland.Cancelled):
        model.fit(table)
    assert seen == ["levels"]
    assert not [name for name in vars(model) if name.endswith("_")]


# -- hard tables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("way", "limit"), [("counts", 10_000), ("krylov", 0)])
def test_many_levels(rng, monkeypatch, way, limit):
    monkeypatch.setattr(famd_coding, "WIDEST", limit)
    n = 3000
    frame = pl.DataFrame(
        {
            "big": [f"b{i}" for i in rng.integers(0, 900, n)],
            "x": rng.standard_normal(n),
            "other": [f"o{i}" for i in rng.integers(0, 300, n)],
        }
    )
    frame = frame.with_columns((pl.col("x") + pl.col("big").str.slice(1).cast(pl.Float64) / 300).alias("y"))
    plan, model = lowland.plan(lowland.FAMD(3), frame), lowland.FAMD(3).fit(frame)
    assert plan.algorithm == model.fit_info_.algorithm == way
    Z = weighted(frame)
    values, vectors = np.linalg.eigh(Z.T @ Z / n)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], rtol=1e-10)
    assert model.total_variance_ == pytest.approx(values.sum(), rel=1e-10)
    same_up_to_sign(model.transform(frame)[:, :2], Z @ vectors[:, ::-1][:, :2], atol=1e-6)


def test_very_many_levels_take_few_products(rng, monkeypatch):
    """Three hidden kinds give two clear axes; the axes after them lie in the bulk, and are not waited for."""
    monkeypatch.setattr(famd_coding, "WIDEST", 0)
    n, levels, columns = 2500, 240, 5
    kinds, table = rng.integers(0, 3, n), rng.integers(0, levels, (n, columns))
    table = np.where(rng.random((n, columns)) < 0.6, table // 3 * 3 + kinds[:, None], table).astype(float)
    model = lowland.FAMD(2, categorical=list(range(columns)))
    plan = lowland.plan(model, table)
    model.fit(table)
    assert plan.algorithm == model.fit_info_.algorithm == "krylov"
    assert model.fit_info_.iterations < 40  # 200 products if ten axes were to be exact
    assert model.fit_info_.residual < 1e-11
    Z = weighted(pl.from_numpy(table.astype(str)))
    exact = np.linalg.eigvalsh(Z.T @ Z / n)[::-1]
    np.testing.assert_allclose(model.spectrum_, exact[: len(model.spectrum_)], rtol=1e-10)
    assert 2 <= len(model.spectrum_) < 10
    assert model.total_variance_ == pytest.approx(columns * (levels - 1), rel=1e-12)


# -- what counts cannot see -------------------------------------------------------------------------------------------


@pytest.fixture
def near_twins(rng):
    """Two columns of numbers that differ by little, and a category; large enough for counts."""
    n = 120_000

    def make(apart):
        x = rng.standard_normal(n)
        town = pl.Series([f"v{i}" for i in range(30)])[rng.integers(0, 30, n)]
        return pl.DataFrame({"x": x, "y": x + apart * rng.standard_normal(n), "town": town})

    return make


def test_the_smallest_axis_is_not_lost_in_squares(near_twins):
    frame = near_twins(1e-7)
    exact = np.linalg.svd(np.linalg.qr(weighted(frame), mode="r"), compute_uv=False)[:31] ** 2 / len(frame)
    model = lowland.FAMD(31).fit(frame)
    assert model.fit_info_.algorithm == "counts"
    assert model.n_components_ == 31
    np.testing.assert_allclose(model.eigenvalues_, exact, rtol=1e-6)  # the last is 5e-15
    assert model.fit_info_.warnings == ()


def test_what_counts_of_a_large_table_cannot_see_is_told(near_twins, monkeypatch):
    monkeypatch.setattr(famd_coding, "REREAD", 0)
    with pytest.warns(lowland.RankWarning, match=r"30 of the 31 requested axes; .* from rounding") as caught:
        model = lowland.FAMD(31).fit(near_twins(1e-7))
    assert model.n_components_ == 30
    assert not any("rank" in str(warning.message) for warning in caught)
    with pytest.warns(lowland.LowlandWarning, match=r"last eigenvalue is 2e-13 of the first, .* is 0.0009"):
        assert lowland.FAMD(31).fit(near_twins(1e-6)).n_components_ == 31
    lowland.FAMD(31).fit(near_twins(1e-4))  # right to seven digits
    lowland.FAMD(30).fit(near_twins(1e-7))  # what was asked for is clear


# -- axes that are not there ------------------------------------------------------------------------------------------


def test_a_single_category_has_no_axes(rng):
    """Its eigenvalues are all 1: the order of the rows or of the levels would turn the map."""
    column = pl.DataFrame({"k": [f"v{i}" for i in rng.integers(0, 5, 300)]})
    with pytest.warns(lowland.LowlandWarning, match=r"axes 1 to 4 have one eigenvalue \(1\), and 2 axes.*no axes"):
        model = lowland.FAMD(2).fit(column)
    np.testing.assert_allclose(model.eigenvalues_, 1, rtol=1e-12)
    lowland.FAMD(4).fit(column)  # all of them are a space that is there


@pytest.mark.parametrize("n", [10, 60_000], ids=["svd", "counts"])
def test_axes_that_a_tie_cuts_are_told(n):
    """Every pair of levels meets equally often: three columns that know nothing of one another."""
    cells = np.stack(np.meshgrid(*[np.arange(2)] * 3, np.arange(n // 2), indexing="ij"), -1).reshape(-1, 4)[:, :3]
    frame = pl.from_numpy(cells, schema=["a", "b", "c"]).cast(pl.String)
    with pytest.warns(lowland.LowlandWarning, match=r"axes 1 to 3 have one eigenvalue \(1\).*arbitrary; ask for 3"):
        assert lowland.FAMD(2).fit(frame).n_components_ == 2
    lowland.FAMD(3).fit(frame)
    twice = frame.with_columns(pl.col("a").alias("d"))  # λ = 2, 1, 1
    lowland.FAMD(1).fit(twice)
    with pytest.warns(lowland.LowlandWarning, match="axes 2 to 3 .* ask for 1 or 3"):
        lowland.FAMD(2).fit(twice)


def test_numbers_that_are_tied():
    X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=float)
    with pytest.warns(lowland.LowlandWarning, match="axes 1 to 3 have one eigenvalue"):
        lowland.FAMD(2).fit(X)


def test_fewer_rows_than_levels(rng):
    n = 700
    frame = pl.DataFrame({name: [f"v{i}" for i in rng.integers(0, 300, n)] for name in "abc"})
    frame = frame.with_columns(pl.Series("x", rng.standard_normal(n)))
    model = lowland.FAMD(2).fit(frame)
    assert model.fit_info_.algorithm == "gram"
    values = np.linalg.svd(weighted(frame), compute_uv=False) ** 2 / n
    np.testing.assert_allclose(model.eigenvalues_, values[:2], rtol=1e-10)


def test_a_column_that_names_its_rows_is_told(table):
    named = table.with_columns(pl.Series("id", [f"row {i}" for i in range(300)]))
    with pytest.warns(lowland.LowlandWarning, match="'id' has 300 levels in 300 rows.*leave it out") as caught:
        model = lowland.FAMD().fit(named)
    assert [warning.filename for warning in caught] == [__file__]
    assert any("'id'" in text for text in model.fit_info_.warnings)


def test_constant_columns_add_nothing(table):
    more = table.with_columns(pl.lit("same").alias("k"), pl.lit(1e8).alias("one"))
    want, got = lowland.FAMD(2).fit(table), lowland.FAMD(2).fit(more)
    np.testing.assert_allclose(got.eigenvalues_, want.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(got.contributions()[-2:], 0, atol=1e-20)
    with pytest.raises(DataError, match="rank 0"):
        lowland.FAMD(1).fit([["a", "b"]] * 5)


def test_more_axes_than_the_levels_allow(table):
    with pytest.raises(DataError, match=r"n_components=10 is too large: at most 9 \(3 numeric columns"):
        lowland.FAMD(10).fit(table)
    with pytest.raises(DataError, match=r"at most 4 \(n_samples = 4"):
        lowland.FAMD(5).fit(table[:4])
    twins = table.with_columns(pl.col("kind").alias("kind again"))
    with pytest.warns(lowland.RankWarning, match="rank 9"):
        assert lowland.FAMD(11).fit(twins).n_components_ == 9


def test_a_large_mean_costs_no_digits(table):
    far = table.with_columns(pl.col("a") + 1e9)
    near = table.with_columns((pl.col("a") + 1e9) - 1e9)
    np.testing.assert_allclose(
        lowland.FAMD(2).fit(far).eigenvalues_, lowland.FAMD(2).fit(near).eigenvalues_, rtol=1e-13
    )


def test_infinities_and_gaps_in_numbers_are_named(table):
    for value, word in ((np.inf, "infinity"), (np.nan, "NaN")):
        bad = table.clone()
        bad[200, "c"] = value
        with pytest.raises(DataError, match=rf"{word}.*at row 200, column 5 \('c'\)"):
            lowland.FAMD().fit(bad)


def test_an_unfitted_model_says_so():
    model = lowland.FAMD()
    calls = (model.compressor, model.contributions, lambda: model.levels_, lambda: model.coded_names_)
    for call in calls:
        with pytest.raises(NotFittedError):
            call()


def test_every_coded_column_has_a_name_of_its_own():
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 5.0], "k": ["missing", None, "b", "b"]})
    model = lowland.FAMD(1, missing="level").fit(frame)
    assert model.coded_names_ == ["x", "k=b", "k='missing'", "k=missing"]
    cells = [[1.0, "1"], [2.0, 1], [3.0, "b"], [5.0, "b"]]
    assert lowland.FAMD(1).fit(cells).coded_names_ == ["x0", "x1=1", "x1='1'", "x1=b"]


# -- files, plans -----------------------------------------------------------------------------------------------------


def test_models_come_back_from_files(table, tmp_path):
    odd = table.rename({"town": "$town"}).with_columns(
        pl.Series("year", [2000 + i % 3 for i in range(300)]),
        pl.Series("gap", ["a", None, "c"] * 100),
    )
    model = lowland.FAMD(3, categorical=["year"], missing="level", unseen="ignore").fit(odd)
    lowland.save(model, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland")
    assert again.levels_ == model.levels_
    assert again.levels_["gap"] == ["a", "c", None]
    assert (again.levels_["ok"], again.levels_["year"]) == ([False, True], [2000, 2001, 2002])
    Y = model.transform(odd)
    np.testing.assert_array_equal(again.transform(odd), Y)
    np.testing.assert_array_equal(again.inverse_transform(Y), model.inverse_transform(Y))
    np.testing.assert_array_equal(again.contributions(), model.contributions())
    assert again.get_params() == model.get_params()


def test_the_plan_knows_the_levels(table):
    plan = lowland.plan(lowland.FAMD(2), table)
    model = lowland.FAMD(2).fit(table)
    assert plan.algorithm == model.fit_info_.algorithm
    wide = table.with_columns(pl.Series("k", [f"v{i % 140}" for i in range(300)]))
    assert lowland.plan(lowland.FAMD(2), wide).bytes > 5 * plan.bytes
    long = pl.concat([wide.with_columns(pl.col("k") + f"{i}") for i in range(100)])
    few = lowland.plan(lowland.FAMD(2), long)  # 14,000 levels: one basis, that of the shorter side
    assert few.algorithm == "krylov"
    assert few.parts["Krylov basis"] < 8 * 14_100 * 220
    with lowland.config(memory_limit=1000), pytest.raises(lowland.MemoryLimitError):
        lowland.FAMD(2).fit(table)


def test_wrong_columns_for_categorical(table):
    with pytest.raises(DataError, match=r"'towm'.*did you mean 'town'"):
        lowland.FAMD(categorical=["towm"]).fit(table)
    with pytest.raises(ValueError, match="categorical must be 'auto', or a list of column names or numbers"):
        lowland.FAMD(categorical="town").fit(table)


def test_texts_that_look_like_dates_are_told(rng):
    days = [f"2024-01-{day:02d}" for day in range(1, 11)] * 5
    frame = pl.DataFrame({"day": days, "kind": rng.choice(["a", "b"], 50), "x": rng.standard_normal(50)})
    with pytest.warns(lowland.LowlandWarning, match=r"column 'day' holds texts that look like dates \(2024-01-01\)"):
        model = lowland.FAMD(1).fit(frame)
    assert any("look like dates" in text for text in model.fit_info_.warnings)
    frame = frame.with_columns(day=pl.Series(["someday", *days[1:]]))
    assert not any("dates" in text for text in lowland.FAMD(1).fit(frame).fit_info_.warnings)
