"""Models that have commands of their own: `lowland transform` and `lowland plot` do not take them."""

from __future__ import annotations

from typing import NamedTuple


class OtherModel(NamedTuple):
    """What a model is, what it takes, and the command that uses it."""

    what: str
    takes: str
    command: str
    argument: str


OTHER_MODELS = {
    "Eigenfaces": OtherModel("a model of faces", "images", "image recognize", "IMAGES"),
    "LatentSemanticIndex": OtherModel("an index of texts", "texts", "text search", "QUERY"),
}
