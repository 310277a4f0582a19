"""`Dataset`: a row of the table of data sets, and `RemoteFile`: a file that is downloaded once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set that is too large to bundle.

    ``checksum`` begins with its algorithm (``"sha256:…"`` or ``"md5:…"``); ``size`` is in bytes, None if unknown.
    """

    name: str
    address: str
    checksum: str
    size: int | None = None


@dataclass(frozen=True)
class Dataset:
    """A data set that `load_dataset` knows by name.

    Attributes
    ----------
    name : the name.
    size : rows and columns, as text.
    shows : what it is and what it shows.
    source : where it comes from.
    licence : the terms of its use.
    kind : ``"bundled"`` with Lowland, from ``"scikit-learn"``, ``"generated"``, or ``"fetched"`` from its address once.
    parameters : what `load_dataset` accepts for this set, with the default values.
    aside : columns that belong to the rows and are not reduced.
    target : the one of them that is ``Table.y``.
    form : ``"table"``, ``"images"``, ``"texts"`` or ``"distances"``.
    image : height and width of the images; ``grey`` is the range of their values, black to white.
    files : what is downloaded.
    advice : options of ``lowland reduce`` that suit the set.
    loader : module and function of this package that load it.

    Examples
    --------
    >>> from lowland.data import list_datasets
    >>> roll = next(row for row in list_datasets() if row.name == "swiss_roll")
    >>> roll.kind, roll.parameters, roll.target
    ('generated', {'n': 1000, 'noise': 0.0, 'random_state': 0}, 'arc_length')
    """

    name: str
    size: str
    shows: str
    source: str
    licence: str
    kind: str
    loader: str = field(repr=False)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    aside: tuple[str, ...] = ()
    target: str | None = None
    form: str = "table"
    image: tuple[int, int] | None = None
    grey: tuple[float, float] = (0.0, 255.0)
    files: tuple[RemoteFile, ...] = ()
    advice: str = "--method pca"

    @property
    def notes(self) -> tuple[str, str]:
        """What the loaded table says about itself."""
        return self.shows, f"source: {self.source}; licence: {self.licence}"

    @property
    def roles(self) -> dict[str, str]:
        """The role of the target, as `Table` takes it."""
        return {} if self.target is None else {"target": self.target}
