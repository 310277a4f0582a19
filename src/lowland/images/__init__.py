"""Images: eigenfaces that recognise people, compression, and the removal of noise.

Every function takes a folder, a pattern such as ``"faces/*.png"``, an array of images, or `Images` from `read`.

**Centred and scaled.** `Eigenfaces` subtracts from each image its mean brightness and divides by its contrast (the
standard deviation of its pixels), so that lighting and camera settings do not make faces differ. Each image, also a new
one, is standardised by its own values; nothing is learned for this step. The eyes must be at the same place in all
images: faces are neither detected nor rotated here.

**Sizes.** `compress` writes the numbers that it keeps to a string of bytes and rebuilds the image from that string, so
its size and its error are those of a file.

**Strength.** `denoise` chooses its components, and the width of the kernel, by the error on images that a model has not
seen. It needs no clean images for that: the error is estimated from the effect of noise that is added (`risk`).

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
