"""`load_dataset` and `list_datasets`."""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING, Any

from ...core.errors import DataError
from ...core.formatting import first_line
from ...core.message import Message, Setting
from .dataset import Dataset
from .rows import DATASETS, PARTS

if TYPE_CHECKING:
    from ..table import Table


def list_datasets() -> tuple[Dataset, ...]:
    """Return the data sets that `load_dataset` knows: name, size, what each shows, source, licence, kind.

    >>> [row.name for row in list_datasets() if row.kind == "fetched"]
    ['letter', 'olivetti', 'usps', 'cranfield']
    """
    return DATASETS


def find_dataset(name: str) -> Dataset:
    """Return the row of a data set; an unknown name raises a DataError that lists similar ones.

    >>> find_dataset("olivetti_faces")
    Traceback (most recent call last):
    ...
    lowland.core.errors.DataError: there is no data set 'olivetti_faces'; did you mean 'olivetti'?
    """
    known = {row.name: row for row in DATASETS}
    plain = str(name).strip().lower().replace("-", "_").replace(" ", "_")
    if plain in known:
        return known[plain]
    near = [own for own in known if plain and (own in plain or (len(plain) > 2 and plain in own))]
    near += [own for own in difflib.get_close_matches(plain, known, n=3, cutoff=0.6) if own not in near]
    hint = f"did you mean {' or '.join(map(repr, near[:3]))}?" if near else f"there are {', '.join(known)}"
    raise DataError(f"there is no data set {name!r}; {hint}")


def load_dataset(name: str, **parameters: Any) -> Table:
    """Return a data set by its name.

    Parameters
    ----------
    name : such as ``"smith"``, ``"iris"`` or ``"swiss_roll"``; `list_datasets` lists all.
    **parameters : of generated sets, such as ``n=500, noise=0.1, random_state=1``; ``part=`` of sets with parts.

    Returns
    -------
    `Table`: ``X`` the numbers, ``y`` the labels or the true coordinate (or None), ``names``, ``aside`` what else is
    known of the rows, ``notes`` what the set shows and where it comes from, ``to_pandas()``, ``to_polars()``.

    Sets that are too large to bundle are downloaded once, verified by their checksum, and kept in the folder
    ``LOWLAND_DATA`` or in the cache of the system. Without a network the error says which file to put where.

    Examples
    --------
    >>> import lowland
    >>> lowland.PCA(ddof=1).fit(load_dataset("smith").X).eigenvalues_.round(8).tolist()
    [1.28402771, 0.0490834]
    >>> roll = load_dataset("swiss_roll", n=500)
    >>> roll.X.shape, roll.y.shape, roll.aside.columns
    ((500, 3), (500,), ['arc_length', 'height'])
    """
    row = find_dataset(name)
    chosen = {**row.parameters, **_checked(row, parameters)}
    module, _, function = row.loader.partition(":")
    load = getattr(importlib.import_module(f".{module}", __package__), function)
    try:
        table: Table = load(row, **chosen)
    except DataError:
        raise
    except (TypeError, ValueError, OverflowError) as error:  # a parameter of the wrong kind
        given = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
        raise DataError(f"{row.name} cannot be generated with {given}: {first_line(error)}") from error
    return table


def _checked(row: Dataset, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters; raise for unknown names and unknown parts."""
    for key in parameters:
        if key not in row.parameters:
            own = ", ".join(f"{name}={value!r}" for name, value in row.parameters.items())
            known = f"its parameters are {own}" if own else "it has no parameters"
            raise DataError(f"{row.name} has no parameter {key!r}; {known}")
    if "part" in parameters and (part := parameters["part"]) not in PARTS[row.name]:
        raise DataError(Message(f"{row.name}: ", Setting("part", part), f" must be {' or '.join(PARTS[row.name])}"))
    return parameters
