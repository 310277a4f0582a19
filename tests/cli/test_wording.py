"""What the library advises, in the words of each command."""

import pickle
import warnings

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import lowland
from lowland.cli.answer import UsageError
from lowland.cli.app import COMMANDS, options_of
from lowland.cli.figures import DrawnMap, _of_model
from lowland.cli.wording import command_options, in_words
from lowland.core.message import KNOWN_PAIRS, SCALE, SCALED_METRIC, Configuration, Estimator, Message, Owner, Setting


def words(command, *parts):
    with command_options(lambda: options_of(command.split())):
        return in_words(Message(*parts))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_knows_its_options(command):
    assert "--json" in options_of(command.split())


@pytest.mark.parametrize(
    ("command", "setting", "expected"),
    [
        ("reduce", Setting("n_neighbors", 20), "--set n_neighbors=20"),
        ("reduce", Setting("n_components", 3), "--components 3"),
        ("reduce", SCALE, "--scale"),
        ("reduce", SCALED_METRIC, "--scale"),
        ("reduce", Setting("weights", KNOWN_PAIRS), "--set weights=known"),
        ("plan", Setting("landmarks", 500), "--set landmarks=500"),
        ("outliers", Setting("n_neighbors", 20), "--neighbors 20"),
        ("outliers", Setting("level"), "--level"),
        ("evaluate", SCALED_METRIC, "--scale"),
        ("compare", SCALED_METRIC, "--scale"),
        ("dimension", Setting("metric", "precomputed"), "--metric precomputed"),
        ("evaluate", Setting("groups"), "--target"),
        ("evaluate", Setting("random_state"), "--seed"),
        ("reduce", Setting("disconnected", "separate"), "--set disconnected=separate"),
        ("transform", Setting("n_neighbors", 20), "n_neighbors=20"),  # no such option: Python's words
    ],
)
def test_parameters_are_named_as_the_command_does(command, setting, expected):
    assert words(command, setting) == expected


def test_methods_are_options_where_one_can_be_chosen():
    assert words("reduce", "use ", Estimator("ProbabilisticPCA")) == "use --method probabilistic_pca"
    assert words("outliers", "use ", Estimator("ProbabilisticPCA")) == "use ProbabilisticPCA"


def test_limits_are_set_in_the_environment():
    assert words("reduce", "set ", Configuration("memory_limit", "3GB")) == "set LOWLAND_MEMORY_LIMIT=3GB"


def test_functions_are_not_named_and_methods_are():
    few = "3 rows are too few"
    assert [in_words(Message(Owner(name), few)) for name in ("outliers", "report, X")] == [few, few]
    assert in_words(Message(Owner("LLE"), few)) == "LLE: 3 rows are too few"
    assert in_words("outliers: words of another place") == "outliers: words of another place"  # not searched


def test_a_gap_is_advised_by_what_each_command_offers(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    frame[4, "b"] = None
    frame.write_csv(tmp_path / "gap.csv")
    place = "gap.csv, line 6, column 'b': missing value"
    fill = "; fill such cells with --missing ppca (or median, mean)"
    for command in ("reduce", "outliers", "compare"):
        assert run(command, "gap.csv").err.endswith(f"{place}{fill}, or leave the rows out with --missing drop-rows\n")
    frame.with_columns(pl.all().fill_null(0.0)).write_csv(tmp_path / "whole.csv")
    assert run("reduce", "whole.csv", "--out", "map.csv", "--model", "m.lowland").code == 0
    assert run("evaluate", "gap.csv", "map.csv").err.endswith(f"{place}{fill}\n")  # the map has all rows
    assert place in run("transform", "m.lowland", "gap.csv").err
    assert "--missing" not in run("transform", "m.lowland", "gap.csv").err


def test_a_value_that_does_not_fit_is_named_by_its_option(run, tmp_path):
    pl.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), schema=["a", "b", "c"]).write_csv(tmp_path / "t.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = run("outliers", "t.csv", "--neighbors", 40)
        assert "t.csv: --neighbors 40 must be less than the number of rows searched (30)" in done.err
        assert "--level must be a number in (0.5, 1)" in run("outliers", "t.csv", "--level", 2).err
        many = run("reduce", "t.csv", "--components", 5, "--out", "o.csv")
        assert (many.code, "--components 5 is more than" in many.err) == (3, True)
        near = run("reduce", "t.csv", "--method", "lle", "--set", "n_neighbors=40", "--out", "o.csv")
        assert "--set n_neighbors=40 must be less than" in near.err


def test_a_memory_limit_is_raised_in_the_environment(run, tmp_path, monkeypatch):
    np.save(tmp_path / "wide.npy", np.random.default_rng(0).normal(size=(300, 200)))
    np.savez(tmp_path / "wide.npz", np.load(tmp_path / "wide.npy"))
    monkeypatch.setenv("LOWLAND_MEMORY_LIMIT", "100kB")
    done = run("reduce", "wide.npz", "--out", "o.csv")
    assert done.err.endswith("or raise the limit with LOWLAND_MEMORY_LIMIT=1GB.\n")
    assert "lowland.config" not in done.err


def test_a_table_without_labels_names_the_option(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(pl.lit(None, pl.String).alias("kind")).write_csv(
        tmp_path / "t.csv", null_value="NA"
    )
    pl.DataFrame(X[:, :2], schema=["pca0", "pca1"]).write_csv(tmp_path / "map.csv")
    done = run("evaluate", "t.csv", "map.csv", "--target", "kind")
    assert "t.csv: none of the 30 points has a label in --target; give some labels, or leave it out" in done.err


def test_a_bandwidth_is_named_as_a_setting(run, tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(0).normal(size=(60, 3)))
    done = run("reduce", "t.npy", "--method", "laplacian_eigenmaps", "--set", "bandwidth=0.00001", "--out", "o.csv")
    assert "--set bandwidth=1e-05 is too small" in done.err


def test_values_of_a_parameter_are_described_as_they_are_typed(run):
    shown = run("methods", "isomap").out
    assert "landmarks" in shown
    assert all(word not in shown for word in ("'", "numpy.random", "a function"))


def test_values_of_parameters_are_refused_in_the_words_of_the_shell(run, tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(0).normal(size=(60, 3)))
    said = {
        (
            "--components",
            "0",
        ): "PCA: --components must be a whole number from 1 to the number of rows or of columns, whichever is smaller",
        ("--method", "isomap", "--set", "landmarks=x"): "--set landmarks must be none (exact), auto, a whole number",
        (
            "--method",
            "isomap",
            "--set",
            "metric=l1",
        ): "--set metric=l1 is not known by that name; use --set metric=",
        (
            "--method",
            "isomap",
            "--set",
            "metric=minkowski",
        ): "cityblock (power 1), euclidean (power 2)",
    }
    for words, expected in said.items():
        assert expected in run("reduce", "t.npy", *words, "--out", "o.csv").err


def test_a_matrix_that_is_not_symmetric_is_mended_in_words(run, tmp_path):
    D = np.abs(np.subtract.outer(np.arange(30.0), np.arange(30.0)))
    words = "reduce", "d.npy", "--method", "classical_mds", "--set", "metric=precomputed", "--out", "o.csv"
    for name, mended in (("mean", D + np.triu(D)), ("half", np.triu(D))):
        np.save(tmp_path / "d.npy", mended)
        expected = {"mean": "if both measure the same, replace both by their mean", "half": "fill it with the values"}
        done = run(*words)
        assert expected[name] in done.err
        assert "D.T" not in done.err


def test_a_column_is_dropped_only_where_the_command_can(run, tmp_path):
    frame = pl.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), schema=["a", "b,1", "c"])
    frame.write_csv(tmp_path / "t.csv")
    stray = [str(value) for value in frame["b,1"]]
    stray[4] = "oops"
    frame.with_columns(pl.Series("b,1", stray)).write_csv(tmp_path / "bad.csv")
    assert run("reduce", "t.csv", "--out", "o.csv", "--model", "m.lowland").code == 0
    place = "'oops' is not a number; correct it, or, if it means a missing value, use --na oops"
    assert f"{place}, or exclude the column with --drop '\"b,1\"'; " in run("reduce", "bad.csv", "--out", "o.csv").err
    assert run("transform", "m.lowland", "bad.csv", "--out", "p.csv").err.endswith(f"{place}\n")


def test_remedies_for_memory_are_those_that_fit(run, tmp_path, monkeypatch):
    np.save(tmp_path / "wide.npy", np.random.default_rng(0).normal(size=(900, 800)))
    np.savez(tmp_path / "wide.npz", np.load(tmp_path / "wide.npy"))
    words = "reduce", "wide.npz", "--components", "none", "--out", "o.csv"
    monkeypatch.setenv("LOWLAND_MEMORY_LIMIT", "20MB")
    assert "ask for 10 components with --set solver=krylov, or reduce fewer rows or columns" in run(*words).err
    monkeypatch.setenv("LOWLAND_MEMORY_LIMIT", "7MB")
    assert "To continue: reduce fewer rows or columns, or raise the limit" in run(*words).err
    done = run("reduce", "wide.npz", "--method", "classical_mds", "--set", "metric=cityblock", "--out", "o.csv")
    assert "To continue: use fewer rows, or raise the limit" in done.err


def test_a_dominant_column_is_scaled_by_an_option_that_the_method_has(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 1.0, 1e4]
    pl.DataFrame(X, schema=["a", "b", "c"]).write_csv(tmp_path / "t.csv")
    words = "reduce", "t.csv", "--out", "o.csv", "--report", "r.html"
    done = run(*words)
    assert "so it dominates the distances in the data; if the columns have different units, use --scale," in done.err
    assert "metric=" not in done.err  # PCA has no such parameter
    scaled = run(*words, "--scale")
    assert (scaled.code, "dominates" in scaled.err) == (0, False)


def test_a_kind_that_does_not_exist_is_refused_by_its_option(run, tmp_path):
    pl.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), schema=["a", "b", "c"]).write_csv(tmp_path / "t.csv")
    done = run("reduce", "t.csv", "--types", "cat=a", "--out", "o.csv")
    assert (done.code, done.err) == (
        2,
        "error: --types: there is no kind 'cat'; choose number, category, date, dmy, mdy\n",
    )


def test_a_table_of_categories_is_reduced_by_the_option_of_its_error(run, tmp_path):
    pl.DataFrame({"a": ["x", "y", "z"] * 10, "b": ["p", "q"] * 15}).write_csv(tmp_path / "t.csv")
    done = run("reduce", "t.csv", "--out", "o.csv")
    assert done.err.endswith("Columns of categories can be coded as numbers with --categories famd\n")
    assert run("reduce", "t.csv", "--categories", "famd", "--out", "o.csv").code == 0


def test_constant_columns_are_not_advised_to_be_scaled(run, tmp_path):
    pl.DataFrame({"a": np.arange(30.0) ** 1.5, "b": [1.0] * 30, "c": [2.0] * 30}).write_csv(tmp_path / "t.csv")
    done = run("reduce", "t.csv", "--components", "1", "--out", "o.csv", "--report", "r.html")
    assert "warning: PCA: column 'a' holds all of the variance, because the other 2 columns are constant\n" in done.err
    assert "--scale" not in done.err
    told = run("info", "t.csv")
    assert "--scale" not in told.out + told.err


@pytest.mark.parametrize("command", ["reduce", "outliers", "evaluate", "plan", "dimension"])
def test_too_many_components_of_the_method_before_are_told_by_its_option(run, tmp_path, command):
    pl.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), schema=["a", "b", "c"]).write_csv(tmp_path / "t.csv")
    pl.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), schema=["pca0", "pca1"]).write_csv(tmp_path / "m.csv")
    done = run(command, "t.csv", *(["m.csv"] if command == "evaluate" else []), "--pre", "pca:99")
    assert done.code == 3
    assert "t.csv: PCA: --pre pca:99 is more than min(rows, columns) = 3 " in done.err
    assert "; ask for 3 at most" in done.err
    assert "--components" not in done.err


@pytest.fixture
def plain(run, tmp_path):
    """Write a table of 30 rows and 4 columns of numbers, and one of two kinds."""
    frame = pl.DataFrame(np.random.default_rng(0).normal(size=(30, 4)), schema=list("abcd"))
    frame.write_csv(tmp_path / "t.csv")
    frame.with_columns(pl.Series("kind", ["x", "y"] * 15)).write_csv(tmp_path / "kinds.csv")
    return run


def test_methods_name_their_parameters_as_options(plain, tmp_path):
    def err(*words):
        return plain("reduce", "t.csv", "--out", "o.csv", *words).err

    np.save(tmp_path / "w.npy", np.eye(3))
    shape = "ICA: --set w_init must be a finite 2 × 2 matrix, one row for each source; its shape is (3, 3)"
    assert shape in err("--method", "ica", "--set", "w_init=w.npy")
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        said = err("--method", "autoencoder", "--set", "device=cuda")
        assert "t.csv: Autoencoder: --set device=cuda needs a GPU" in said
        assert "Use --set device=cpu, or install" in said


def test_one_pair_of_near_rows_is_told_with_the_stress_as_it_is_set(plain, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[1] = X[0] + 1e-13
    np.save(tmp_path / "near.npy", X)
    done = plain("reduce", "near.npy", "--method", "metric-mds", "--set", "stress=sammon", "--out", "o.csv")
    assert "MetricMDS: 1 pair of different rows has distance 0 or nearly 0" in done.err
    assert "the weights of --set stress=sammon are unbounded" in done.err
    with pytest.warns(lowland.LowlandWarning, match="1 pair of different rows.*the weights of stress='sammon'"):
        lowland.MetricMDS(stress="sammon").fit(X)


def test_downstream_names_options_and_not_its_function(plain):
    def err(*words):
        return plain("downstream", "kinds.csv", "--target", "kind", *words).err

    assert err("--components", "2,90") == "error: kinds.csv: --components must be whole numbers from 1 to 4; got 90\n"
    assert "kinds.csv: the method 'pls' needs a numeric target" in err("--methods", "pls")
    assert "name each method once" in err("--methods", "pca,pca")


def test_more_components_than_terms_are_told_by_the_option_of_the_index(run, tmp_path):
    (tmp_path / "docs").mkdir()
    for i, text in enumerate(("cats and dogs", "dogs and mice", "mice and cats")):
        (tmp_path / "docs" / f"{i}.txt").write_text(text)
    done = run("text", "index", "docs", "--components", 50, "--out", "i.lowland")
    assert "LatentSemanticIndex: --components 50 is more than min(documents, terms) = 3" in done.err
    with pytest.raises(lowland.DataError, match="LatentSemanticIndex: n_components=50 is more than min"):
        lowland.text.LatentSemanticIndex(50).fit(tmp_path / "docs")


def test_a_sparse_table_is_made_dense_in_words(run, tmp_path):
    rows = sp.random_array((30, 20), density=0.2, format="csr", rng=np.random.default_rng(0))
    sp.save_npz(tmp_path / "s.npz", rows)
    done = run("reduce", "s.npz", "--method", "isomap", "--set", "metric=chebyshev", "--out", "o.csv")
    assert done.err.endswith("use one of these, or pass a dense table if it fits in memory\n")
    with pytest.raises(lowland.DataError, match=r"or pass a dense array, X.toarray\(\), if it fits in memory"):
        lowland.Isomap(metric="chebyshev").fit(rows)


def test_kernel_values_that_are_distances_lead_to_the_method_for_them(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.save(tmp_path / "d.npy", D)
    done = run("reduce", "d.npy", "--method", "kernel_pca", "--set", "kernel=precomputed", "--out", "o.csv")
    assert "Are these distances? Then use --method classical_mds --set metric=precomputed; a kernel" in done.err
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lowland.LowlandWarning)
        method = run("reduce", "d.npy", *["--method", "classical_mds", "--set", "metric=precomputed", "--out", "o.csv"])
    assert method.code == 0


def test_a_kind_of_figure_is_refused_without_the_list_for_python(plain):
    assert plain("reduce", "t.csv", "--out", "o.csv", "--model", "m.lowland").code == 0
    done = plain("plot", "m.lowland", "t.csv", "--kind", "biplot", "--axes", "1,2,3", "--out", "f.png")
    assert (done.code, "These can be drawn" in done.err) == (2, False)
    model = lowland.load("m.lowland")
    drawn = DrawnMap(None, [], [], None, None, None, meaningful=True)
    rows = pl.read_csv("t.csv").to_numpy()
    with pytest.raises(UsageError) as caught, command_options(lambda: options_of(["plot"])):
        _of_model(drawn, "u_matrix", None, model, rows, "--kind")
    assert in_words(caught.value.args[0]).startswith("--kind u_matrix: 'u_matrix' cannot be drawn from this PCA: ")
    assert "These can be drawn" not in caught.value.args[0]


def test_reasons_are_told_without_advice(run, tmp_path, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 4))
    pl.DataFrame(rows, schema=list("abcd")).write_csv(tmp_path / "t.v1. final.csv")
    monkeypatch.setenv("LOWLAND_MEMORY_LIMIT", "1kB")
    told = run("reduce", "t.v1. final.csv").err.splitlines()[0]
    assert told.startswith("t.v1. final.csv is read in blocks: reading t.v1. final.csv would take ")
    assert told.endswith("; the memory limit is 1 kB")


def test_reasons_of_memory_errors_are_parts_of_their_messages():
    with lowland.config(memory_limit=1000):
        with pytest.raises(lowland.MemoryLimitError) as caught:
            lowland.plan(lowland.PCA(2), shape=(1000, 20)).require()
        error = caught.value
    assert str(error).startswith(f"{error.reason}. To continue: ")
    assert error.reason.endswith("; the memory limit is 1 kB")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.reason) == (str(error), error.reason)
    assert lowland.MemoryLimitError("full").reason == "full"


def test_new_rows_with_other_columns_are_told_the_columns_without_code():
    import pandas as pd

    X = np.random.default_rng(0).normal(size=(30, 2))
    model = lowland.PCA(1).fit(pd.DataFrame(X, columns=["a", "b"]))
    with pytest.raises(lowland.DataError) as caught:
        model.transform(pd.DataFrame(X, columns=["a", "c"]))
    assert "in their order, X[model.feature_names_in_]: 'a', 'b'." in str(caught.value)
    assert in_words(caught.value.args[0]).endswith("Give the columns of the fit in their order: 'a', 'b'.")


def test_errors_within_blocks_and_trials_keep_their_parts():
    def blocks():
        yield np.ones((3, 2))
        yield np.array([["a", "b"]], dtype=object)

    with pytest.raises(lowland.DataError) as caught:
        lowland.PCA(1).fit(lowland.RowSource.from_blocks(blocks))
    assert str(caught.value).startswith("block 1: ")
    assert isinstance(caught.value.args[0], Message)
    rng = np.random.default_rng(0)
    methods = ["pca", lowland.LLE(n_neighbors=45)]
    found = lowland.quality.downstream(
        rng.normal(size=(50, 4)), ["x", "y"] * 25, methods=methods, components=[2], random_state=0
    )
    (why,) = found.skipped.values()
    assert "n_neighbors=45" in why
    with command_options(lambda: options_of(["reduce"])):
        assert "--set n_neighbors=45" in in_words(why)


def test_a_scaling_of_texts_is_refused_by_its_option(plain):
    done = plain("reduce", "kinds.csv", "--texts", "tfidf", "--columns", "kind", "--scaler", "robust", "--out", "o.csv")
    assert done.err == "error: --scaler robust has no effect on texts; leave it out, or leave out --texts\n"
    with pytest.raises(ValueError, match="recipe: scale='robust' has no effect on texts; leave it out"):
        lowland.recipe(texts="tfidf", scale="robust")


def test_placement_is_named_as_the_command_does(plain):
    done = plain("reduce", "t.csv", "--stream", "--placement", "interpolate", "--out", "o.npy")
    assert done.err.endswith("rows cannot be placed by interpolation; use --placement transform\n")
