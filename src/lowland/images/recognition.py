"""Who is on an image, and whether it is a face: the result of `Eigenfaces.recognize`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

Array = Any


@dataclass(frozen=True, eq=False)
class Recognition:
    """What `Eigenfaces` says of images, one entry for each.

    Attributes
    ----------
    names : tuple of str
        The images.
    labels : array or None
        The label of the nearest training image; None if the model has none.
    nearest : tuple of str
        The nearest training image.
    distances : array
        Distance to it among the eigenfaces.
    residuals : array
        Distance to the plane of the eigenfaces: root mean square over the pixels, in units of the image's contrast.
    faces : array of bool
        Whether the residual is at most the threshold.
    threshold : float or None
        Learned from images that were held out; None if there were too few, and then ``faces`` is all True.
    """

    names: tuple[str, ...]
    labels: Array | None
    nearest: tuple[str, ...]
    distances: Array
    residuals: Array
    faces: Array
    threshold: float | None

    def __len__(self) -> int:
        return len(self.names)

    def table(self) -> pl.DataFrame:
        """Return the entries as a table, one row for each image."""
        import polars as pl

        columns: dict[str, Any] = {"image": self.names}
        if self.labels is not None:
            columns["label"] = [value.item() if hasattr(value, "item") else value for value in self.labels]
        columns |= {"nearest": self.nearest, "distance": self.distances, "residual": self.residuals}
        return pl.DataFrame(columns | {"face": self.faces})
