"""Every picture at three sizes: no texts overlap, and nothing leaves the figure."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lowland
from drawn_maps import SIZES, assert_figure_apart
from lowland import plots
from lowland.plots.style import figure_size
from lowland.ranking import pagerank

NO_PICTURES = {"Overlay", "plot", "plot_kinds", "theme"}
LONG = [f"measurement of the column {i}" for i in range(6)]


def table(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(n, 3)) @ rng.normal(size=(3, 6)) + rng.normal(size=(n, 6)), columns=LONG)


def plane(n: int = 60) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(n, 2)) @ np.array([[3.0, 1.0], [0.0, 1.0]])


def pca() -> tuple[Any, pd.DataFrame]:
    return lowland.PCA(3, scale=True).fit(table()), table()


def som() -> Any:
    return lowland.SOM(grid=(6, 5), epochs=2, random_state=0).fit(table())


def images() -> tuple[Any, np.ndarray]:
    X = lowland.data.digits()[0][:100]
    return lowland.PCA(6).fit(X), X


KINDS = [f"a long name of kind {i % 4}" for i in range(60)]
EDGES = [(f"https://example.org/page/{i}", f"https://example.org/page/{(i * i + 1) % 12}") for i in range(12)]
PICTURES: dict[str, Callable[[], Any]] = {
    "axes_and_projections": lambda: plots.axes_and_projections(plane()),
    "axes_and_projections, given": lambda: plots.axes_and_projections(plane() * [0.2, 1.0], onto=(1, 0.3)),
    "biplot": lambda: plots.biplot(*pca(), color=KINDS, color_name="kind of the row"),
    "biplot, values": lambda: plots.biplot(*pca(), color=table()[LONG[0]], color_name=LONG[0]),
    "column_groups": lambda: plots.column_groups(table()),
    "compare_grid": lambda: plots.compare_grid(
        {"first": table()[LONG[:2]].to_numpy(), "second": table()[LONG[1:3]].to_numpy()},
        table(),
        color=[f"a long group name number {i % 15}" for i in range(60)],
    ),
    "component_planes": lambda: plots.component_planes(som()),
    "contributions": lambda: plots.contributions(*pca()),
    "correlation_circle": lambda: plots.correlation_circle(*pca(), color="cos2"),
    "correlations": lambda: plots.correlations(table()),
    "cos2": lambda: plots.cos2(*pca()),
    "cos2, map": lambda: plots.cos2(*pca(), kind="map"),
    "dimension": lambda: plots.dimension(
        np.random.default_rng(0).uniform(size=(200, 3)) @ np.ones((3, 6)) + table(200).to_numpy()
    ),
    "downstream": lambda: plots.downstream(table(), KINDS, methods=["pca", "isomap"]),
    "eigenimages": lambda: plots.eigenimages(images()[0], (8, 8)),
    "hit_map": lambda: plots.hit_map(som(), table()),
    "loadings": lambda: plots.loadings(*pca()),
    "measures": lambda: plots.measures(lowland.quality.report(table(), table()[LONG[:2]])),
    "neighbor_graph": lambda: plots.neighbor_graph(
        plane(), table(), n_neighbors=6, path=(0, 9), color=KINDS, color_name="kind of the row"
    ),
    "neighbor_graph, values": lambda: plots.neighbor_graph(
        plane(), table(), n_neighbors=6, path=(0, 9), color=plane()[:, 0], color_name=LONG[0]
    ),
    "neighbor_graph, space": lambda: plots.neighbor_graph(table()[LONG[:3]], path=(0, 9), color=KINDS),
    "power_iteration": lambda: plots.power_iteration([[2.0, 0.8], [0.8, 1.0]], start=(-0.5, 1.0)),
    "quality_map": lambda: plots.quality_map(plane(), table()),
    "ranking": lambda: plots.ranking(pagerank(EDGES)),
    "reconstructions": lambda: plots.reconstructions(*images(), (8, 8), k=(0, 2, 6), rows=(0, 1, 2)),
    "relationship_square": lambda: plots.relationship_square(lowland.FAMD(2).fit(table().assign(kind=KINDS))),
    "residual_variance": lambda: plots.residual_variance(table(), n_neighbors=8),
    "rnx": lambda: plots.rnx(
        {f"the map with the long name {i}": plane() + i * table()[LONG[:2]] for i in (0, 1)}, table()
    ),
    "scatter": lambda: plots.scatter(plane(), color=KINDS, color_name="kind of the row", centers=True),
    "scatter, space": lambda: plots.scatter(
        table()[LONG[:3]].to_numpy(), axes=(1, 2, 3), color=KINDS, labels=[f"PCA {i} (10.5 %)" for i in (1, 2, 3)]
    ),
    "scree": lambda: plots.scree(pca()[0], parallel=True),
    "shepard": lambda: plots.shepard(plane(), table()),
    "spectrum": lambda: plots.spectrum(lowland.Isomap(2, n_neighbors=8).fit(table())),
    "stress_by_dimension": lambda: plots.stress_by_dimension(table(), dimensions=(1, 2, 3)),
    "thumbnails": lambda: plots.thumbnails(plane(), np.random.default_rng(0).random((60, 8, 8)), color=KINDS),
    "u_matrix": lambda: plots.u_matrix(som(), table()),
    "variance_by_direction": lambda: plots.variance_by_direction(plane()),
}


def test_every_picture_has_a_case() -> None:
    assert {name.partition(",")[0] for name in PICTURES} == set(plots.__all__) - NO_PICTURES


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
@pytest.mark.parametrize("size", [*SIZES[:2], pytest.param(SIZES[2], marks=pytest.mark.slow), None])
@pytest.mark.parametrize("name", list(PICTURES))
def test_no_texts_overlap_or_leave_the_figure(name: str, size: tuple[float, float] | None) -> None:
    with figure_size(size):
        made = PICTURES[name]()
    figure = (made[0] if isinstance(made, list) else made).figure
    assert size is None or tuple(figure.get_size_inches()) == size or name == "compare_grid"
    assert_figure_apart(figure)


def test_every_picture_is_drawn_in_the_gallery() -> None:
    drawn = set()
    for path in (Path(__file__).parents[2] / "docs/gallery").glob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        drawn |= {call.attr for call in calls if isinstance(call, ast.Attribute) and ast.unparse(call.value) == "plots"}
        drawn |= {call.id for call in calls if isinstance(call, ast.Name)}
    assert set(plots.__all__) - NO_PICTURES <= drawn


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
@pytest.mark.parametrize("name", list(PICTURES))
def test_nor_do_the_large_texts_of_slides(name: str) -> None:
    with plots.theme("slide"):
        made = PICTURES[name]()
    assert_figure_apart((made[0] if isinstance(made, list) else made).figure)


def table_rows(page: str, heading: str) -> list[tuple[str, str]]:
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    part = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return [(left, right) for left, right in rows[1:]]


LISTS = [
    *table_rows("plots_components.md", "Coming from factoextra"),
    *table_rows("plots.md", "Coming from factoextra or scanpy"),
    *table_rows("plots.md", "Pictures of lectures and papers"),
]


@pytest.mark.parametrize(("theirs", "ours"), LISTS, ids=[left[:40] for left, _ in LISTS])
def test_lists_for_users_of_other_packages_name_what_there_is(theirs: str, ours: str) -> None:
    known = {name for function in plots.__all__ for name in inspect.signature(getattr(plots, function)).parameters}
    for code in re.findall(r"`([^`]+)`", ours):
        name, call, options = code.removeprefix("lowland.").removeprefix("plots.").partition("(")
        if name in plots.__all__:
            passed = re.findall(r"([a-z_]+)=", options)
            assert set(passed) <= set(inspect.signature(getattr(plots, name)).parameters), code
        elif re.fullmatch(r"\w+=.*", code):
            assert code.partition("=")[0] in known, code
        elif name.startswith("quality."):
            assert hasattr(lowland.quality, name.removeprefix("quality.")), code
        else:
            assert not call or "." in name, f"{code}: no function of plots"
