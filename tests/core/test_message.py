"""Messages: parts with more than one wording, and errors that carry them."""

import copy
import pickle

import pytest

import lowland
from lowland.core.errors import FILL, CellError
from lowland.core.message import Estimator, Item, Message, Remedies, Setting, parts_of, settings_of

OTHER = Message("use ", Estimator("ProbabilisticPCA"), ", which takes missing values")


def shell(part):
    if isinstance(part, Setting):
        return f"--set {part.name}={part.value}"
    return None


def test_a_message_is_a_text_in_python_words():
    text = Message("LLE: ", Setting("n_neighbors", 5), " is too few; use ", Setting("metric", "cosine"))
    assert text == "LLE: n_neighbors=5 is too few; use metric='cosine'"
    assert isinstance(text, str)
    assert text.worded(shell) == "LLE: --set n_neighbors=5 is too few; use --set metric=cosine"


def test_nested_messages_are_taken_apart_and_others_stay_one_part():
    inner = Message("use ", Setting("scale", True))
    assert Message("PCA: ", inner).parts == ("PCA: ", "use ", Setting("scale", True))
    assert parts_of("plain") == ("plain",)
    assert list(settings_of("plain")) == []
    assert list(settings_of(Message(Remedies("fill it", inner)))) == [Setting("scale", True)]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_keep_their_parts(again):
    text = Message("use ", Setting("scale", True), Remedies("fill it", OTHER, before="; "))
    assert again(text) == text
    assert again(text).parts == text.parts
    error = CellError("NaN", FILL, row=3, column=1, name="age")
    other = again(error)
    assert (str(other), other.row, other.column, other.name) == (str(error), 3, 1, "age")


def test_advice_without_words_is_left_out():
    gap = Message("missing value: ", Remedies("fill it", "leave the row out", OTHER))
    assert gap == "missing value: fill it, leave the row out, or use ProbabilisticPCA, which takes missing values"
    assert gap.worded(shell) == "missing value: fill it or leave the row out"
    alone = Message("PCA stores no rows", Remedies(Message("use ", Estimator("Isomap")), before="; "))
    assert alone.worded(shell) == "PCA stores no rows"
    assert Message(Item("object", 3), " is far").worded(shell) == "object 3 is far"


def test_an_error_about_a_cell_can_change_its_subject_place_and_advice():
    error = CellError("NaN", Remedies("fill it", OTHER), row=1, column=2)
    moved = error.changed(row=7, subject="report, Y", advice=FILL)
    assert str(moved) == "report, Y contains NaN at row 7, column 2: fill it or leave the row out"
    assert (moved.row, moved.column) == (7, 2)
    assert isinstance(moved, lowland.DataError)
    assert isinstance(moved, ValueError)
