"""The short answers at the top of a report, and how to reproduce it at the end."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import TYPE_CHECKING

from .. import __version__
from ..quality.contrast import hardly_differ
from . import page

if TYPE_CHECKING:
    from ..contract.reducer import Reducer
    from ..quality.novelty_result import Novelty
    from ..quality.report_result import Report
    from .subject import Subject
    from .trust import Trust

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars", "matplotlib")
_FURTHER = {"TSNE": "openTSNE", "UMAP": "umap-learn", "Autoencoder": "torch"}  # packages of single methods
_WITHOUT_ROW = (
    "Check the row that decides an axis, and reduce the table without it; distances in this map are mostly distances "
    "to this row. If values of columns differ by orders of magnitude, try their logarithms."
)


def answers(subject: Subject) -> str:
    """Return short answers: what the map is, how far it can be trusted, and what to do next."""
    found = subject.found
    trusted = "Not measured: the rows of the data are not known here." if found is None else found
    if not isinstance(trusted, str):
        trusted = trusted.picture.sentence
    steps = [page.paragraph(_advice(found))] if found is not None and not isinstance(found, str) else []
    if subject.deciding:
        trusted = f"One row decides an axis: {subject.deciding[0]}. {trusted}"
        steps = [page.paragraph(_WITHOUT_ROW)]
    if subject.novelty is not None:
        trusted, steps = f"{subject.novelty.sentence} {trusted}", [page.paragraph(_advice_on_new(subject.novelty))]
    for purpose, command in subject.next_steps.items():
        steps += [page.paragraph(purpose), page.command(command)]
    rows = {"Can I trust it?": [page.paragraph(trusted)]}
    return page.summary(rows | ({"What next?": steps} if steps else {}))


def _advice_on_new(found: Novelty) -> str:
    """Return what to do with new rows."""
    if found.novel.any():
        return (
            "Check the rows that are unlike the training rows before you use their places; read the others as rows of "
            "the training map."
        )
    return "Read the new rows as rows of the training map."


def _advice(found: Trust) -> str:
    """Return what the map can be used for, by the verdicts, the contrast of the data and the groups."""
    report = found.picture
    if report.by_chance:
        return "Check that the rows of the data and of the map are in the same order."
    words = report.verdict.words
    near, far = words["neighbours"], words.get("distances", "poor")
    reservations = _reservations(report)
    if reservations and near != "poor":
        return f"{_cautious(far, mixed=report.purity is not None and bool(report.purity.mixed))} {reservations}"
    if near == "poor":
        rest = (
            "Distances in it are poor, too."
            if far == "poor"
            else f"Read only the coarse arrangement from it: distances are {far}."
        )
        return (
            "Do not read groups or neighbours from this map: many neighbours in it are not neighbours in the data. "
            f"{rest} Compare other methods, or keep more dimensions."
        )
    if far == "good" and near == "fair":
        return "Read distances and the coarse arrangement from this map, not single neighbours."
    if far == "good":
        return "Neighbours, groups and distances can be read from this map, as far as the measures below say."
    if words.get("geodesic distances") == "good":
        return "Read neighbours and distances along the shape from this map, not straight-line distances."
    if near == "good":
        return f"Read neighbours and groups from this map, but do not measure distances in it: they are {far}."
    if far == "poor":
        return (
            "Read neighbours and groups from this map, not the distances between groups, which are poor. Some "
            "neighbours are wrong: check a finding in the data themselves."
        )
    return (
        "Read the coarse arrangement from this map, not single neighbours or exact distances. Check a finding in the "
        "data themselves."
    )


def _reservations(report: Report) -> str:
    """Return why neighbours say less than their verdict: distances hardly differ, or groups are mixed."""
    out = []
    if hardly_differ(report.contrast):
        out.append(
            "The map may keep the neighbours of the data, but these are hardly nearer than other rows, so single "
            "neighbours say little."
        )
    if report.purity is not None and report.purity.mixed:
        out.append(
            "Groups that are separate in the data overlap in the map: compare a supervised method, or keep more "
            "dimensions."
        )
    return " ".join(out)


def _cautious(far: str, *, mixed: bool) -> str:
    """Return what can be read from a map whose neighbours are subject to reservations."""
    spoiled = "single neighbours or borders of groups" if mixed else "single neighbours"
    if far == "poor":
        return f"Do not read {spoiled} or distances from this map."
    what = "distances and the coarse arrangement" if far == "good" else "the coarse arrangement"
    return f"Read {what} from this map, not {spoiled}."


def reproduce_section(subject: Subject) -> str:
    """Return the section on reproducing the report: command, seed and versions."""
    model, command = subject.model, subject.command
    if command is None and model is not None:
        call = " ".join(repr(model).split())  # scikit-learn's repr: the parameters that differ from their defaults
        command = f"lowland.{call}.fit_transform(X)"
    further = "" if model is None else _FURTHER.get(type(model).__name__, "")
    seed = [] if model is None else [page.paragraph(f"Random seed: {_seed(model)}.")]
    pieces = [*([page.command(command)] if command else []), *seed, versions(further)]
    return page.section("Reproduce this report", *pieces)


def versions(further: str = "") -> str:
    """Return a table of the versions of Lowland, Python and the packages that compute; ``further`` is one more."""
    rows = [("lowland", __version__), ("Python", platform.python_version())]
    rows += [(name, metadata.version(name)) for name in (*_PACKAGES, further) if name]
    return page.table(rows, "Versions")


def _seed(model: Reducer) -> str:
    parameters = model.get_params(deep=False)
    if "random_state" not in parameters:
        return "none; this method draws no random numbers"
    value = parameters["random_state"]
    return "0, the default" if value is None else str(value)
