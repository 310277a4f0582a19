"""Recipes that learn from a table in passes: the bits of the table in memory."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import lowland
from lowland.core.errors import CellError, DataError, LowlandWarning
from lowland.data import scan
from lowland.methods.steps import training_rows

pytestmark = pytest.mark.filterwarnings("ignore::lowland.core.errors.LowlandWarning")

ROWS = 3000
CORE = {"drop": ["id"], "missing": "median", "missing_category": "level", "categories": "one-hot"}
RECIPES = {
    "standard": {**CORE, "scale": "standard"},
    "robust": {**CORE, "scale": "robust", "dates": "cyclic"},
    "minmax": {**CORE, "scale": "minmax", "normalize": "l2", "dates": "drop"},
    "ppca": {**CORE, "missing": "ppca", "missing_category": "mode", "scale": "standard"},
    "famd": {**CORE, "missing": "mean", "categories": "famd"},
    "rank": {**CORE, "transform": {"rank": ["a", "c"], "log1p": ["n"]}, "scale": "standard"},
    "types": {**CORE, "types": {"n": "category"}, "scale": "standard"},
    "pre": {**CORE, "scale": "standard", "pre": "pca:4"},
}


@pytest.fixture(autouse=True)
def _many_blocks(monkeypatch):
    """Steps learn from blocks of 512 rows, so that a small table has several."""
    monkeypatch.setattr(training_rows, "_MAX_ROWS", 512)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((ROWS, 2)) @ rng.standard_normal((2, 3)) + 0.2 * rng.standard_normal((ROWS, 3))
    table = pl.DataFrame(X * [1.0, 300.0, 1e-3] + [0.0, 5e4, 0.0], schema=["a", "b", "c"])
    start = datetime.datetime(2021, 3, 1)
    table = table.with_columns(
        pl.Series("id", [f"r{i}" for i in range(ROWS)]),
        pl.Series("n", rng.integers(0, 4, ROWS)),
        pl.Series("sex", rng.choice(["f", "m", "not known"], ROWS)),
        pl.Series("seen", [start + datetime.timedelta(hours=int(h)) for h in rng.integers(0, 20_000, ROWS)]),
    )
    holes = {"a": rng.random(ROWS) < 0.1, "b": np.arange(ROWS) > 2500, "sex": rng.random(ROWS) < 0.05}
    return table.with_columns(
        pl.when(pl.lit(pl.Series(gaps))).then(None).otherwise(pl.col(n)).alias(n) for n, gaps in holes.items()
    )


@pytest.fixture(params=["parquet", "csv", "copied csv"])
def stored(request, frame, tmp_path):
    """The table in a file, opened for reading in blocks."""
    if request.param == "parquet":
        frame.write_parquet(tmp_path / "rows.parquet", row_group_size=700)
        return scan(tmp_path / "rows.parquet")
    frame.write_csv(tmp_path / "rows.csv")
    return scan(tmp_path / "rows.csv", **({"scratch": tmp_path} if request.param == "copied csv" else {}))


def same_learned(one, other):
    """Require that the steps and methods of two Pipelines have learned the same bits."""
    for (name, a), (_, b) in zip(one.steps, other.steps, strict=True):
        learned = [key for key in vars(a) if key.endswith("_") and key not in ("fit_info_", "embedding_")]
        assert learned
        for key in learned:
            own, theirs = getattr(a, key), getattr(b, key)
            if isinstance(own, np.ndarray):
                np.testing.assert_array_equal(own, theirs, err_msg=f"{name}.{key}")
            elif isinstance(own, dict):
                assert list(own) == list(theirs), f"{name}.{key}"
                for part in own:
                    np.testing.assert_array_equal(own[part], theirs[part], err_msg=f"{name}.{key}[{part}]")
            elif not hasattr(own, "get_params"):
                assert own == theirs, f"{name}.{key}"


@pytest.mark.parametrize("how", list(RECIPES))
def test_a_scan_teaches_the_bits_of_the_table_in_memory(frame, stored, how):
    whole = lowland.recipe(lowland.PCA(2), **RECIPES[how]).fit(pl.concat(list(stored.frames())))
    in_blocks = lowland.fit(lowland.recipe(lowland.PCA(2), **RECIPES[how]), stored)
    same_learned(whole, in_blocks)
    np.testing.assert_array_equal(whole.transform(frame), in_blocks.transform(stored))


@pytest.mark.parametrize("method", ["ICA", "TruncatedSVD", "ProbabilisticPCA", "RandomProjection", "SOM", "FAMD"])
def test_every_method_that_learns_in_passes(frame, tmp_path, method):
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=700)
    given = {} if method in ("TruncatedSVD", "ProbabilisticPCA") else {"random_state": 0}
    given = {"grid": (4, 3)} | given if method == "SOM" else {"n_components": 2, **given}
    given.pop("random_state", None) if method == "FAMD" else None
    how = {"drop": ["id"], "missing": "mean", "missing_category": "level"}
    how |= {} if method == "FAMD" else {"categories": "one-hot", "scale": "standard"}
    whole = lowland.recipe(getattr(lowland, method)(**given), **how).fit(frame)
    in_blocks = lowland.recipe(getattr(lowland, method)(**given), **how).fit(scan(tmp_path / "rows.parquet"))
    np.testing.assert_array_equal(whole.transform(frame), in_blocks.transform(frame))


def test_columns_without_names(tmp_path):
    X = np.random.default_rng(0).integers(0, 5, (ROWS, 4))
    np.save(tmp_path / "rows.npy", X)
    for how in ({"scale": "robust"}, {"types": {"x1": "category"}, "categories": "one-hot", "scale": "standard"}):
        whole = lowland.recipe(lowland.PCA(2), **how).fit(X)
        in_blocks = lowland.recipe(lowland.PCA(2), **how).fit(scan(tmp_path / "rows.npy"))
        same_learned(whole, in_blocks)
        assert hasattr(whole[-1], "feature_names_in_") == hasattr(in_blocks[-1], "feature_names_in_")


def test_a_fit_that_may_hold_little_memory_has_the_same_bits(tmp_path):
    """64 MB of rows under a limit of 40 MB."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400_000, 20)) * np.geomspace(1, 1e3, 20)
    X[rng.random(X.shape) < 0.01] = np.nan
    np.save(tmp_path / "rows.npy", X)
    how = {"missing": "median", "scale": "robust"}
    whole = lowland.recipe(lowland.PCA(2), **how).fit(X)
    with lowland.config(memory_limit="40MB"):
        starved = lowland.fit(lowland.recipe(lowland.PCA(2), **how), scan(tmp_path / "rows.npy"))
    same_learned(whole, starved)


def test_a_sample_learns_its_steps_from_all_rows(frame, tmp_path):
    """The rare level is in no drawn row; a step that had not seen it would refuse it later."""
    rare = frame.with_columns(pl.Series("sex", ["rare" if i == 1234 else "f" if i % 2 else "m" for i in range(ROWS)]))
    rare.write_parquet(tmp_path / "rows.parquet")
    model = lowland.recipe(lowland.Isomap(2), **RECIPES["standard"])
    lowland.fit_sample(model, scan(tmp_path / "rows.parquet"), 300, random_state=5)
    assert model[-1].fit_info_.evidence["rows of the sample"] == 300
    assert "rare" in model.named_steps["categories"].levels_["sex"]
    want = lowland.steps.ScaleColumns().fit(model[:-2].transform(rare))
    np.testing.assert_array_equal(model.named_steps["scale"].center_, want.center_)
    lowland.transform_file(model, scan(tmp_path / "rows.parquet"), tmp_path / "map.npy")
    assert np.load(tmp_path / "map.npy").shape == (ROWS, 2)


def test_steps_alone_give_a_table_that_is_read_in_blocks(frame, stored):
    step = lowland.steps.ScaleColumns("minmax")
    table = lowland.steps.SelectColumns(["a", "b", "n"]).fit_transform(stored)
    made = pl.concat(list(step.fit_transform(table).frames()))
    want = step.fit_transform(frame.select("a", "b", "n"))
    np.testing.assert_array_equal(made.to_numpy(), want.to_numpy())
    np.testing.assert_array_equal(pl.concat(list(step.transform(table).frames())).to_numpy(), want.to_numpy())


def test_a_pass_begins_in_the_middle_of_changed_rows(frame, tmp_path):
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=700)
    from lowland.streaming.chain import learn_before

    model = lowland.recipe(lowland.PCA(2), **RECIPES["pre"])
    table = learn_before(model, scan(tmp_path / "rows.parquet"))
    whole = np.concatenate(list(table.arrays()))
    assert whole.shape == (ROWS, 4)
    for start in (1, 699, 2048, 2999, ROWS):
        found = [np.empty((0, 4)), *table.arrays(start, rows=100)]
        np.testing.assert_allclose(np.concatenate(found), whole[start:], rtol=1e-12, atol=1e-12)


# -- errors ----------------------------------------------------------------------------------------------------------


def test_errors_name_the_line_of_the_file(frame, tmp_path):
    frame.write_csv(tmp_path / "rows.csv")
    table = scan(tmp_path / "rows.csv")
    row = int(frame["sex"].is_null().to_numpy().argmax())
    for how in (
        {"categories": "one-hot"},
        {"categories": "famd"},
        {"missing_category": "error", "categories": "one-hot"},
    ):
        model = lowland.recipe(lowland.PCA(2), drop=["id"], missing="mean", **how)
        with pytest.raises(CellError, match=rf"a missing category at row {row}, .*in rows\.csv, line {row + 2}:"):
            model.fit(table)
    with pytest.raises(CellError, match=r"for which log is not defined, at row \d+, .*in rows\.csv, line \d+"):
        lowland.recipe(lowland.PCA(2), columns=["a", "b"], transform={"log": ["a"]}, missing="mean").fit(table)
    with pytest.raises(
        CellError, match=rf"NaN at row {int(frame['a'].is_null().arg_max())}, column 0 \('a'\), in rows"
    ):
        lowland.recipe(lowland.PCA(2), columns=["a", "b", "c"], scale="standard").fit(table)


def test_a_column_without_values_is_refused(frame, tmp_path):
    frame.with_columns(pl.lit(None).cast(pl.Float64).alias("e")).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="column 'e' has no values"):
        lowland.recipe(lowland.PCA(2), columns=["a", "e"], missing="mean").fit(scan(tmp_path / "rows.parquet"))


def test_a_column_may_show_its_first_value_late(tmp_path):
    late = pl.DataFrame({"a": [None] * 2000 + [1.5, 2.5] * 500, "b": np.arange(3000.0)})
    late.write_parquet(tmp_path / "rows.parquet", row_group_size=100)
    step = lowland.steps.ImputeMissing("median").fit(scan(tmp_path / "rows.parquet"))
    assert step.fill_.tolist() == [2.0, 1499.5]


def test_steps_that_need_all_rows_say_so(tmp_path):
    pl.DataFrame({"t": ["a text", "another"]}).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="EncodeTexts needs the table in memory"):
        lowland.steps.EncodeTexts().fit(scan(tmp_path / "rows.parquet"))


def test_values_in_another_unit_are_told(frame, tmp_path):
    frame.with_columns(pl.col("b") * 1000).write_parquet(tmp_path / "new.parquet")
    model = lowland.recipe(lowland.PCA(2), columns=["b", "c"], missing="mean", scale="standard").fit(frame)
    with pytest.warns(LowlandWarning, match="column 'b': the new values are about 1,000 times larger"):
        model.transform(scan(tmp_path / "new.parquet"))


@pytest.mark.parametrize(
    ("how", "passes"),
    [
        ({"drop": ["id"], "dates": "drop"}, 2),  # the choice of columns and the deviations, PCA
        ({"missing": "mean", "missing_category": "level", "drop": ["id"], "dates": "drop"}, 3),
        ({"missing": "mean", "missing_category": "level", "drop": ["id"], "dates": "elapsed"}, 4),
    ],
    ids=["no gaps", "gaps", "gaps and dates"],
)
def test_columns_are_chosen_in_the_first_pass_of_the_next_step(frame, tmp_path, how, passes):
    complete = frame.drop_nulls() if "missing" not in how else frame
    complete.drop("sex").write_parquet(tmp_path / "rows.parquet")
    table = scan(tmp_path / "rows.parquet")
    model = lowland.fit(lowland.recipe(lowland.PCA(2), scale="standard", **how), table)
    assert table.passes == passes
    same_learned(lowland.recipe(lowland.PCA(2), scale="standard", **how).fit(complete.drop("sex")), model)


@pytest.mark.parametrize(
    ("first", "second"),
    [({}, {"drop": ["a"]}), ({}, {"drop": ["n"], "types": {"b": "category"}}), ({"types": {"n": "category"}}, {})],
    ids=["fewer columns", "other types", "types before"],
)
def test_columns_that_are_chosen_twice(frame, tmp_path, first, second):
    frame.select("a", "b", "c", "n").drop_nulls().write_parquet(tmp_path / "rows.parquet")
    one, two = lowland.steps.SelectColumns(**first), lowland.steps.SelectColumns(**second)
    model = Pipeline([("one", one), ("two", two), ("codes", lowland.steps.EncodeCategories()), ("map", lowland.PCA(2))])
    table = scan(tmp_path / "rows.parquet")
    in_blocks = lowland.fit(clone(model), table)
    same_learned(clone(model).fit(pl.concat(list(table.frames()))), in_blocks)


@pytest.mark.parametrize(
    "fails", [lowland.steps.TransformColumns({"log": ["nope"]}), lowland.steps.TransformColumns({"log": ["a"]})]
)
def test_a_step_that_fails_leaves_none_half_fitted(frame, tmp_path, fails):
    """Before its pass, and in the pass that it shares."""
    frame.write_parquet(tmp_path / "rows.parquet")
    select = lowland.steps.SelectColumns(["a", "b"])
    model = Pipeline([("columns", select), ("log", fails), ("map", lowland.PCA(1))])
    with pytest.raises(DataError):
        lowland.fit(model, scan(tmp_path / "rows.parquet"))
    for step in (select, fails):
        assert [name for name in vars(step) if name.endswith("_")] == []


def test_a_first_method_gets_the_table_as_it_is(tmp_path):
    """Codes stay whole numbers and half precision stays, as if the method were alone."""
    rng = np.random.default_rng(0)
    codes = pl.DataFrame({"k": rng.integers(0, 3, 200), "x": rng.standard_normal(200), "y": rng.standard_normal(200)})
    codes.write_parquet(tmp_path / "rows.parquet")
    table = scan(tmp_path / "rows.parquet")
    chain = Pipeline([("first", lowland.FAMD(2, categorical=["k"])), ("second", lowland.PCA(2))])
    first = lowland.fit(chain, table)[0]
    alone = lowland.FAMD(2, categorical=["k"]).fit(table)
    assert list(first.get_feature_names_out()) == list(alone.get_feature_names_out())
    assert str(first.levels_) == str(alone.levels_)
    np.save(tmp_path / "half.npy", rng.standard_normal((100, 5)).astype(np.float16))
    pipeline = lowland.fit(
        Pipeline([("first", lowland.PCA(3)), ("second", lowland.PCA(2))]), scan(tmp_path / "half.npy")
    )
    assert pipeline[0].components_.dtype == lowland.PCA(3).fit(scan(tmp_path / "half.npy")).components_.dtype
