"""Images: eigenfaces that recognise people, compression, and the removal of noise.

Every function takes a folder, a pattern such as ``"faces/*.png"``, an array of images, or `Images` from `read`.

**Centred and scaled.** `Eigenfaces` takes the mean brightness off each image and divides it by its contrast (the
standard deviation of its pixels), so that a lamp or a camera setting is no difference between faces. This is done to
each image by itself, new ones included; nothing is learned from it. The eyes must lie at the same place in all
images: faces are not searched for or turned here.

**Sizes.** `compress` writes the numbers that it keeps to a string of bytes and rebuilds the image from that string, so
its size and its error are those of a file.

**Strength.** `denoise` chooses its components, and the width of the kernel, by the error on images that a model has not
seen. It does not need clean images for that: noise that is added and removed again stands for them (`risk`).

>>> import lowland
>>> X, y, _ = lowland.data.digits()
>>> model = lowland.images.Eigenfaces(20).fit(X[:1000].reshape(-1, 8, 8), y[:1000])
>>> bool((model.predict(X[1000:].reshape(-1, 8, 8)) == y[1000:]).mean() > 0.9)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

__all__ = [
    "Compressed",
    "Denoised",
    "Eigenfaces",
    "Images",
    "Recognition",
    "compress",
    "decompress",
    "denoise",
    "read",
]

if TYPE_CHECKING:
    from .codec import decompress
    from .compression import Compressed, compress
    from .denoising import Denoised, denoise
    from .eigenfaces import Eigenfaces
    from .recognition import Recognition
    from .stack import Images, read

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".codec": "decompress",
        ".compression": "Compressed compress",
        ".denoising": "Denoised denoise",
        ".eigenfaces": "Eigenfaces",
        ".recognition": "Recognition",
        ".stack": "Images read",
    },
)
