"""What single steps compute, and which cells they refuse."""

import datetime as dt
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import lowland
from lowland import DataError, LowlandWarning, UnitsWarning, steps
from lowland.core.errors import CellError

# -- columns ------------------------------------------------------------------------------------------------------


def test_units_1000_times_off(patients):
    step = steps.SelectColumns(drop=["id"]).fit(patients)
    with pytest.warns(UnitsWarning, match=r"'albumin'.* 1,000 times larger .*check the unit"):
        step.transform(patients.with_columns(pl.col("albumin") * 1000))
    with pytest.warns(UnitsWarning, match=r"'albumin'.* 1,000 times smaller"):
        step.transform(patients.with_columns(pl.col("albumin") / 1000))
    step.transform(patients.with_columns(pl.col("albumin") * 10))  # no warning
    step.transform(patients.with_columns(pl.lit(0.0).alias("albumin")))
    few = patients.with_columns(pl.when(pl.int_range(pl.len()) < 3).then(4e4).otherwise("albumin").alias("albumin"))
    step.transform(few)  # some values only


def test_declared_types(patients):
    step = steps.SelectColumns(["ward", "seen"], types={"ward": "category", "seen": "date"}).fit(patients)
    texts = patients.with_columns(pl.col("seen").cast(pl.String), pl.col("ward").cast(pl.Float64))
    out = step.transform(texts)
    assert out["ward"].to_list()[:3] == ["1", "2", "3"]  # 1.0 is 1
    assert out["seen"].cast(pl.Date).equals(patients["seen"])
    with pytest.raises(CellError, match=r"'soon', which is not a date, at row 0, column 1 \('seen'\)"):
        step.transform(texts.with_columns(pl.lit("soon").alias("seen")))
    numbers = steps.SelectColumns(types={"x": "number"})
    assert numbers.fit_transform(pl.DataFrame({"x": [" 1.5", "2", None]}))["x"].to_list() == [1.5, 2.0, None]


def test_other_kinds(patients):
    with pytest.raises(DataError, match="column 'sex' holds categories"):
        steps.SelectColumns(kinds=["number", "date"]).fit(patients)
    with pytest.warns(LowlandWarning, match=r"columns of categories are left out \('sex', 'smokes'\)"):
        step = steps.SelectColumns(kinds=["number", "date"], others="warn").fit(patients)
    assert step.names_out_ == ["id", "age", "crp", "albumin", "ward", "seen"]
    assert steps.SelectColumns(kinds=["number"], others="drop").fit(patients).names_out_[-1] == "ward"
    nested = patients.with_columns(pl.concat_list("id", "ward").alias("list"))
    with pytest.raises(DataError, match="'list' holds other types"):
        steps.SelectColumns().fit(nested)
    with pytest.raises(DataError, match=r"drop has 'iid', which is not one of the 8 columns; similar names: 'id'"):
        steps.SelectColumns(drop=["iid"]).fit(patients)
    with pytest.raises(DataError, match="no column is left"):
        steps.SelectColumns(["age"], drop=["age"]).fit(patients)


# -- dates --------------------------------------------------------------------------------------------------------


def test_elapsed_days_count_from_the_first_training_date():
    times = [dt.datetime(2024, 1, 1, 12), dt.datetime(2024, 1, 3), None]
    step = steps.EncodeDates().fit(pl.DataFrame({"t": times}))
    assert step.transform(pl.DataFrame({"t": times}))["t_days"].to_list() == [0.0, 1.5, None]
    assert step.transform(pl.DataFrame({"t": [dt.datetime(2023, 12, 31, 12)]}))["t_days"].to_list() == [-1.0]
    assert step.inverse_transform(pl.DataFrame({"t_days": [1.5]}))["t"].to_list() == [times[1]]
    zoned = pl.DataFrame({"t": [dt.datetime(2024, 1, 1, 12)]}).select(
        pl.col("t").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
    )
    assert step.transform(zoned)["t_days"].to_list() == [0.0]  # the same moment


def test_cyclic_parts_are_those_that_the_training_dates_have():
    year = pl.DataFrame({"t": [dt.date(2023, 1, 1) + dt.timedelta(days=d) for d in range(400)]})
    step = steps.EncodeDates("cyclic").fit(year)
    assert step.names_out_ == ["t_year_sin", "t_year_cos", "t_week_sin", "t_week_cos"]
    out = step.transform(pl.DataFrame({"t": [dt.date(2023, 1, 1), dt.date(2024, 7, 2), dt.date(2024, 1, 1)]}))
    np.testing.assert_allclose(out["t_year_cos"], [1, -1, 1], atol=1e-12)  # half of a leap year
    np.testing.assert_allclose(out["t_week_cos"][2], 1, atol=1e-12)  # a Monday
    assert not hasattr(step, "inverse_transform")
    hours = pl.DataFrame({"t": [dt.datetime(2024, 5, 1, h) for h in range(24)]})
    assert steps.EncodeDates("cyclic").fit(hours).names_out_ == ["t_day_sin", "t_day_cos"]
    assert steps.EncodeDates("cyclic").fit(year[:2]).names_out_ == ["t_year_sin", "t_year_cos"]


# -- transforms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "rows", "place"),
    [
        ("log", [[1.0, 2.0], [1.0, 0.0]], "0, for which log is not defined, at row 1, column 1"),
        ("log1p", [[-1.0, 2.0]], "-1, for which log1p is not defined, at row 0, column 0"),
        ("sqrt", [[1.0, 2.0], [3.0, -2.0]], "-2, for which sqrt is not defined, at row 1, column 1"),
        ("clr", [[1.0, 0.0]], "0, for which clr is not defined, at row 0, column 1"),
        ("clr", [[1.0, np.nan], [1.0, 2.0]], "a missing part at row 0, column 1"),
        ("hellinger", [[1.0, 1.0], [0.0, 0.0]], "a row of zeros, which has no shares, at row 1"),
        ("log", [[np.inf, 1.0]], "infinity at row 0, column 0"),
    ],
)
def test_values_outside_a_domain(kind, rows, place):
    good = [[1.0, 2.0], [3.0, 4.0]]
    step = steps.TransformColumns({kind: "all"}).fit(good)
    with pytest.raises(CellError, match=place):
        step.transform(rows)
    with pytest.raises(CellError, match=place):
        steps.TransformColumns({kind: "all"}).fit(rows)


def test_transforms_and_their_inverses():
    X = np.random.default_rng(0).lognormal(size=(50, 3))
    for kind in ("log", "log1p", "sqrt", "rank"):
        step = steps.TransformColumns({kind: "all"}).fit(X)
        np.testing.assert_allclose(step.inverse_transform(step.transform(X)), X, rtol=1e-10)
    for kind in ("clr", "hellinger"):
        step = steps.TransformColumns({kind: "all"}).fit(X)
        np.testing.assert_allclose(step.inverse_transform(step.transform(X)), X / X.sum(1, keepdims=True), rtol=1e-10)
    np.testing.assert_allclose(steps.TransformColumns({"clr": "all"}).fit_transform(X).sum(axis=1), 0, atol=1e-12)
    gaps = (
        steps.TransformColumns({"rank": ["x0"]}).fit([[1.0], [2.0], [2.0], [3.0]]).transform([[np.nan], [2.0], [9.0]])
    )
    np.testing.assert_allclose(gaps, [[np.nan], [0.5], [0.875]])


def test_transforms_that_are_refused(patients):
    with pytest.raises(ValueError, match="transforms must be a mapping"):
        steps.TransformColumns({"ln": ["age"]}).fit(patients)
    with pytest.raises(DataError, match="log of column 'sex', which holds no numbers"):
        steps.TransformColumns({"log": ["sex"]}).fit(patients)
    with pytest.raises(DataError, match="'crp' is in log and in sqrt"):
        steps.TransformColumns({"log": ["crp"], "sqrt": ["crp"]}).fit(patients)
    with pytest.raises(DataError, match="clr needs at least two columns"):
        steps.TransformColumns({"clr": ["crp"]}).fit(patients)


def test_many_distinct_values_are_thinned():
    x = np.random.default_rng(0).standard_normal((30_000, 1))
    step = steps.TransformColumns({"rank": "all"}).fit(x)
    assert len(step.values_["x0"]) <= 10_000
    exact = (np.argsort(np.argsort(x[:, 0])) + 0.5) / len(x)
    np.testing.assert_allclose(step.transform(x)[:, 0], exact, atol=2e-4)


# -- scales -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "peer"), [("standard", StandardScaler()), ("robust", RobustScaler()), ("minmax", MinMaxScaler())]
)
def test_scales_are_those_of_scikit_learn(method, peer):
    X = np.random.default_rng(0).standard_normal((40, 3)) * [1, 1e-3, 1e9] + [0, 1, 1e12]
    X[3, 0] = np.nan
    step = steps.ScaleColumns(method).fit(X)
    np.testing.assert_allclose(step.transform(X), peer.fit_transform(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(step.inverse_transform(step.transform(X)), X, rtol=1e-12)


@pytest.mark.parametrize("method", ["standard", "robust", "minmax"])
def test_constant_columns_become_zero(method):
    X = np.column_stack([np.full(10, 0.1), np.arange(10.0), [5.0] * 9 + [6.0]])
    out = steps.ScaleColumns(method).fit_transform(X)
    assert (out[:, 0] == 0).all()
    assert np.isfinite(out).all()
    assert np.ptp(out[:, 2]) > 0.5  # quartiles are equal: divided by the standard deviation


# -- gaps ---------------------------------------------------------------------------------------------------------


def test_mean_median_and_missing_categories():
    frame = pl.DataFrame({"x": [1.0, None, 2.0, 9.0], "c": ["b", "a", None, "b"], "t": [True, None, True, False]})
    assert steps.ImputeMissing("mean", categories="mode").fit_transform(frame).row(1) == (4.0, "a", True)
    assert steps.ImputeMissing("median", categories="mode").fit_transform(frame).row(2) == (2.0, "b", True)
    step = steps.ImputeMissing("keep", categories="level").fit(frame)
    assert step.transform(frame).row(2) == (2.0, "missing", "true")
    assert step.inverse_transform(step.transform(frame))["c"].to_list() == frame["c"].to_list()
    taken = frame.with_columns(pl.Series("c", ["missing", "a", None, "b"]))
    assert steps.ImputeMissing(categories="level").fit_transform(taken)["c"][2] == "(missing)"
    with pytest.raises(CellError, match=r"a missing category at row 2, column 1 \('c'\): fill it, make missing values"):
        steps.ImputeMissing("mean").fit(frame)


def low_rank(rng, n=150, units=(1.0, 1e3, 1e-3, 1.0, 50.0, 1.0)):
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, len(units))) + 0.1 * rng.standard_normal((n, len(units)))
    return X * units + 5 * np.asarray(units)


def test_ppca_finds_the_rank_and_depends_on_no_unit():
    rng = np.random.default_rng(0)
    X = low_rank(rng)
    hidden = rng.random(X.shape) < 0.1
    gaps = np.where(hidden, np.nan, X)
    step = steps.ImputeMissing("ppca").fit(gaps)
    assert step.n_components_ >= 2
    assert step.errors_[2] < 0.1 < 0.4 < step.errors_[1]
    filled = step.transform(gaps)
    np.testing.assert_array_equal(filled[~hidden], X[~hidden])
    sd = X.std(axis=0)
    assert np.sqrt((((filled - X) / sd)[hidden] ** 2).mean()) < 0.3
    units = np.array([1e6, 1.0, 1e-6, 3.0, 1.0, 7.0])
    other = steps.ImputeMissing("ppca").fit(gaps * units)
    np.testing.assert_allclose(other.transform(gaps * units), filled * units, rtol=1e-6)


def test_ppca_of_many_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 400)) + 0.3 * rng.standard_normal((60, 400))
    hidden = rng.random(X.shape) < 0.1
    step = steps.ImputeMissing("ppca").fit(np.where(hidden, np.nan, X))
    assert step.n_components_ >= 3
    error = (step.transform(np.where(hidden, np.nan, X)) - X)[hidden] / 0.3
    assert np.sqrt((error**2).mean()) < 1.3  # the noise itself is 1


def test_ppca_of_noise_is_the_mean():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    step = steps.ImputeMissing("ppca").fit(X)
    assert step.errors_[step.n_components_] > 0.8 * step.errors_[0]  # nothing to be learned
    one = steps.ImputeMissing("ppca").fit(X[:, :1])
    assert one.model_ is None
    np.testing.assert_allclose(one.transform([[np.nan]])[0, 0], np.nanmean(X[:, 0]))
    constant = steps.ImputeMissing("ppca").fit([[1.0, 2.0], [1.0, np.nan], [1.0, 2.0], [1.0, 2.0]])
    assert constant.transform([[np.nan, np.nan]]).tolist() == [[1.0, 2.0]]


# -- categories ---------------------------------------------------------------------------------------------------


def test_unknown_levels():
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "c": ["a", "b", "a", "b"]})
    new = pl.DataFrame({"x": [1.0, 1.0], "c": ["a", "z"]})
    for method in ("one-hot", "famd"):
        with pytest.raises(
            CellError, match=r"the level 'z', which .* \(they have 'a', 'b'\), at row 1, column 1 \('c'\)"
        ):
            steps.EncodeCategories(method).fit(frame).transform(new)
    ignored = steps.EncodeCategories(unseen="ignore").fit(frame)
    assert ignored.transform(new).row(1) == (1.0, 0.0, 0.0)
    assert ignored.inverse_transform(ignored.transform(new))["c"].to_list() == ["a", None]
    famd = steps.EncodeCategories("famd", unseen="ignore").fit(frame)
    assert np.isfinite(famd.transform(new).to_numpy()).all()


def test_a_missing_category_of_a_new_row_is_an_unknown_level_if_these_are_ignored():
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "c": ["a", "b", "a", "b"]})
    new = pl.DataFrame({"x": [1.0, 1.0], "c": ["z", None]})
    for method in ("one-hot", "famd"):
        with pytest.raises(CellError, match=r"a missing category at row 0.*unseen='ignore'.*missing_category='level'"):
            steps.EncodeCategories(method).fit(frame).transform(new[1:])
        step = steps.EncodeCategories(method, unseen="ignore").fit(frame)
        made = step.transform(new)
        assert made.row(0) == made.row(1)
        assert step.transform(new[1:]).row(0) == made.row(1), "each row by itself"
        with pytest.raises(CellError, match="a missing category at row 1"):
            steps.EncodeCategories(method, unseen="ignore").fit(new)
    step = steps.ImputeMissing("median", unseen="ignore").fit(frame)
    assert step.transform(new).row(1) == (1.0, None)
    with pytest.raises(CellError, match="a missing category at row 1"):
        step.fit(new)


def test_famd_distances_are_those_of_its_coding(patients):
    frame = patients.select("age", "crp", "sex", "ward").with_columns(pl.col("ward").cast(pl.String))
    Y = steps.EncodeCategories("famd").fit_transform(frame).to_numpy()
    numbers = frame.select("age", "crp").to_numpy()
    Z = [(numbers - numbers.mean(axis=0)) / numbers.std(axis=0)]
    for name in ("sex", "ward"):
        one = frame[name].to_dummies().to_numpy().astype(float)
        Z.append((one - one.mean(axis=0)) / np.sqrt(one.mean(axis=0)))
    Z = np.hstack(Z)
    np.testing.assert_allclose(Y @ Y.T, Z @ Z.T, atol=1e-10)
    step = steps.EncodeCategories("famd").fit(frame)
    back = step.inverse_transform(step.transform(frame))
    assert back["sex"].to_list() == frame["sex"].to_list()
    np.testing.assert_allclose(back["age"], frame["age"], rtol=1e-10)


def test_names_of_levels_that_clash():
    frame = pl.DataFrame({"a": ["x", "y"], "a=x": [1.0, 2.0]})
    names = steps.EncodeCategories().fit(frame).get_feature_names_out()
    assert len(set(names)) == 3
    assert lowland.steps.EncodeDates().fit(pl.DataFrame({"t": [dt.date(2024, 1, 1)], "t_days": [1]})).names_out_ == [
        "t_days",
        "t_days′",
    ]


@pytest.mark.parametrize("sigma", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_a_skewed_column_in_another_unit_is_told(sigma: float, factor: float) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"crp": rng.lognormal(1.0, sigma, 200), "age": rng.normal(50, 9, 200)})
    step = steps.SelectColumns().fit(frame)
    new = pl.DataFrame({"crp": rng.lognormal(1.0, sigma, 40) * factor, "age": rng.normal(50, 9, 40)})
    with pytest.warns(UnitsWarning, match=r"'crp'.*check the unit"):
        step.transform(new)


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_ordinary_new_rows_have_no_other_unit(n: int) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)

        def rows(count: int, rng: np.random.Generator = rng) -> pl.DataFrame:
            return pl.DataFrame(
                {
                    "skewed": rng.lognormal(1.0, 1.5, count),
                    "rare": rng.lognormal(0, 1.0, count) * (rng.random(count) < 0.1),
                    "normal": rng.normal(size=count),
                    "count": rng.poisson(0.3, count),
                }
            )

        step = steps.SelectColumns().fit(rows(200))
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnitsWarning)
            step.transform(rows(n))


def test_a_few_values_of_another_size_are_no_other_unit() -> None:
    step = steps.SelectColumns().fit(pl.DataFrame({"a": np.linspace(1.0, 2.0, 50)}))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnitsWarning)
        step.transform(pl.DataFrame({"a": [1.5, 2.5e4]}))
        step.transform(pl.DataFrame({"a": [1.5] * 10 + [5e4] * 9}))


@pytest.mark.parametrize(
    "cells", [[20240105, 20240217, None], [20240105.0, 20240217.0, None], ["20240105", "20240217", None]]
)
def test_dates_without_marks_by_their_type(cells):
    frame = pl.DataFrame({"when": cells, "a": [1.0, 2.0, 3.0]})
    step = steps.SelectColumns(types={"when": "date"}).fit(frame)
    days = steps.EncodeDates().fit_transform(step.transform(frame))["when_days"].to_list()
    assert days == [0.0, 43.0, None]
    with pytest.raises(CellError, match="which is not a date, at row 0"):
        step.transform(frame.with_columns(pl.Series("when", [20241399, 20240105, 20240106]).cast(frame.schema["when"])))


def test_numbers_that_are_no_dates_are_refused_as_dates():
    frame = pl.DataFrame({"when": [1.5, 2.5], "a": [1.0, 2.0]})
    with pytest.raises(DataError, match="contains numbers, which cannot be read as a date"):
        steps.SelectColumns(types={"when": "date"}).fit(frame)


def test_texts_with_named_months_are_dates_by_their_type():
    frame = pl.DataFrame({"when": ["Jan 5, 2024", "Feb 17, 2024"], "a": [1.0, 2.0]})
    out = steps.SelectColumns(types={"when": "date"}).fit_transform(frame)
    assert out["when"].cast(pl.Date).to_list() == [dt.date(2024, 1, 5), dt.date(2024, 2, 17)]
