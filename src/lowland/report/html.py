"""The report of one reduction: figures, diagnostics and the command to reproduce it, in one HTML file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..contract import parameters
from ..core.formatting import count
from ..data.atomic import atomic_file
from . import columns, numbers, page, pictures, trust
from .answers import answers, reproduce_section
from .building import of_model
from .facts import explanations, spectrum_of
from .hover import Hover
from .interactive import is_available, map_with_fallback
from .meaning import meaning
from .structure import Result, dimension_pieces, estimate_dimension, find_outliers, novelty_section, outliers_section
from .subject import Subject
from .supplementary import overlay
from .supplementary import section as supplementary_section
from .svg import inline_svg

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..contract.reducer import Reducer
    from ..dimension import Estimate
    from ..plots.overlay import Overlay
    from ..quality.supplementary_columns import Supplementary
    from .mixed import MixedColumns
    from .trust import Trust


def render_report(
    model: Reducer,
    embedding: ArrayLike,
    *,
    X: Any = None,
    color: Any = None,
    color_name: str | None = None,
    names: Sequence[str] | None = None,
    names_title: str = "name",
    called: Sequence[str] | None = None,
    hover: Any = None,
    images: Sequence[str | None] | None = None,
    alignment: str | None = None,
    supplementary: Supplementary | None = None,
    supplementary_rows: ArrayLike | None = None,
    title: str,
    data_summary: Mapping[str, object],
    command: str | None = None,
    steps: str | None = None,
    done: Sequence[str] = (),
    mixed: MixedColumns | None = None,
    warnings: Sequence[str] = (),
    next_steps: Mapping[str, str] | None = None,
    words: Callable[[str], str] = str,
) -> str:
    """Return the report of a fitted model as the text of one HTML file; the same input gives the same text.

    Parameters
    ----------
    model : the fitted model.
    embedding : the coordinates it gave, one row a point.
    X : the rows that it was fitted on (or their distances); with them the report measures how reliable the map is.
    color, color_name : a column that colours the points, and its name.
    names : a name for each point, written beside it if there are few, otherwise shown on hover.
    names_title : the column that the names are from.
    called : what each row is called in texts, such as its line in a file; default: ``names``.
    hover : a data frame of columns, or a mapping from names to values, shown on hover.
    images : an image for each point as a data URI, or None, shown on hover.
    alignment : what the map was laid over, if the coordinates are not the model's own but rotated: its axes then have
        neither shares of the variance nor loadings.
    supplementary : how columns that took no part in the fit lie on the map, as `quality.supplementary` returns it.
    supplementary_rows : coordinates of rows that took no part in the fit, drawn as hollow points.
    title : heading of the page.
    data_summary : facts about the data, by name, such as ``{"file": "iris.csv", "rows": 150}``.
    command : the command line that reproduces the result.
    steps : the steps that made the rows from the columns of the table, in words.
    done : what was done to the cells before that, such as how many were filled; sentences.
    mixed : the columns before a step that mixed them, such as FAMD before PCA.
    warnings : warnings of these steps; those of the fit are known.
    next_steps : commands to run next, by their purpose.
    words : a function that words messages of the library, such as for the command line.

    Examples
    --------
    >>> import lowland
    >>> X = [[1.0, 0.0, 2.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.5]]
    >>> model = lowland.PCA(n_components=2).fit(X)
    >>> render_report(model, model.transform(X), X=X, title="Three points", data_summary={"rows": 3})[:15]
    '<!doctype html>'
    """
    further = None if supplementary_rows is None else np.asarray(supplementary_rows)
    subject = of_model(
        model,
        embedding,
        X=X,
        title=title,
        color=color,
        color_name=color_name,
        names=names,
        names_title=names_title,
        called=called,
        hover=hover,
        images=images,
        alignment=alignment,
        supplementary=supplementary,
        supplementary_rows=further,
        data_summary=data_summary,
        command=command,
        steps=steps,
        done=done,
        mixed=mixed,
        warnings=warnings,
        next_steps=next_steps or {},
        words=words,
    )
    return render(subject)


def render(subject: Subject) -> str:
    """Return the page about a map; the same subject gives the same text."""
    behind, words = subject.behind, subject.words
    found = _worded(subject.found, words)
    subject = replace(subject, found=found, warnings=[words(text) for text in _warnings(subject)])
    judged = None if subject.new else behind
    dimension = None if judged is None else _worded(estimate_dimension(judged), words)
    outliers = None if judged is None else _worded(find_outliers(judged, subject.called or subject.names), words)
    sections = [
        _data(subject),
        _steps(subject),
        _map(subject),
        "" if subject.training is None else pictures.new_rows_section(subject),
        supplementary_section(subject.supplementary, list(subject.axis_names), with_axes=subject.has_axes),
        "" if subject.new else pictures.section(subject),
        pictures.axes_section(subject),
        columns.section(subject),
        page.section("What gaps and sizes mean", page.paragraph(meaning(subject.method_name, subject.method_title))),
        "" if subject.model is None else _fit_quality(subject.model),
        "" if found is None else _trust(subject, found),
        _dimensions(subject, dimension),
        "" if outliers is None or behind is None else outliers_section(outliers, behind, subject.steps),
        "" if subject.novelty is None else novelty_section(subject.novelty),
        "" if found is None else trust.groups_section(found, subject.color_name),
        "" if subject.model is None else _fit(subject.model),
        reproduce_section(subject),
    ]
    sections = [text for text in sections if text]
    return page.document(
        subject.title,
        [
            page.heading(subject.title),
            page.paragraph(subject.sentence, "lead"),
            *(page.paragraph(f"Warning: {text}", "warning") for text in subject.warnings),
            answers(subject),
            page.contents(sections),
            *sections,
            page.footer(f"Made with Lowland {__version__}."),
            page.data_block(numbers.ID, numbers.numbers(subject, found, dimension, outliers)),
        ],
    )


def _warnings(subject: Subject) -> list[str]:
    """Return all warnings about a map: given ones, of the fit, and of the measures."""
    of_fit = () if subject.model is None else subject.model.fit_info_.warnings
    found = subject.found
    of_measures = () if found is None or isinstance(found, str) else found.picture.warnings
    of_measures = () if subject.new else of_measures  # advice on fits does not apply to new rows
    given = list(dict.fromkeys([*subject.warnings, *of_fit, *subject.deciding]))
    # What dominates the fit dominates the distances, too: once is enough.
    return [*given, *(text for text in of_measures if not any(text.partition(", so ")[0] in other for other in given))]


def _data(subject: Subject) -> str:
    rows = [(str(name), str(value)) for name, value in subject.data_summary.items()]
    return page.section("The data", page.table(rows, "What was read")) if rows else ""


def _steps(subject: Subject) -> str:
    """Return what was done to the data, in order."""
    done = list(subject.done)
    done += [] if subject.steps is None else [f"Steps before the method: {subject.steps}."]
    if subject.model is not None:
        done.append(_fitted(subject))
    if subject.alignment:
        done.append(subject.alignment)
    return page.section("What was done", page.steps(done)) if done else ""


def _fitted(subject: Subject) -> str:
    """Return which method was fitted, with the parameters that differ from their defaults."""
    assert subject.model is not None
    call = " ".join(repr(subject.model).split())  # scikit-learn's repr shows only these parameters
    given = call.partition("(")[2].rstrip(")")
    how = f" with {given}; the other parameters have their defaults" if given else " with its default parameters"
    verb = "Placed on the map of a model that was fitted before:" if subject.new else "Fitted"
    return f"{verb} {subject.method_title}{how}."


def _map(subject: Subject) -> str:
    drawn = overlay(subject.supplementary, subject.supplementary_rows)
    return _picture(
        subject,
        subject.drawn.embedding,
        subject.labels,
        subject.color,
        subject.color_name,
        subject.names,
        subject.tips,
        drawn,
        subject.found,
    )


def _worded(found: Result | str, words: Callable[[str], str]) -> Result | str:
    """Return a result, or in the words of the reader why there is none."""
    return words(found) if isinstance(found, str) else found


def _trust(subject: Subject, found: Trust | str) -> str:
    return trust.section(found, subject.drawn.embedding, subject.labels, meaningful_axes=subject.meaningful_axes)


def _fit_quality(model: Reducer) -> str:
    said = explanations(model)
    return page.section("How well the map fits", *map(page.paragraph, said)) if said else ""


def _dimensions(subject: Subject, found: Estimate | str | None) -> str:
    """Return the section on the number of dimensions: of the data, and by the spectrum of the method."""
    spectrum = None if subject.model is None or subject.new else spectrum_of(subject.model)
    pieces = [] if found is None or subject.behind is None else dimension_pieces(found, subject.behind, subject.words)
    pieces += [] if spectrum is None else pictures.components_needed(spectrum)
    return page.section("How many dimensions", *pieces) if pieces else ""


def _fit(model: Reducer) -> str:
    given = [(name, str(parameters.told(value))) for name, value in model.get_params(deep=False).items()]
    return page.section(
        "The fit",
        page.table(model.fit_info_.rows(), "Fit"),
        page.details("All parameters", page.table(given, f"Parameters of {type(model).__name__}")),
    )


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Write a page; a failure leaves no partial file."""
    with atomic_file(os.fspath(path)) as file:
        file.write(text.encode())


def _picture(
    subject: Subject,
    Y: np.ndarray[Any, Any],
    labels: Sequence[str],
    color: Any,
    name: str | None,
    names: Sequence[str] | None,
    hover: Hover,
    drawn: Overlay,
    found: trust.Trust | str | None,
) -> str:
    from ..plots.names import visible_labels
    from ..plots.scatter import RASTER_ABOVE, places, scatter

    shown = f"The first two of {Y.shape[1]} dimensions. " if Y.shape[1] > 2 else ""
    hue = f", coloured by {name}" if color is not None and name else ""
    things = "objects" if subject.pairwise else "rows"
    columns = " and ".join(subject.axis_names[:2])
    caption = (
        f"{shown}Each of the {len(Y):,} {things} is one point{hue}. Names of the axes in the output file: {columns}."
    )
    if Y.shape[1] == 1:
        caption += " Only the horizontal position has a meaning; the vertical position separates the points."
    if drawn.rows is not None:
        caption += f" Hollow points: {count(len(drawn.rows), 'supplementary row')}, placed after the fit."
    axes = " against ".join(labels[:2])
    look: dict[str, Any] = {"kind": "points", "meaningful_axes": subject.meaningful_axes}
    ax = scatter(Y, color=color, color_name=name, labels=labels, names=names, overlay=drawn, **look)
    tips, is_static = None, not is_available()  # the interactive map shows on hover what the static one would
    if is_static and hover.contents and len(Y) <= RASTER_ABOVE:
        tips = hover.tips(*places(Y))
        if hover.contents != "its name" or len(visible_labels(ax)) < len(Y):
            caption += f" Hover over a point to see {hover.contents}."
    elif is_static and (hover.columns or hover.images):
        caption += f" With more than {RASTER_ABOVE:,} points, nothing is shown on hover."
    svg = inline_svg(ax.figure, "scatter", f"Map of the data: {axes}", caption, tips)
    reliable = trust.pointwise(found.picture, len(Y)) if isinstance(found, trust.Trust) else None
    picture = page.figure(svg, caption)
    more = bool(drawn.arrows or drawn.centers or drawn.rows is not None)
    said = [page.paragraph(text) for text in (subject.far_outside, subject.separate_scales) if text]
    return page.section(
        "The map",
        *said,
        map_with_fallback(
            picture, Y, labels, color=color, color_name=name, hover=hover, trust=reliable, keep_static=more
        ),
    )
