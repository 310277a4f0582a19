"""Pipelines and ColumnTransformers in model files."""

import contextlib
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA as TheirPCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import lowland
from lowland import ModelFileError, modelfile
from modelfile_forging import forge, put_together, take_apart

RECIPES = {
    "one-hot": {"categories": "one-hot", "scale": "standard", "missing": "ppca", "dates": "cyclic"},
    "famd": {"categories": "famd", "missing": "ppca", "transform": {"log": ["crp"]}},
    "numbers": {"categories": "drop", "scale": "robust", "missing": "median", "transform": {"rank": ["crp"]}},
    "pre": {"categories": "one-hot", "scale": "minmax", "missing": "mean", "pre": "pca:4", "normalize": "l2"},
    "level": {"categories": "one-hot", "scale": "standard", "missing": "mean", "missing_category": "level"},
}


def same(a, b):
    if hasattr(a, "columns"):
        assert list(a.columns) == list(b.columns)
        assert type(a) is type(b)
        assert list(map(str, a.dtypes)) == list(map(str, b.dtypes))
    if isinstance(a, pl.DataFrame):
        assert a.equals(b, null_equal=True)
        return
    if sp.issparse(a):
        assert sp.issparse(b)
        a, b = a.toarray(), b.toarray()
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("method", [lowland.PCA(2), lowland.Isomap(2, n_neighbors=15)], ids=["pca", "isomap"])
@pytest.mark.parametrize("options", RECIPES)
def test_recipes(again, patients, method, options):
    model = lowland.recipe(clone(method), drop=["id"], types={"ward": "category"}, **RECIPES[options])
    model.fit(patients[:50])
    loaded = again(model)
    same(loaded.transform(patients), model.transform(patients))
    assert str(loaded) == str(model)
    assert [step.n_features_in_ for _, step in loaded.steps] == [step.n_features_in_ for _, step in model.steps]
    if hasattr(model, "inverse_transform"):
        same(loaded.inverse_transform(model.transform(patients)), model.inverse_transform(model.transform(patients)))
    same(clone(loaded).fit(patients[:50]).transform(patients), model.transform(patients))


def test_the_same_bits_in_a_new_process(tmp_path, patients):
    model = lowland.recipe(
        lowland.Isomap(2, n_neighbors=12), drop=["id"], missing="ppca", categories="famd", transform={"log": ["crp"]}
    ).fit(patients[:40])
    lowland.save(model, tmp_path / "map.lowland")
    new = patients[40:].select(patients.columns[::-1])
    new.write_parquet(tmp_path / "new.parquet")
    code = (
        "import lowland, polars as pl, numpy as np; model = lowland.load('map.lowland');"
        "np.save('out.npy', model.transform(pl.read_parquet('new.parquet')))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.transform(patients[40:]))


@pytest.mark.parametrize("kind", ["pandas", "polars", "default"])
def test_output_survives(again, patients, kind):
    model = lowland.recipe(lowland.PCA(2), drop=["id"], missing="mean", categories="one-hot", scale="standard")
    model.set_output(transform=kind).fit(patients)
    out = again(model).transform(patients)
    assert isinstance(out, {"pandas": pd.DataFrame, "polars": pl.DataFrame, "default": np.ndarray}[kind])
    same(out, model.transform(patients))
    single = lowland.PCA(1).set_output(transform=kind).fit([[1.0, 2.0], [2.0, 5.0], [3.0, 4.0]])
    same(again(single).transform([[1.0, 1.0]]), single.transform([[1.0, 1.0]]))
    scale = lowland.steps.ScaleColumns().set_output(transform=kind).fit(np.eye(3))
    same(again(scale).transform(np.eye(3)), scale.transform(np.eye(3)))


@lowland.functions.register("test-halve")
def halve(X):
    return X / 2


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.lognormal(size=(40, 4)), columns=list("abcd"))
    frame["e"], frame["f"] = rng.choice(["x", "y", "z"], 40), rng.choice([1, 2, 3], 40)
    frame.loc[3, "a"] = np.nan
    return frame


STEPS = {
    "standard": (StandardScaler(), list("abcd")),
    "not scaled": (StandardScaler(with_mean=False, with_std=False), list("abcd")),
    "robust": (RobustScaler(quantile_range=(10.0, 90.0)), list("abcd")),
    "minmax": (MinMaxScaler(feature_range=(-1, 1)), list("abcd")),
    "mean": (SimpleImputer(), list("abcd")),
    "indicator": (SimpleImputer(add_indicator=True, strategy="median"), list("abcd")),
    "most frequent": (SimpleImputer(strategy="most_frequent"), ["e", "f"]),
    "constant": (SimpleImputer(strategy="constant", fill_value="?"), ["e"]),
    "one-hot": (OneHotEncoder(), ["e", "f"]),
    "one-hot drop": (OneHotEncoder(drop="first", sparse_output=False, dtype=np.float32), ["e", "f"]),
    "infrequent": (OneHotEncoder(min_frequency=14, handle_unknown="infrequent_if_exist"), ["e", "f"]),
    "given": (OneHotEncoder(categories=[["z", "y", "x"]]), ["e"]),
    "ordinal": (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["e", "f"]),
    "ordinal nan": (OrdinalEncoder(encoded_missing_value=-2, dtype=np.int64), ["e"]),
    "ufunc": (FunctionTransformer(np.log1p, inverse_func=np.expm1, feature_names_out="one-to-one"), list("bcd")),
    "function": (FunctionTransformer(halve, validate=True), list("bcd")),
    "identity": (FunctionTransformer(), list("bcd")),
    "keywords": (FunctionTransformer(np.add, kw_args={"dtype": None}, inv_kw_args={}), list("bcd")),
}


@pytest.mark.parametrize("name", [n for n in STEPS if n != "keywords"])
@pytest.mark.parametrize("as_array", [False, True], ids=["frame", "array"])
def test_transformers_of_scikit_learn(again, table, name, as_array):
    step, columns = STEPS[name]
    X = table[columns].to_numpy() if as_array else table[columns]
    model = Pipeline([("step", clone(step))]).fit(X)
    loaded = again(model)
    same(loaded.transform(X), model.transform(X))
    assert str(loaded) == str(model)
    if hasattr(model, "inverse_transform") and name not in ("mean", "most frequent", "constant"):
        same(loaded.inverse_transform(model.transform(X)), model.inverse_transform(model.transform(X)))
    if hasattr(model[-1], "get_feature_names_out"):
        assert list(loaded.get_feature_names_out()) == list(model.get_feature_names_out())


@pytest.mark.parametrize("kind", [None, "pandas", "polars"])
@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_column_transformers(again, table, kind, threshold):
    numbers = make_pipeline(SimpleImputer(), StandardScaler(), lowland.PCA(2))
    inner = ColumnTransformer([("log", FunctionTransformer(np.log1p, feature_names_out="one-to-one"), ["c"])])
    model = ColumnTransformer(
        [
            ("numbers", numbers, ["a", "b"]),
            ("levels", OneHotEncoder(sparse_output=kind is None), ["e"]),
            ("inner", inner, slice("c", "d")),
            ("kept", "passthrough", ["d"]),
            ("gone", "drop", ["f"]),
        ],
        remainder=MinMaxScaler(),
        sparse_threshold=threshold,
        transformer_weights={"levels": 2.0},
    )
    if kind is not None:
        model.set_output(transform=kind)
    table["g"] = np.arange(40.0)
    whole = Pipeline([("columns", model), ("method", lowland.TruncatedSVD(2))]) if kind is None else model
    whole.fit(table)
    loaded = again(whole)
    same(loaded.transform(table), whole.transform(table))
    same(loaded.transform(table[table.columns[::-1]]), whole.transform(table))  # by name
    ours, theirs = (m["columns"] if kind is None else m for m in (loaded, whole))
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    assert ours.sparse_output_ == theirs.sparse_output_
    assert clone(ours).get_params().keys() == clone(theirs).get_params().keys()
    same(clone(loaded).fit(table).transform(table), whole.transform(table))


def test_column_selectors_are_stored_as_what_they_chose(again, table):
    select = make_column_selector(dtype_include="float64")
    model = ColumnTransformer([("numbers", StandardScaler(), select)], remainder="passthrough").fit(
        table.drop(columns="e")
    )
    loaded = again(model)
    same(loaded.transform(table.drop(columns="e")), model.transform(table.drop(columns="e")))
    assert loaded.transformers[0][2] == list("abcd")


@pytest.mark.parametrize("columns", [[0, 1], np.array([True, True, False]), slice(0, 2)], ids=["list", "mask", "slice"])
def test_columns_by_number(again, columns):
    X = np.random.default_rng(0).standard_normal((12, 3))
    model = ColumnTransformer([("some", StandardScaler(), columns)], remainder="passthrough").fit(X)
    same(again(model).transform(X), model.transform(X))


def test_passthrough_steps(again):
    X = np.random.default_rng(0).standard_normal((12, 3))
    model = Pipeline([("a", "passthrough"), ("b", lowland.PCA(2)), ("c", "passthrough")]).fit(X)
    same(again(model).transform(X), model.transform(X))


class Custom(StandardScaler):
    pass


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (PowerTransformer(), "PowerTransformer"),
        (TheirPCA(2), "PCA"),
        (Custom(), "Custom"),
        (FeatureUnion([("a", StandardScaler())]), "FeatureUnion"),
        (make_pipeline(StandardScaler(), PowerTransformer()), "PowerTransformer"),
        (ColumnTransformer([("p", PowerTransformer(), [0])]), "PowerTransformer"),
    ],
    ids=["power", "pca", "subclass", "union", "nested pipeline", "nested columns"],
)
def test_other_classes_are_refused_by_name(tmp_path, step, name):
    X = np.random.default_rng(0).standard_normal((12, 3))
    model = Pipeline([("scale", StandardScaler()), ("step", step), ("method", lowland.PCA(1))]).fit(X)
    with pytest.raises(ModelFileError, match=rf"{name} is not one of Lowland's methods or steps.*StandardScaler"):
        lowland.save(model, tmp_path / "x.lowland")
    search = GridSearchCV(lowland.PCA(1), {"n_components": [1]}, cv=2).fit(X)
    with pytest.raises(ModelFileError, match="GridSearchCV is not one of Lowland's"):
        lowland.save(search, tmp_path / "x.lowland")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_saved(tmp_path):
    X = np.random.default_rng(0).standard_normal((12, 3))
    path = tmp_path / "x.lowland"
    with pytest.raises(ModelFileError, match="step 'scale' is not fitted"):
        lowland.save(Pipeline([("scale", StandardScaler()), ("pca", lowland.PCA(1).fit(X))]), path)
    with pytest.raises(NotFittedError):
        lowland.save(lowland.steps.ScaleColumns(), path)
    cached = Pipeline([("pca", lowland.PCA(1))], memory=str(tmp_path / "cache")).fit(X)
    with pytest.raises(ModelFileError, match=r"set_params\(memory=None\)"):
        lowland.save(cached, path)


def test_functions_without_a_name(tmp_path):
    X = np.random.default_rng(0).standard_normal((12, 3))
    path = tmp_path / "x.lowland"
    inner = ColumnTransformer([("double", FunctionTransformer(lambda X: 2 * X), [0, 1])], remainder="passthrough")
    model = Pipeline([("columns", inner), ("method", lowland.KernelPCA(2, kernel=lambda a, b: float(a @ b)))]).fit(X)
    lowland.save(model, path)
    assert modelfile.describe(path)["functions"] == ["columns__double__func", "method__kernel"]
    with pytest.raises(ModelFileError, match=r"lowland\.load\(path, columns__double__func=…\)"):
        lowland.load(path)
    given = {"columns__double__func": lambda X: 2 * X, "method__kernel": lambda a, b: float(a @ b)}
    same(lowland.load(path, **given).transform(X), model.transform(X))
    with pytest.raises(ModelFileError, match="'method__metric' was passed to load"):
        lowland.load(path, **given, method__metric=max)
    with pytest.raises(ModelFileError, match="'surprise' was passed to load"):
        lowland.load(path, **given, surprise=max)
    with pytest.raises(ValueError, match=r"begin with 'numpy\.'"):
        lowland.functions.register("numpy.system", max)


def test_describe(tmp_path, patients):
    path = tmp_path / "x.lowland"
    model = lowland.recipe(
        lowland.Isomap(2, n_neighbors=12), drop=["id"], missing="mean", categories="one-hot", scale="standard"
    ).fit(patients)
    lowland.save(model, path)
    told = modelfile.describe(path)
    json.dumps(told)
    assert (told["class"], told["method"], told["format_version"]) == ("Pipeline", "isomap", 2)
    assert told["feature_names"] == patients.columns
    assert [step["name"] for step in told["steps"]] == ["columns", "dates", "missing", "categories", "scale", "method"]
    assert told["steps"][4]["parameters"] == {"method": "standard"}
    assert told["fit_info"]["method"] == "Isomap"
    assert told["arrays"]["steps.scale.scale_"]["shape"] == [9]


# -- forged files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def chain(tmp_path):
    X = np.random.default_rng(0).standard_normal((12, 1)) * [1.0, 2.0, 3.0]
    X[0, 0] = np.nan
    path = tmp_path / "chain.lowland"
    scale = ColumnTransformer([("s", StandardScaler(), [0, 1])], remainder="passthrough")
    steps = [("fill", lowland.steps.ImputeMissing("ppca")), ("columns", scale), ("log", FunctionTransformer(np.tanh))]
    lowland.save(Pipeline([*steps, ("method", lowland.PCA(1))]).fit(X), path)
    return path


def node(record, place):
    return record["parameters"]["steps"][place][1]["$model"]


FORGED = {
    "class of the top": (lambda r: r.update({"class": "os.system"}), "'os.system', which Lowland"),
    "class inside": (lambda r: node(r, 1).update({"class": "GridSearchCV"}), "'GridSearchCV', which Lowland"),
    "class of state": (lambda r: node(r, 0)["values"]["model_"]["$model"].update({"class": "eval"}), "'eval', which"),
    "field": (lambda r: node(r, 3).update(surprise=1), "'surprise'"),
    "no field": (lambda r: node(r, 3).pop("values"), "'values'"),
    "wrong field": (lambda r: node(r, 3).update(n_features="3"), "'n_features'"),
    "not a record": (lambda r: r["parameters"]["steps"][3][1].update({"$model": [1]}), "not a JSON object"),
    "feature names": (lambda r: node(r, 3).update(feature_names=["a"]), "feature_names"),
    "output": (lambda r: node(r, 3).update(output="torch"), "output is 'torch'"),
    "steps": (lambda r: r["parameters"].update(steps={"a": 1}), "list of models"),
    "no steps": (lambda r: r["parameters"].update(steps=[]), "list of models"),
    "a step": (lambda r: r["parameters"]["steps"].append(["x", 3]), "list of models"),
    "a name": (lambda r: r["parameters"]["steps"].append(["x", "eval"]), "list of models"),
    "twice": (lambda r: r["parameters"]["steps"].append(r["parameters"]["steps"][2]), "cannot be built"),
    "memory": (lambda r: r["parameters"].update(memory="cache"), "no cache"),
    "parameter": (lambda r: node(r, 0)["parameters"].update(method="eval"), "method must be"),
    "their parameter": (lambda r: node(r, 2)["parameters"].update(validate=3), "validate"),
    "unknown parameter": (lambda r: node(r, 2)["parameters"].update(x=3), "'x' of FunctionTransformer is unknown"),
    "state": (lambda r: node(r, 0)["values"].update(transform=1), "no learned attribute 'transform'"),
    "their state": (lambda r: node(r, 1)["values"].update(fit=1), "no learned attribute 'fit'"),
    "function": (lambda r: node(r, 2)["parameters"].update(func={"$function": "numpy.load"}), "is a function"),
    "builtin": (lambda r: node(r, 2)["parameters"].update(func={"$function": "builtins.eval"}), "is a function"),
    "array": (lambda r: node(r, 3)["values"].update(mean_={"$array": "nowhere"}), "cannot be read"),
    "unused array": (lambda r: node(r, 3)["values"].pop("mean_"), "nothing refers to its array"),
    "dtype": (lambda r: node(r, 2)["parameters"].update(func={"$dtype": "V8"}), "'$dtype' entry cannot be read"),
    "slice": (lambda r: node(r, 1)["values"].update(output_indices_={"$slice": [1]}), "'$slice' entry"),
    "dict": (lambda r: node(r, 1)["values"].update(output_indices_={"$dict": [[[1], 2]]}), "'$dict' entry"),
    "cells": (lambda r: node(r, 1)["values"].update(_columns={"$cells": 3}), "'$cells' entry"),
    "strings": (lambda r: node(r, 1)["values"].update(_columns={"$strings": ["a"], "dtype": "O"}), "'$strings' entry"),
    "tag": (lambda r: node(r, 1)["values"].update(_columns={"$pickle": "gASV"}), "'$pickle' entry"),
    "half fitted": (lambda r: node(r, 3).update(values=None), "half fitted"),
    "fit_info": (lambda r: node(r, 3).update(fit_info={"x": 1}), "fit_info cannot be read"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_pipelines(chain, name):
    change, words = FORGED[name]
    forge(chain, change)
    with pytest.raises(ModelFileError) as error:
        modelfile.load(chain)
    assert words in str(error.value), str(error.value)
    assert str(error.value).startswith(f"{chain}: ")
    with contextlib.suppress(ModelFileError):  # any other error fails
        modelfile.describe(chain)


def test_nested_without_end(chain, refused):
    header, record, body = take_apart(chain.read_bytes())
    deep = json.dumps(record | {"values": "here"}).replace('"here"', '{"a":' * 50_000 + "1" + "}" * 50_000)
    header["__metadata__"] = {"lowland": deep, "sha256": "0" * 64}
    chain.write_bytes(put_together(header, body))
    refused(chain, "nested too deeply")


def test_every_altered_byte_of_a_pipeline(chain):
    data = chain.read_bytes()
    for i in range(0, len(data), 7):
        chain.write_bytes(data[:i] + bytes([data[i] ^ 0x11]) + data[i + 1 :])
        with pytest.raises(ModelFileError):
            modelfile.load(chain)


def test_random_changes_of_the_header(chain):
    """Any value of the record replaced by another: an error of the file, or a model."""
    _, record, _ = take_apart(chain.read_bytes())
    good = chain.read_bytes()
    places = []

    def walk(value, path):
        places.append(path)
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            walk(item, (*path, key))

    walk(record, ())
    rng = np.random.default_rng(0)
    values = (
        None,
        3,
        -1.5,
        "x",
        [],
        {},
        [["a", "b"]],
        True,
        {"$model": {}},
        {"$function": "numpy.sin"},
        {"$array": "x"},
    )
    for _ in range(400):
        place, value = places[rng.integers(1, len(places))], values[rng.integers(len(values))]

        def change(record, place=place, value=value):
            for key in place[:-1]:
                record = record[key]
            record[place[-1]] = value

        chain.write_bytes(good)
        forge(chain, change)
        for use in (modelfile.load, modelfile.describe):
            with contextlib.suppress(ModelFileError):  # any other error fails
                use(chain)
