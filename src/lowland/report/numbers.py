"""The numbers of a report as one JSON object, which programs can read from the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import __version__
from ..contract import parameters
from ..core.formatting import plain_values

if TYPE_CHECKING:
    from ..dimension import Estimate
    from ..quality.outliers import Outliers
    from .subject import Subject
    from .trust import Trust

ID = "lowland-report"  # of the script element


def numbers(
    subject: Subject, found: Trust | str | None, dimension: Estimate | str | None, outliers: Outliers | str | None
) -> dict[str, Any]:
    """Return the numbers of a page; what was not measured is null, with the reason under ``not_measured``."""
    model = subject.model
    parts = {"quality": found, "dimension": dimension, "outliers": outliers}
    whole = None if isinstance(found, str) or found is None else found.whole
    measured: dict[str, Any] = {
        "quality": None if isinstance(found, str) or found is None else found.picture.to_dict(),
        "dimension": None if isinstance(dimension, str) or dimension is None else dimension.to_dict(),
        "outliers": None if isinstance(outliers, str) or outliers is None else outliers.to_dict(),
    }
    novelty = subject.novelty
    return plain_values(  # type: ignore[no-any-return]
        {
            "lowland": __version__,
            "title": subject.title,
            "command": subject.command,
            "data": dict(subject.data_summary),
            "rows": len(subject.embedding),
            "axes": list(subject.axis_names),
            "method": subject.method_title if model is None else type(model).__name__,
            "parameters": None
            if model is None
            else {name: parameters.told(value) for name, value in model.get_params(deep=False).items()},
            "fit_info": None if model is None else model.fit_info_.to_dict(),
            "warnings": list(subject.warnings),
            **measured,
            "quality_all_dimensions": None
            if whole is None
            else {"trustworthiness": whole[0].to_dict(), "continuity": whole[1].to_dict()},
            "novelty": None
            if novelty is None
            else {
                "novel": int(novelty.novel.sum()),
                "unjudged": int((~novelty.judged).sum()),
                "limits": dict(novelty.limits),
                "unusual_columns": novelty.unusual_columns,
            },
            "not_measured": {name: part for name, part in parts.items() if isinstance(part, str)},
        }
    )
