"""What a report is about: a map, the rows behind it, and the method, if it is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..contract import registry
from ..contract.axis_names import axis_labels, method_title, shares_of
from ..core.formatting import count
from .facts import has_meaningful_axes, sentence
from .hover import Hover

if TYPE_CHECKING:
    from ..contract.reducer import Reducer
    from ..quality.novelty_result import Novelty
    from ..quality.supplementary_columns import Supplementary
    from .compared import Compared
    from .extremes import Bounded
    from .mixed import MixedColumns
    from .trust import Trust

Array = Any


@dataclass(frozen=True, eq=False)
class Subject:
    """A map and what is known about it.

    ``model`` is the fitted method, None for a map made elsewhere; ``behind`` the rows of the map, ``found`` its
    measures or why there are none; ``novelty`` compares ``new`` rows with the training rows, of which ``training`` is
    the map.
    ``next_steps`` are commands by purpose, ``words`` words the messages of the library for the reader.
    """

    title: str
    embedding: Array
    axis_names: Sequence[str]
    model: Reducer | None = None
    method: str | None = None  # registered name, if there is no model
    behind: Compared | None = None
    mixed: MixedColumns | None = None  # columns before a step that mixes them
    found: Trust | str | None = None
    color: Any = None
    color_name: str | None = None
    names: Sequence[str] | None = None
    names_title: str = "name"  # the column that names are from
    called: Sequence[str] | None = None  # names of rows in texts, such as lines of a file; default: ``names``
    hover: Any = None
    images: Sequence[str | None] | None = None
    alignment: str | None = None
    supplementary: Supplementary | None = None
    supplementary_rows: Array | None = None
    novelty: Novelty | None = None
    training: Array | None = None
    new: bool = False  # whether the rows are new to the model
    data_summary: Mapping[str, object] = field(default_factory=dict)
    command: str | None = None
    steps: str | None = None
    done: Sequence[str] = ()  # to the cells before these steps
    warnings: Sequence[str] = ()
    next_steps: Mapping[str, str] = field(default_factory=dict)
    words: Callable[[str], str] = str

    @property
    def method_name(self) -> str | None:
        """The registered name of the method, or None."""
        if self.model is None:
            return self.method
        row = registry.by_class(type(self.model).__name__)
        return None if row is None else row.name

    @property
    def method_title(self) -> str:
        """The method as people write it."""
        if self.model is not None:
            return method_title(self.model)
        return "This method" if self.method is None else registry.method(self.method).title

    @property
    def pairwise(self) -> bool:
        """Whether the data are a matrix of pairwise values."""
        if self.model is not None:
            return bool(self.model._pairwise)
        return self.behind is not None and self.behind.pairwise

    @property
    def pixels(self) -> tuple[int, ...] | None:
        """The shape of images, if the columns of the model are their pixels."""
        from ..data.pixels import pixel_shape

        if self.model is None:
            return None if self.behind is None else pixel_shape(getattr(self.behind.named, "columns", None))
        return pixel_shape(getattr(self.model, "feature_names_in_", None))

    @property
    def labels(self) -> list[str]:
        """Labels of the axes, with shares of the variance where the axes are those of the method."""
        if self.model is not None:
            return axis_labels(self.model, shares=self.alignment is None)
        return list(self.axis_names)

    @property
    def axis_titles(self) -> list[str]:
        """Labels of the axes without shares, for texts."""
        return list(self.axis_names) if self.model is None else axis_labels(self.model, shares=False)

    @property
    def has_axes(self) -> bool:
        """Whether the axes have a meaning of their own: shares of the variance, not rotated."""
        return self.model is not None and self.alignment is None and shares_of(self.model) is not None

    @property
    def meaningful_axes(self) -> bool:
        """Whether values on the axes mean something, so that they are drawn."""
        return self.model is not None and self.alignment is None and has_meaningful_axes(self.model)

    @property
    def drawn(self) -> Bounded:
        """The coordinates as they are drawn: of new rows, those far outside are at the edge.

        Columns that are not known to be a map may have scales of their own.
        """
        import numpy as np

        from .extremes import Bounded, bounded

        if self.new:
            return bounded(self.embedding, self.training)
        return Bounded(self._scaled[0], np.zeros(0, dtype=int))

    @property
    def _scaled(self) -> tuple[Array, str]:
        """The coordinates, of which unknown ones may have scales of their own, and a sentence about that."""
        from ..explorer.scales import own_scales

        known = self.model is not None or self.method is not None
        return (self.embedding, "") if known else own_scales(self.embedding, self.axis_names)

    @property
    def separate_scales(self) -> str:
        """A sentence that says that both axes have scales of their own; empty if they have one."""
        return self._scaled[1]

    @property
    def far_outside(self) -> str:
        """A sentence on the rows that are drawn at the edge; empty if there are none."""
        return self.drawn.sentence(self.embedding, self.called or self.names)

    @property
    def deciding(self) -> list[str]:
        """Warnings about rows that alone make an axis with a meaning."""
        from ..quality.deciding_rows import deciding_rows, deciding_words

        if self.new or not self.has_axes:
            return []
        names = self.called or self.names
        return [deciding_words(found, self.axis_titles[found.axis], names) for found in deciding_rows(self.embedding)]

    @property
    def tips(self) -> Hover:
        """What is shown when one points at a point."""
        return Hover.of(len(self.embedding), self.names, self.hover, self.images, self.names_title)

    @property
    def sentence(self) -> str:
        """What the map is, in one sentence."""
        n, k = len(self.embedding), self.embedding.shape[1]
        if self.new:
            return f"{self.method_title} placed {count(n, 'new row')} in {count(k, 'dimension')}."
        if self.model is not None:
            return sentence(self.model, n)
        things = "object" if self.pairwise else "row"
        by = "made elsewhere" if self.method is None else f"made with {self.method_title}"
        return f"A map of {count(n, things)} in {count(k, 'dimension')}, {by}."
