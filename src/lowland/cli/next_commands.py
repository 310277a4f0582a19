"""Commands that an answer proposes next: on the same rows, or on new rows of the same form.

They are built here, so that each repeats how the rows were read and which columns name and colour them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.command_line import command_line
from ..data.formats import READABLE

if TYPE_CHECKING:
    from .options import KeepOptions, TableOptions

_LABEL = {  # command → its option for the column of labels; for others it is left out of the data
    "compare": "target",
    "downstream": "target",
    "evaluate": "target",
    "plan": "color",
    "plot": "color",
    "reduce": "color",
}
_HOVER = ("reduce", "compare", "plan")  # commands with --hover


@dataclass(frozen=True)
class SameRows:
    """The rows of a table as a command has read them.

    ``id``, ``label`` and ``hover`` are columns that name, colour and describe the rows; ``coded``: columns that a note
    called coded labels. Further commands follow the note: the first is the label if there is none, the others are left
    out.
    """

    data: Path
    columns: TableOptions
    id: str | None = None
    label: str | None = None
    hover: Sequence[str] = ()
    coded: Sequence[str] = ()

    def command(
        self,
        name: str,
        *files: object,
        first: Mapping[str, object] | None = None,
        drop: Sequence[str] = (),
        **options: Any,
    ) -> str:
        """Return the command line of a command on these rows.

        ``files`` follow the table, ``first`` are options before those of the rows, ``drop`` further columns to leave
        out. An option with the name of one of the rows replaces it.
        """
        from ..data.table import name_list

        words = self.columns.words()
        label = _LABEL.get(name)
        coded = [column for column in self.coded if column not in drop]
        own = self.label if self.label is not None else next(iter(coded), None)
        beside = dict.fromkeys([*([] if own is None else [own]), *coded])
        left_out = [*drop, *(column for column in beside if label is None or column != own)]
        words["drop"] = [*self.columns.drop, *(name_list([column]) for column in left_out)]
        words["id"] = self.id
        if label is not None:
            words[label] = own
        if name in _HOVER:
            words["hover"] = tuple(self.hover)
        return command_line(name, self.data, *files, **{**(first or {}), **words, **options})


def new_rows_of(data: Path, columns: TableOptions, keep: KeepOptions, *, flag: bool) -> dict[str, Any]:
    """Return how new rows of the same form are read: a name in place of their file, and options of `transform`.

    A model file stores this; `transform_command` makes a command of it. ``flag``: mark rows unlike the training rows.
    """
    name = data.name.lower().removesuffix(".gz").removesuffix(".zst")
    ending = next((ending for ending in READABLE if name.endswith(ending)), ".csv")
    reading = columns.reading
    folder = data.is_dir()
    words = {key: value for key, value in reading.words().items() if key not in ("format", "text", "image")}
    if folder or reading.format is not None:
        words["format"] = reading.format
    words |= {"id": keep.id, "color": keep.color, "flag": flag}
    options = {key: list(value) if isinstance(value, tuple) else value for key, value in words.items()}
    return {
        "file": "NEW" if folder else f"NEW{ending}",
        "options": {key: value for key, value in options.items() if value not in (None, False, [])},
    }


def transform_command(model: Path, new_rows: Mapping[str, Any] | None) -> str:
    """Return the command that places new rows on the map of a model; ``new_rows`` of `new_rows_of`, None if unknown.

    >>> print(transform_command(Path("m.lowland"), {"file": "NEW.csv", "options": {"sep": ";", "id": "no"}}))
    lowland transform m.lowland NEW.csv --sep ';' --id no --out new-map.csv
    """
    made: Mapping[str, Any] = {"file": "NEW.csv", "options": {}} if new_rows is None else new_rows
    return command_line("transform", model, made["file"], **made["options"], out="new-map.csv")
