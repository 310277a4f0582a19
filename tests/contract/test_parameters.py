"""Rules for parameters: what they accept, read from text, and say of themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowland.contract.parameters import (
    RANDOM_STATE,
    AnyOf,
    ArrayRule,
    Boolean,
    Choice,
    FunctionRule,
    Integer,
    Integers,
    LandmarkRule,
    Nothing,
    Real,
    Seed,
    check,
    parse,
    takes_array,
    told,
)

COMPONENTS = AnyOf((Nothing(), Integer(1), Real(0, 1), Choice(("auto",))))


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (Choice(("a", "b")), ["a", "b"], ["c", "A", "", None, 1]),
        (Integer(2), [2, 10**9, np.int32(5), np.uint8(2)], [1, -3, 2.0, "2", True, None, np.float64(3)]),
        (
            Real(0, 1),
            [0.5, 1e-300, np.float32(0.25)],
            [0, 1, 0.0, 1.0, -0.1, math.nan, math.inf, "0.5", True, None],
        ),
        (Real(0, 1, closed=True), [0, 1, 0.5], [-1e-9, 1.0000001, math.nan]),
        (Real(), [-1e300, 0, 5], [math.inf, -math.inf, math.nan, 1j]),
        (Real(1, closed=True), [1, 1.0, 1e300], [0.999, 0, -1, math.inf, math.nan]),
        (Real(high=2, closed=True), [2, -1e300], [2.001, -math.inf]),
        (Integer(1, 3), [1, 2, 3, np.int8(3)], [0, 4, 2.0, True, None]),
        (
            Integers(2),
            [(), (2,), [3, 4, 5], (np.int32(2), 9)],
            [(1,), (2, 1), (2.0,), (True, 3), 2, "2,3", None, np.array([2, 3])],
        ),
        (Integers(1, length=2), [(1, 2), [3, 4]], [(1,), (1, 2, 3), (), (0, 1)]),
        (
            LandmarkRule(("uniform", "maxmin")),
            [None, "auto", 2, np.int64(50), "uniform", "maxmin", "uniform:2", "maxmin:500"],
            [1, 0, 2.0, True, "uniform:1", "uniform:", "uniform:x", "uniform:-3", "other", "other:5", "auto:5", ""],
        ),
        (Boolean(), [True, False, np.True_, np.bool_(False)], [0, 1, "true", None]),
        (Nothing(), [None], [0, False, "none"]),
        (Seed(), [0, 7, np.random.default_rng(0), np.random.RandomState(0)], [-1, 1.5, "0", None, True]),
        (RANDOM_STATE, [None, 0], [-1, "0"]),
        (COMPONENTS, [None, 1, 5, 0.5, "auto"], [0, 1.0, 1.5, -2, "all", True]),
    ],
)
def test_what_rules_accept(rule, good, bad):
    assert [value for value in good if not rule.accepts(value)] == []
    assert [value for value in bad if rule.accepts(value)] == []


@pytest.mark.parametrize(
    ("rule", "text", "value"),
    [
        (Choice(("a", "b")), "b", "b"),
        (Integer(0), "12", 12),
        (Real(0, 1), "0.25", 0.25),
        (Real(), "-1e-3", -1e-3),
        (Boolean(), "Yes", True),
        (Boolean(), "off", False),
        (Boolean(), "1", True),
        (Nothing(), "None", None),
        (Seed(), "3", 3),
        (RANDOM_STATE, "none", None),
        (COMPONENTS, "5", 5),
        (COMPONENTS, "0.9", 0.9),
        (COMPONENTS, "auto", "auto"),
        (COMPONENTS, "none", None),
        (Integer(1, 3), "3", 3),
        (Real(0, closed=True), "0", 0.0),
        (Integers(1), "3, 4,5", (3, 4, 5)),
        (Integers(1), "(3, 4)", (3, 4)),
        (Integers(1), "", ()),
        (Integers(1, length=2), "20x30", (20, 30)),
        (LandmarkRule(("uniform",)), "None", None),
        (LandmarkRule(("uniform",)), "auto", "auto"),
        (LandmarkRule(("uniform",)), "40", 40),
        (LandmarkRule(("uniform",)), "uniform:40", "uniform:40"),
    ],
)
def test_values_from_text(rule, text, value):
    found = rule.parse(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Choice(("a",)), "A"),
        (Integer(1), "0"),
        (Integer(1), "1.0"),
        (Real(0, 1), "1"),
        (Real(0, 1), "nan"),
        (Real(), "inf"),
        (Boolean(), "maybe"),
        (Nothing(), "null"),
        (Seed(), "-1"),
        (COMPONENTS, "1.5"),
        (COMPONENTS, "many"),
        (Integer(1, 3), "4"),
        (Real(1, closed=True), "0.5"),
        (Integers(1), "3,0"),
        (Integers(1), "3,x,y"),
        (Integers(1), "1.5"),
        (Integers(1, length=2), "20"),
        (LandmarkRule(("uniform",)), "1"),
        (LandmarkRule(("uniform",)), "far:40"),
        (LandmarkRule(("uniform",)), "uniform:one"),
    ],
)
def test_text_that_is_none_of_the_values(rule, text):
    with pytest.raises(ValueError):  # noqa: PT011 - the rule only signals; `parse` words the message
        rule.parse(text)


@given(st.one_of(st.none(), st.integers(1, 10**12), st.floats(0, 1, exclude_min=True, exclude_max=True)))
def test_what_is_printed_is_read_back(value):
    assert COMPONENTS.accepts(value)
    assert COMPONENTS.parse(str(value)) == value


@given(st.text(max_size=8))
def test_text_gives_an_accepted_value_or_a_value_error(text):
    for rule in (COMPONENTS, RANDOM_STATE, Boolean(), Real(-1, 1, closed=True)):
        try:
            value = rule.parse(text)
        except ValueError:
            continue
        assert rule.accepts(value)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Integer(2), "a whole number ≥ 2"),
        (Integer(1, 3), "a whole number from 1 to 3"),
        (Integers(1), "a tuple of whole numbers ≥ 1"),
        (Integers(1, length=2), "a tuple of 2 whole numbers ≥ 1"),
        (Real(0, 1), "a number in (0, 1)"),
        (Real(0, 1, closed=True), "a number in [0, 1]"),
        (Real(1, closed=True), "a number in [1, inf)"),
        (Real(high=0, closed=True), "a number in (-inf, 0]"),
        (
            LandmarkRule(("uniform",)),
            "None (exact), 'auto', a whole number ≥ 2, or a strategy with a number: 'uniform:500'",
        ),
    ],
)
def test_what_rules_say(rule, text):
    assert rule.describe() == text


def test_a_generator_of_another_library_is_no_seed():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"random_state must be .*Generator or RandomState of numpy\.random.*; got"):
        check("PCA", {"random_state": RANDOM_STATE}, {"random_state": torch.Generator()})


def test_check_names_owner_parameter_limits_and_value():
    rules = {"n_components": COMPONENTS, "ddof": Integer(0)}
    check("PCA", rules, {"n_components": 3, "ddof": 1})
    with pytest.raises(ValueError, match=r"^PCA: ddof must be a whole number ≥ 0; got 0\.5$"):
        check("PCA", rules, {"n_components": 3, "ddof": 0.5})
    with pytest.raises(ValueError, match="n_components") as error:
        check("PCA", rules, {"n_components": 0, "ddof": 1})
    assert str(error.value) == (
        "PCA: n_components must be None, or a whole number ≥ 1, or a number in (0, 1), or 'auto'; got 0"
    )


def test_parse_names_owner_parameter_limits_and_text():
    rules = {"whiten": Boolean(), "ddof": Integer(0)}
    assert parse("PCA", rules, "whiten", "true") is True
    with pytest.raises(ValueError, match=r"^PCA: ddof must be a whole number ≥ 0; got 'x'$"):
        parse("PCA", rules, "ddof", "x")
    with pytest.raises(ValueError, match=r"^PCA has no parameter 'dof'; it has ddof, whiten$"):
        parse("PCA", rules, "dof", "1")


def test_a_misspelt_name_is_met_with_the_near_one():
    rules = {"metric": AnyOf((Choice(("euclidean", "cityblock")), FunctionRule())), "ties": Choice(("primary",))}
    with pytest.raises(ValueError, match=r"got 'Euclidian'; did you mean 'euclidean'\?$"):
        parse("MDS", rules, "metric", "Euclidian")
    with pytest.raises(ValueError, match=r"got 'primry'; did you mean 'primary'\?$"):
        check("MDS", rules, {"metric": len, "ties": "primry"})
    with pytest.raises(ValueError, match=r"got 'far'$"):
        parse("MDS", rules, "metric", "far")
    with pytest.raises(ValueError, match=r"got 3$"):
        check("MDS", rules, {"metric": 3, "ties": "primary"})


def test_matrices_are_told_by_their_shape():
    assert takes_array(ArrayRule())
    assert takes_array(AnyOf((Nothing(), ArrayRule())))
    assert not takes_array(COMPONENTS)
    assert not takes_array(None)
    assert told(np.ones((2, 3), dtype=np.float32)) == "array 2 × 3 of float32"
    assert told(np.float64(2.5)) == 2.5
    assert told([1, 2]) == [1, 2]


def test_every_default_of_every_method_is_allowed(method):
    kind = method.load()
    model = kind()
    rules = kind._parameters
    assert set(rules) == set(model.get_params(deep=False))
    check(kind.__name__, rules, model.get_params(deep=False))
    assert all(rule.describe() for rule in rules.values())
