"""Draw the sheets of docs/images.md from bundled images.

python docs/gallery/images.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_sample_images

import lowland
from lowland.images import Eigenfaces, compress, denoise


def main(folder: Path) -> None:
    """Write the sheets."""
    folder.mkdir(parents=True, exist_ok=True)
    X, y, _ = lowland.data.digits()
    pictures = X.reshape(-1, 8, 8)
    noisy = pictures[900:] + 4 * np.random.default_rng(0).standard_normal(pictures[900:].shape)
    model = Eigenfaces(50).fit(pictures[:900], y[:900])
    china = load_sample_images().images[0]
    sheets = {
        "images-eigenfaces": model.plot(),
        "images-rebuilt": model.plot(pictures[900:], kind="rebuilt"),
        "images-errors": model.plot(pictures[900:], kind="errors"),
        "images-whole": compress(china, 12).plot(),
        "images-patches": compress(china, 12, patch=8).plot(),
        "images-denoised": denoise(noisy, "kernel", clean=pictures[:900], width=1.4).plot(),
    }
    for name, axes in sheets.items():
        figure = (axes[0] if isinstance(axes, list) else axes).figure
        figure.patch.set(facecolor="white", alpha=1.0)
        figure.savefig(folder / f"{name}.png", dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
