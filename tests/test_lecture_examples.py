"""The examples of docs/datasets.md: each line runs, and gives what the lectures print or say."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import lowland
from lowland.data import list_datasets, load_dataset

PAGE = Path(__file__).resolve().parent.parent / "docs" / "datasets.md"
LINES = re.findall(r"^\| (.+?) \| `((?:ll|load|\(|\[).+)` \|$", PAGE.read_text(encoding="utf-8"), flags=re.M)
FETCHED = [row.name for row in list_datasets() if row.kind == "fetched"]
QUICK = {what: line for what, line in LINES if not any(f'"{name}"' in line for name in FETCHED)}
ELSEWHERE = {what: line for what, line in LINES if what not in QUICK}


def value(what: str) -> Any:
    """The value of a line of the page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lowland.LowlandWarning)
        return eval(QUICK[what], {"ll": lowland, "load": load_dataset})


def separation(Y: np.ndarray, classes: np.ndarray) -> float:
    return LogisticRegression().fit(Y / Y.std(), classes).score(Y / Y.std(), classes)


@pytest.mark.parametrize("what", QUICK)
def test_each_line_runs(what: str) -> None:
    assert value(what) is not None


@pytest.mark.parametrize("what", ELSEWHERE)
def test_lines_on_downloaded_sets_are_python(what: str) -> None:
    compile(ELSEWHERE[what], what, "eval")


def test_the_page_has_them_all() -> None:
    assert len(LINES) >= 30
    assert len(ELSEWHERE) == 4
    text = " ".join(line for *_, line in LINES)
    shown = [row.name for row in list_datasets() if row.name not in ("punctured_sphere", "square", "circle")]
    assert [name for name in shown if f'"{name}"' not in text] == []


def test_L1_printed_eigenvalues() -> None:
    first, second = value("eigenvalues and eigenvectors of Smith's table")
    assert f"{first:.8f} {second:.10f}" == "1.28402771 0.0490833989"
    np.testing.assert_allclose(value("the other divisors"), 0.9 * np.array([first, second]))
    assert value("an eigenvector of a matrix").tolist() == [12, 8]


def test_L15_U8_concepts() -> None:
    assert value("rank of documents and terms").round(2).tolist() == [9.64, 5.29]
    assert value("Deerwester's singular values")[:2].round(2).tolist() == [3.34, 2.54]
    first, second = np.abs(value("two concepts in a bag of words")).T
    assert (first > second).tolist() == [True] * 5 + [False] * 5


def test_M8_circle_and_square() -> None:
    circle, square = value("circle and square: like spectra")
    assert circle.round(4).tolist() == [0.0884, 0.0725]
    assert square.round(4).tolist() == [0.0881, 0.0769]
    one, two = value("circle and square: other dimensions")
    assert (round(one), round(two)) == (1, 2)


def test_D2_the_map_of_cities_lies_as_the_cities_do() -> None:
    Y = value("a map from distances of cities")
    north, east = np.radians(load_dataset("cities", part="places").X).T
    plane = np.column_stack([(east - east.mean()) * np.cos(north), north - north.mean()])
    plane, Y = plane - plane.mean(axis=0), Y - Y.mean(axis=0)
    U, s, Vt = np.linalg.svd(Y.T @ plane)
    error = np.linalg.norm(plane - Y @ U @ Vt * (s.sum() / (Y**2).sum())) / np.linalg.norm(plane)
    assert error < 0.1


def test_K11_spheres_under_three_kernels() -> None:
    which = load_dataset("spheres").y
    names = ("spheres by PCA", "spheres by a polynomial kernel", "spheres by a Gaussian kernel")
    plain, polynomial, gaussian = (separation(value(name), which) for name in names)
    assert plain < 0.65
    assert gaussian > 0.99
    assert polynomial < gaussian


def test_U9_the_first_component_mixes_the_classes() -> None:
    table = load_dataset("hidden_classes")
    assert separation(value("PCA mixes two classes"), table.y) < 0.65
    assert separation(lowland.PCA(2).fit_transform(table.X)[:, 1:], table.y) > 0.98


def test_U1_iris_in_two_dimensions() -> None:
    Y, species = value("iris, 4 to 2 dimensions"), load_dataset("iris").y
    assert KNeighborsClassifier(5).fit(Y[::2], species[::2]).score(Y[1::2], species[1::2]) > 0.9


def test_M1_the_roll_is_laid_flat() -> None:
    Y, truth = value("a roll laid flat"), load_dataset("swiss_roll").aside.to_numpy()
    assert abs(np.corrcoef(Y[:, 0], truth[:, 0])[0, 1]) > 0.99
