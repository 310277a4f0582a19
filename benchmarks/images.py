"""Images: recognition by eigenfaces, compression beside down-sampling and JPEG, noise taken off digits.

    python -m benchmarks.images [faces] [compress] [denoise] [--folder FOLDER] [--sheets FOLDER]

`faces`: Olivetti faces (olivetti_faces/olivetti.npz), 5 training images of each of 40 people, 20 random splits: share
of the other 200 that get the right name, for distances and normalisations; the error of the other faces by number of
eigenfaces; how many of them, and of patches of photographs, are taken for faces.

`compress`: three photographs. Each method is given the bytes that a number of components takes: down-sampling (box
filter, then bicubic interpolation back) keeps as many pixels as bytes, stored as PNG; JPEG is given its best quality
that fits. Error: root mean square over all pixels and colours, in per cent of white.

`denoise`: USPS digits with Gaussian noise (usps/usps.npz), with clean training digits and without: mean squared error
of `denoise` with the strength that it chose.

``--sheets`` writes the pictures of docs/images.md.
"""

from __future__ import annotations

import argparse
import io
import time
from pathlib import Path
from typing import Any

import numpy as np

import lowland
from lowland.images import Eigenfaces, compress, denoise

from .harness import TABLES

Array = Any
SPLITS = 20
CASES = ("faces", "compress", "denoise")


def faces_of(folder: Path) -> tuple[Array, Array]:
    found = np.load(folder / "olivetti_faces" / "olivetti.npz")
    return found["X"].reshape(-1, 64, 64), found["y"]


def split(y: Array, seed: int, per_person: int = 5) -> Array:
    """Return which images are training images."""
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:per_person] for c in np.unique(y)])
    return np.isin(np.arange(len(y)), chosen)


def photographs() -> dict[str, Array]:
    import matplotlib.cbook
    from PIL import Image
    from sklearn.datasets import load_sample_images

    china, flower = load_sample_images().images
    with matplotlib.cbook.get_sample_data("grace_hopper.jpg") as file:
        hopper = np.asarray(Image.open(file).convert("RGB"))
    return {"china": china, "flower": flower, "grace_hopper": hopper}


def faces(folder: Path) -> None:
    X, y = faces_of(folder)
    print(f"recognition of {len(X) // 2} faces of 40 people, mean of {SPLITS} splits (least, largest)")
    print("normalize   whiten metric     " + "".join(f"{k:>24}" for k in (30, 50, 100)))
    for normalize in ("contrast", "brightness", None):
        for whiten, metric in ((False, "euclidean"), (False, "cosine"), (True, "euclidean"), (True, "cosine")):
            line = f"{normalize!s:<11} {whiten!s:<6} {metric:<10} "
            for k in (30, 50, 100):
                scores = []
                for seed in range(SPLITS):
                    train = split(y, seed)
                    model = Eigenfaces(k, normalize=normalize, whiten=whiten, metric=metric).fit(X[train], y[train])
                    scores.append(model.score(X[~train], y[~train]))
                line += f"{np.mean(scores):10.4f} ({min(scores):.3f}, {max(scores):.3f})"
            print(line, flush=True)
    pictures = np.concatenate([patches(image) for image in photographs().values()])
    curves, accepted, others, scores = [], [], [], []
    for seed in range(SPLITS):
        train = split(y, seed)
        model = Eigenfaces().fit(X[train], y[train])
        scores.append(model.score(X[~train], y[~train]))
        curves.append(model.error_curve(X[~train], [0, 10, 30, 40, 50])[1])
        accepted.append(model.is_face(X[~train]).mean())
        others.append(model.is_face(pictures).mean())
    print(f"defaults: {np.mean(scores):.4f}")
    print("error of new faces at 0, 10, 30, 40, 50:", np.mean(curves, axis=0).round(3).tolist())
    print(f"taken for faces: {np.mean(accepted):.4f} of new images, {np.mean(others):.4f} of {len(pictures)} patches")


def patches(image: Array, side: int = 64) -> Array:
    """Return squares of a photograph in grey."""
    grey = image.mean(axis=2)
    down, across = grey.shape[0] // side, grey.shape[1] // side
    cut = grey[: down * side, : across * side].reshape(down, side, across, side).swapaxes(1, 2)
    return cut.reshape(-1, side, side)


def shrunk(image: Array, most: int) -> tuple[int, float]:
    """Return bytes and error of the largest down-sampled copy that fits, stored as PNG."""
    from PIL import Image

    full, best = Image.fromarray(image), (0, np.inf)
    for factor in np.arange(1.2, 24.0, 0.1):
        small = full.resize([max(1, round(side / factor)) for side in full.size], Image.Resampling.BOX)
        size = encoded(small, "PNG", optimize=True)
        if size <= most:
            back = np.asarray(small.resize(full.size, Image.Resampling.BICUBIC), dtype=np.float64)
            best = (size, error(image, back))
            break
    return best


def jpeg(image: Array, most: int) -> tuple[int, float]:
    """Return bytes and error of the best JPEG that fits; none does below the size of quality 1."""
    from PIL import Image

    best = (0, np.inf)
    for quality in range(1, 101):
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=quality, optimize=True)
        if file.tell() <= most:
            best = min(best, (file.tell(), error(image, np.asarray(Image.open(file)))), key=lambda found: found[1])
    return best


def encoded(image: Any, form: str, **options: Any) -> int:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.tell()


def error(image: Array, other: Array) -> float:
    return float(np.sqrt(np.mean((image.astype(np.float64) - other) ** 2))) / 255


def compression() -> None:
    print(
        "photograph    method               bytes  ratio   error  same bytes: down-sampled   JPEG (per cent of white)"
    )
    for name, image in photographs().items():
        for k, patch in ((10, None), (30, None), (60, None), (4, 8), (12, 8), (32, 8), (24, 16)):
            found = compress(image, k, patch=patch)
            label = f"whole, {k}" if patch is None else f"patches of {patch}, {k}"
            small, packed = shrunk(image, found.n_bytes), jpeg(image, found.n_bytes)
            print(
                f"{name:<13} {label:<18} {found.n_bytes:>8,} {found.ratio:6.1f} {100 * found.error:7.2f}"
                f"{100 * small[1]:26.2f} {100 * packed[1]:6.2f}",
                flush=True,
            )


def denoising(folder: Path) -> None:
    digits, rng = np.load(folder / "usps" / "usps.npz"), np.random.default_rng(0)
    train = digits["X_train"][rng.permutation(7291)[:1500]].astype(np.float64).reshape(-1, 16, 16)
    test = digits["X_test"][rng.permutation(2007)[:300]].astype(np.float64).reshape(-1, 16, 16)
    print("noise  learned from    method  components  width  noise found    error  seconds")
    for noise in (0.25, 0.5, 1.0):
        noisy = test + noise * rng.standard_normal(test.shape)
        alone = train + noise * rng.standard_normal(train.shape)
        for label, X, clean, truth in (("clean digits", noisy, train, test), ("noisy digits", alone, None, train)):
            for method in ("pca", "kernel"):
                start = time.perf_counter()
                found = denoise(X, method, clean=clean)
                mse = float(np.mean((found.pixels - truth) ** 2))
                width = "–" if found.width is None else f"{found.width:g}"
                print(
                    f"{noise:<6} {label:<15} {method:<8} {found.components:>9} {width:>6} {found.noise:12.3f} "
                    f"{mse:8.4f} {time.perf_counter() - start:8.1f}",
                    flush=True,
                )


def sheets(folder: Path, out: Path) -> None:
    """Write the pictures of the documentation."""
    X, y = faces_of(folder)
    train = split(y, 0)
    model = Eigenfaces().fit(X[train], y[train])
    digits, rng = np.load(folder / "usps" / "usps.npz"), np.random.default_rng(0)
    clean, test = (digits[name].astype(np.float64).reshape(-1, 16, 16) for name in ("X_train", "X_test"))
    noisy = test[:300] + 0.5 * rng.standard_normal(test[:300].shape)
    china = photographs()["china"]
    out.mkdir(parents=True, exist_ok=True)
    drawn = {
        "eigenfaces": model.plot(),
        "rebuilt": model.plot(X[~train], kind="rebuilt", images=[0, 30, 61, 92]),
        "errors": model.plot(X[~train], kind="errors"),
        "compressed": compress(china, 12, patch=8).plot(),
        "compressed-whole": compress(china, 12).plot(),
        "denoised-kernel": denoise(noisy, "kernel", clean=clean[:1500]).plot(),
        "denoised-pca": denoise(noisy, "pca", clean=clean[:1500]).plot(),
    }
    for name, axes in drawn.items():
        figure = (axes[0] if isinstance(axes, list) else axes).figure
        figure.patch.set(facecolor="white", alpha=1.0)
        figure.savefig(out / f"{name}.png", dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"some of {', '.join(CASES)}; default: all")
    parser.add_argument("--folder", type=Path, default=TABLES, help="where olivetti_faces and usps lie")
    parser.add_argument("--sheets", type=Path, help="write the pictures of the documentation here")
    options = parser.parse_args()
    print(f"Lowland {lowland.__version__}")
    if options.sheets is not None:
        sheets(options.folder, options.sheets)
        return
    for case in options.cases or CASES:
        {"faces": lambda: faces(options.folder), "compress": compression, "denoise": lambda: denoising(options.folder)}[
            case
        ]()


if __name__ == "__main__":
    main()
