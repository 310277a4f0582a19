"""Nothing is refitted: an output row of a recipe depends on its own new row only, for steps of every kind."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.methods.steps.text_weights import FEATURES
from lowland.methods.steps.transform_columns import TRANSFORMS
from lowland.recipes.composing import RULES

BASE = {"drop": ["id"], "missing": "mean", "categories": "one-hot", "scale": "standard"}
KINDS = {
    "columns": {"drop": None, "columns": ["age", "crp", "albumin", "sex"]},
    "drop": {"drop": ["id", "smokes"]},
    "types": {"types": {"ward": "category"}},
    "dates=elapsed": {"dates": "elapsed"},
    "dates=cyclic": {"dates": "cyclic"},
    "dates=drop": {"dates": "drop"},
    "transform=log": {"transform": {"log": ["crp", "albumin"]}},
    "transform=log1p": {"transform": {"log1p": ["crp", "albumin"]}},
    "transform=sqrt": {"transform": {"sqrt": ["crp", "age"]}},
    "transform=rank": {"transform": {"rank": ["crp", "albumin"]}},
    "transform=clr": {"transform": {"clr": ["age", "crp"]}},
    "transform=hellinger": {"transform": {"hellinger": ["age", "crp"]}},
    "missing=mean": {"missing": "mean"},
    "missing=median": {"missing": "median"},
    "missing=ppca": {"missing": "ppca"},
    "missing_category=level": {"missing_category": "level"},
    "missing_category=mode": {"missing_category": "mode"},
    "unseen=ignore": {"unseen": "ignore"},
    "categories=one-hot": {"categories": "one-hot"},
    "categories=famd": {"categories": "famd", "scale": None},
    "categories=drop": {"categories": "drop"},
    "scale=standard": {"scale": "standard"},
    "scale=robust": {"scale": "robust"},
    "scale=minmax": {"scale": "minmax"},
    "normalize=l2": {"normalize": "l2"},
    "pre=pca": {"pre": "pca:4"},
    "pre=kernel_pca": {"pre": lowland.KernelPCA(4, kernel="rbf")},
    "all kinds": {
        "types": {"ward": "category"},
        "dates": "cyclic",
        "transform": {"log": ["crp"], "rank": ["albumin"], "sqrt": ["age"]},
        "missing": "ppca",
        "missing_category": "level",
        "scale": "robust",
        "normalize": "l2",
        "pre": "pca:6",
    },
}
METHODS = [lowland.PCA(2), lowland.Isomap(2, n_neighbors=10)]
LAST_BITS = {"rtol": 1e-9, "atol": 1e-11}  # of products of matrices of other shapes
few_rows = pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # of graphs of so few rows


def with_cell(table, row, column, value):
    """Return the table with another value in one cell."""
    return table.with_columns(
        pl.when(pl.int_range(pl.len()) == row).then(pl.lit(value)).otherwise(column).alias(column)
    )


def tables(patients, options):
    """Return training rows, new rows and others far away, with gaps and unknown levels where the options take them."""
    old, new = patients[:48], patients[48:54]
    if not {"clr", "hellinger"} & options.get("transform", {}).keys():
        new = with_cell(new, 2, "crp", None)
    if "missing_category" in options:
        old, new = with_cell(old, 7, "sex", None), with_cell(new, 5, "sex", None)
    if "unseen" in options:
        new = with_cell(new, 5, "sex", "d")
    later = pl.col("seen") + dt.timedelta(days=4000)
    far = patients[54:60].with_columns(pl.col("age") * 6, pl.col("crp") * 50, pl.col("albumin") * 4, later)
    return old, new, far


def check(model, new, others, *, exact=True):
    """Change each new row in turn: no other output row changes."""
    whole = model.transform(new)
    for i in range(len(new)):
        out = model.transform(pl.concat([new[:i], others[i : i + 1], new[i + 1 :]]))
        keep = np.arange(len(new)) != i
        np.testing.assert_allclose(out[keep], whole[keep], **({"rtol": 0} if exact else LAST_BITS))
        assert np.abs(out[i] - whole[i]).max() > 1e-6
        np.testing.assert_allclose(model.transform(new[i : i + 1])[0], whole[i], **LAST_BITS)
    np.testing.assert_allclose(model.transform(new[::-1])[::-1], whole, **LAST_BITS)
    return whole


@few_rows
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_refitted_by_any_kind_of_step(patients, tmp_path, kind, method):
    options = BASE | KINDS[kind]
    old, new, far = tables(patients, options)
    model = lowland.recipe(method, **options).fit(old)
    lowland.save(model, tmp_path / "before.lowland")
    whole = check(model, new, far, exact=options["missing"] != "ppca")  # it fills rows with the same gaps at once
    lowland.save(model, tmp_path / "after.lowland")
    assert (tmp_path / "after.lowland").read_bytes() == (tmp_path / "before.lowland").read_bytes()
    np.testing.assert_array_equal(model.transform(new.select(new.columns[::-1])), whole)


def test_every_option_of_a_recipe_is_among_the_kinds():
    assert {name for options in KINDS.values() for name in options.get("transform", {})} == set(TRANSFORMS)
    for option, rule in RULES.items():
        names = {name for one in getattr(rule, "rules", (rule,)) for name in getattr(one, "names", ())}
        tested = {options.get(option, BASE.get(option)) for options in KINDS.values()}
        assert names - {"error", "drop-rows"} <= tested, option  # those take no part in a fitted recipe


@few_rows
def test_nothing_is_refitted_by_any_method(method, quick, patients):
    options = BASE | {"types": {"ward": "category"}, "dates": "cyclic", "transform": {"log": ["crp"]}}
    if method.name == "famd":
        options |= {"categories": None, "scale": None}
    old, new, far = tables(patients, options)
    check(lowland.recipe(quick(), **options).fit(old), new, far)


@few_rows
@pytest.mark.parametrize("texts", FEATURES)
@pytest.mark.parametrize("pre", [None, "truncated_svd:5"])
def test_nothing_is_refitted_on_new_texts(texts, pre):
    rng = np.random.default_rng(0)
    words = ["shock", "heat", "blunt", "flow", "panel", "plate", "stress", "load", "wing", "lift", "flutter"]

    def written(n):
        return pl.DataFrame({"body": [" ".join(rng.choice(words, 9)) for _ in range(n)]})

    model = lowland.recipe(lowland.TruncatedSVD(2), texts=texts, pre=pre).fit(written(40))
    check(model, written(6), written(6).with_columns(pl.col("body") + " unknown words" * 50))
