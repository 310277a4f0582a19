"""`lowland.recipe`: which steps, what they refuse, and what new rows may be."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import lowland
from lowland import DataError, LowlandWarning, UnitsWarning
from lowland.core.errors import CellError
from patients import make_patients


def names(model):
    return [name for name, _ in model.steps]


def test_only_the_steps_that_are_needed():
    assert names(lowland.recipe()) == ["columns", "dates"]
    assert names(lowland.recipe(lowland.PCA(), dates="drop")) == ["columns", "method"]
    full = lowland.recipe(
        "isomap",
        transform={"log": ["crp"]},
        missing="ppca",
        categories="one-hot",
        scale="robust",
        normalize="l2",
        pre="pca:50",
    )
    order = ["columns", "dates", "transform", "missing", "categories", "scale", "normalize", "pre", "method"]
    assert names(full) == order
    assert isinstance(full, Pipeline)
    assert isinstance(full["method"], lowland.Isomap)
    assert full["pre"].get_params()["n_components"] == 50
    assert "scale" not in names(lowland.recipe(lowland.Isomap(), scale="standard", categories="famd"))
    assert names(lowland.recipe(lowland.PCA(), missing_category="mode"))[2] == "missing"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": lowland.PCA(scale=True), "scale": "standard"}, "both scale the columns"),
        ({"pre": lowland.PCA(5, scale=True), "method": lowland.PCA(), "scale": "minmax"}, "both scale the columns"),
        ({"method": lowland.PCA(scale=True), "categories": "famd"}, "would scale its axes"),
        ({"method": lowland.PCA(), "categories": "famd", "scale": "robust"}, "standardises numbers by itself"),
        ({"method": lowland.FAMD(), "scale": "standard"}, "FAMD standardises the columns by itself"),
        ({"method": lowland.PCA(), "missing": "drop-rows"}, r"frame\.drop_nulls\(\)"),
        ({"method": lowland.PCA(), "missing": "pca"}, "missing must be .*did you mean 'ppca'"),
        ({"method": lowland.PCA(), "categories": "onehot"}, "did you mean 'one-hot'"),
        ({"method": "pcaa"}, "did you mean pca"),
        ({"method": lowland.PCA(), "pre": "pca:many"}, "such as 'pca:50'"),
        ({"method": 3}, "must be a method"),
    ],
    ids=[
        "pca",
        "pre",
        "famd and pca",
        "famd",
        "method famd",
        "drop-rows",
        "missing",
        "one-hot",
        "name",
        "number",
        "none",
    ],
)
def test_recipes_that_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        lowland.recipe(**options)


def test_categories_without_an_order(patients):
    table = patients.drop("id", "albumin", "seen")
    with pytest.warns(LowlandWarning, match=r"categories are left out \('sex', 'smokes'\)"):
        lowland.recipe(lowland.PCA(1), scale="standard").fit(table)
    model = lowland.recipe(lowland.FAMD(2)).fit(table)  # takes them by itself
    assert model["method"].levels_.keys() == {"sex", "smokes"}


def test_new_rows_that_do_not_fit(patients):
    model = lowland.recipe(lowland.PCA(2), drop=["id"], missing="mean", categories="one-hot", scale="standard")
    model.fit(patients)
    with pytest.raises(CellError, match=r"the level 'x', which .* at row 2"):
        model.transform(
            patients.with_columns(pl.when(pl.int_range(pl.len()) == 2).then(pl.lit("x")).otherwise("sex").alias("sex"))
        )
    with pytest.raises(DataError, match=r"no column 'albumin'.*similar names: 'Albumin'"):
        model.transform(patients.rename({"albumin": "Albumin"}))
    with pytest.warns(UnitsWarning, match="'albumin'"):
        model.transform(patients.with_columns(pl.col("albumin") * 1000))
    with pytest.raises(DataError, match="'sex' holds numbers"):
        model.transform(patients.with_columns(pl.lit(1).alias("sex")))
    assert model.transform(patients[:0]).shape == (0, 2)
    with pytest.raises(DataError, match="0 sample"):
        clone(model).fit(patients[:0])
    with pytest.raises(DataError, match="'crp' has no values"):
        clone(model).fit(patients.with_columns(pl.lit(None).alias("crp")))
    ignoring = clone(model).set_params(categories__unseen="ignore").fit(patients)
    assert np.isfinite(ignoring.transform(patients.with_columns(pl.lit("x").alias("sex")))).all()


def test_inverse_of_the_whole_chain(patients):
    model = lowland.recipe(
        lowland.PCA(7), drop=["id"], missing="mean", categories="one-hot", scale="standard", transform={"log": ["crp"]}
    )
    back = model.inverse_transform(model.fit_transform(patients))
    assert back.columns == patients.columns[1:]
    assert back["sex"].to_list() == patients["sex"].to_list()
    assert back["smokes"].to_list() == patients["smokes"].to_list()
    assert back["seen"].to_list() == patients["seen"].to_list()
    np.testing.assert_allclose(back["crp"], patients["crp"], rtol=1e-9)
    options = {"drop": ["id"], "missing": "mean", "categories": "drop", "scale": "standard"}
    cyclic = lowland.recipe(lowland.PCA(2), dates="cyclic", **options).fit(patients)
    assert not hasattr(cyclic, "inverse_transform")


def test_gaps_are_left_to_methods_that_take_them(patients):
    table = patients.select("age", "crp", "albumin")
    assert np.isfinite(lowland.recipe(lowland.ProbabilisticPCA(1), scale="standard").fit_transform(table)).all()
    with pytest.raises(CellError, match=r"NaN at row \d+, column 2 \('albumin'\)"):
        lowland.recipe(lowland.PCA(1), scale="standard").fit(table)


def test_arrays():
    X = np.random.default_rng(0).standard_normal((40, 5)) * [1, 10, 100, 1, 1]
    model = lowland.recipe(lowland.PCA(2), scale="standard").fit(X)
    theirs = lowland.PCA(2, scale=True).fit_transform(X)  # its divisor is N − 1
    np.testing.assert_allclose(model.transform(X), theirs * np.sqrt(40 / 39), atol=1e-10)
    assert isinstance(model[:-1].transform(X), np.ndarray)
    assert isinstance(model.inverse_transform(model.transform(X)), np.ndarray)


def one_axis(n=60):
    """Four columns that measure one thing, and a category: the first axis of FAMD has most of the variance."""
    rng = np.random.default_rng(0)
    health = rng.standard_normal(n)
    columns = {name: 10**j * (health + 0.05 * rng.standard_normal(n)) for j, name in enumerate("abcd")}
    return pl.DataFrame({**columns, "ill": np.where(health > 0, "yes", "no")})


@pytest.mark.parametrize("method", [lowland.PCA(2), lowland.SOM(grid=(3, 3)), lowland.ProbabilisticPCA(1)], ids=repr)
def test_axes_of_famd_do_not_dominate_by_their_units(method):
    """Warnings are errors here: FAMD has weighted the columns, so advice to scale its axes would be wrong."""
    table = one_axis()
    model = lowland.recipe(method, categories="famd").fit(table)
    shares = model["categories"].encoder_.explained_variance_ratio_
    assert shares[0] > 0.75
    assert not model["method"].fit_info_.warnings
    coded = model[:-1].transform(table)
    lowland.quality.report(coded, coded.to_numpy()[:, :2], 5)


def with_limits(patients):
    crp = pl.col("crp").round(2)
    return patients.with_columns(crp=pl.when(crp < 0.5).then(pl.lit("<0.5")).otherwise(crp.cast(pl.String)))


@pytest.mark.parametrize("categories", ["famd", "one-hot", "drop", None])
def test_numbers_with_limits_of_detection_do_not_become_categories(patients, tmp_path, categories):
    with_limits(patients).write_csv(tmp_path / "patients.csv")
    table = lowland.data.read(tmp_path / "patients.csv").frame
    model = lowland.recipe(lowland.PCA(2), drop=["id"], missing="mean", categories=categories, scale="standard")
    with pytest.raises(DataError, match=r"'<0.5' among numbers at row \d+, column 2 \('crp'\)") as caught:
        model.fit(table)
    assert "lowland.data.read(table, below_limit='half') or below_limit='missing'" in str(caught.value)
    assert "types={'crp': 'category'}" in str(caught.value)
    read = lowland.data.read(table, below_limit="half").frame  # the remedies work
    if categories == "famd":
        model.fit(read)
        model.set_params(columns__types={"crp": "category"}, missing__categories="mode")
        with pytest.warns(LowlandWarning, match="looks like an identifier"):
            model.fit(table)


def test_other_texts_among_measured_numbers_are_errors_and_codes_are_categories():
    rng = np.random.default_rng(0)
    values = [f"{value:.3f}" for value in rng.random(40)]
    for words in (["n.d."], ["7 %"]):
        table = pl.DataFrame({"a": [*values[:-1], *words], "b": rng.random(40)})
        with pytest.raises(DataError, match=rf"{words[0]!r} among numbers at row 39.*: correct it or if the column is"):
            lowland.recipe(lowland.PCA(1), categories="one-hot").fit(table)
    stages = pl.DataFrame({"stage": ["1", "2", "3", "3a"] * 10, "b": rng.random(40)})
    assert lowland.recipe(categories="one-hot").fit(stages).transform(stages).width == 5
    declared = table.with_columns(pl.col("a").cast(pl.Categorical))  # the type says that it is a category
    assert lowland.recipe(categories="one-hot").fit(declared).transform(declared).width == 41


def test_limits_of_detection_in_new_rows(patients):
    model = lowland.recipe(lowland.PCA(2), columns=["age", "crp"], scale="standard").fit(patients)
    with pytest.raises(CellError, match=r"'<0.5' in a column of numbers.*below_limit='half'"):
        model.transform(with_limits(patients))
    typed = lowland.recipe(lowland.PCA(2), columns=["age", "crp"], types={"crp": "number"})
    with pytest.raises(CellError, match=r"'<0.5', which is not a number.*below_limit='half'"):
        typed.fit(with_limits(patients))


def test_the_order_of_day_and_month_is_a_type():
    days = pl.DataFrame({"d": ["01/02/2024", "03/02/2024", None, " 4-2-2024 12:00"]})
    first = lowland.recipe(types={"d": "dmy"}).fit(days)
    assert first.transform(days)["d_days"].to_list() == [0.0, 2.0, None, 3.5]
    month = lowland.recipe(types={"d": "mdy"}).fit(days)
    assert month.transform(days)["d_days"].to_list() == [0.0, 60.0, None, 91.5]
    with pytest.raises(CellError, match=r"use types=\{'d': 'dmy'\} if the day is first or use types=\{'d': 'mdy'\}"):
        lowland.recipe(types={"d": "date"}).fit(days)
    with pytest.raises(CellError, match="'1/31/2024', which is not a date with the day first, at row 0"):
        first.transform(pl.DataFrame({"d": ["1/31/2024"]}))
    with pytest.raises(CellError, match=r"'31/1/2024'.*: use types=\{'d': 'dmy'\} if the day is first$"):
        lowland.recipe(types={"d": "date"}).fit(pl.DataFrame({"d": ["31/1/2024", "1/1/2024"]}))


def test_missing_columns_are_listed_with_similar_names(patients):
    model = lowland.recipe(lowland.PCA(2), columns=["age", "crp", "albumin"], missing="mean", scale="standard")
    new = model.fit(patients) and patients.select(pl.col("age").alias("AGE"), pl.col("albumin"))
    with pytest.raises(DataError, match=r"no column 'age' and 1 other \('crp'\).*similar names: 'AGE'; rename or add"):
        model.transform(new)


def test_new_levels_are_ignored_by_famd_as_asked():
    method = lowland.FAMD(2)
    model = lowland.recipe(method, columns=["age", "sex"], unseen="ignore").fit(make_patients())
    assert np.isfinite(model.transform(make_patients().with_columns(sex=pl.lit("d")))).all()
    assert method.unseen == "error"
