"""What the library advises, in the words of each command."""

import warnings

import numpy as np
import polars as pl
import pytest

from lowland.cli.app import COMMANDS
from lowland.cli.main import _options
from lowland.cli.wording import command_options, in_words
from lowland.core.message import KNOWN_PAIRS, SCALE, SCALED_METRIC, Configuration, Estimator, Message, Setting


def words(command, *parts):
    with command_options(lambda: _options([command])):
        return in_words(Message(*parts))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_knows_its_options(command):
    assert "--json" in _options([command])


@pytest.mark.parametrize(
    ("command", "setting", "expected"),
    [
        ("reduce", Setting("n_neighbors", 20), "--set n_neighbors=20"),
        ("reduce", Setting("n_components", 3), "--components 3"),
        ("reduce", SCALE, "--scale"),
        ("reduce", SCALED_METRIC, "--set metric=seuclidean"),
        ("reduce", Setting("weights", KNOWN_PAIRS), "--set weights=known"),
        ("plan", Setting("landmarks", 500), "--set landmarks=500"),
        ("outliers", Setting("n_neighbors", 20), "--neighbors 20"),
        ("outliers", Setting("level"), "--level"),
        ("evaluate", SCALED_METRIC, "--scale"),
        ("compare", SCALED_METRIC, "--scale"),
        ("dimension", Setting("metric", "precomputed"), "--metric precomputed"),
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
    assert in_words("outliers: 3 rows are too few") == "3 rows are too few"
    assert in_words("LLE: 3 rows are too few") == "LLE: 3 rows are too few"


def test_a_gap_is_advised_by_what_each_command_offers(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    frame[4, "b"] = None
    frame.write_csv(tmp_path / "gap.csv")
    place = "gap.csv, line 6, column 'b': missing value: "
    other = ", or use --method probabilistic_pca, which takes missing values"
    assert run("reduce", "gap.csv", "--out", "o.csv").err.endswith(f"{place}fill it, leave the row out{other}\n")
    assert run("outliers", "gap.csv").err.endswith(f"{place}fill it or leave the row out\n")
    whole = "leave the row out, since methods are compared on whole rows"
    assert run("compare", "gap.csv").err.endswith(f"{place}fill it or {whole}\n")


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
