"""Take mixtures apart: five signals heard by five microphones, and two photographs and noise laid over each other.

python docs/gallery/sources.py FOLDER

Rows of the picture: what there was, the mixtures, what PCA and what ICA find in them. The titles say how well each is
matched, by |correlation| with the original that it is likest. ICA's order and signs are its own; here they are those of
the originals, for the eye.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_sample_image

import lowland
from lowland.plots.style import PALETTE

Array = Any


def signals(n: int, rng: np.random.Generator) -> Array:
    """Return a sine, a square wave, a sawtooth, noise with rare peaks and a chirp, n × 5."""
    t = np.linspace(0, 1, n)
    waves = [
        np.sin(2 * np.pi * 11 * t),
        np.where(np.sin(2 * np.pi * 7 * t) < 0, -1.0, 1.0),
        (17 * t) % 1,
        rng.laplace(size=n),
        np.sin(2 * np.pi * (3 * t + 18 * t**2)),
    ]
    return np.column_stack(waves)


def photographs(rng: np.random.Generator) -> tuple[Array, tuple[int, int]]:
    """Return two photographs and noise as columns of grey values, and the shape of a picture."""
    pictures = [load_sample_image(name).mean(axis=2) for name in ("china.jpg", "flower.jpg")]
    pictures.append(rng.uniform(0, 255, pictures[0].shape))
    return np.column_stack([p.ravel() for p in pictures]), pictures[0].shape


def matched(found: Array, truth: Array) -> tuple[Array, Array]:
    """Return the columns of ``found`` in the order and with the signs of the originals, and their correlations."""
    k = truth.shape[1]
    R = np.corrcoef(truth.T, found.T)[:k, k:]
    rest, order = np.abs(R), np.zeros(k, dtype=int)
    for _ in range(k):  # the surest pair first, each taken once
        i, j = np.unravel_index(rest.argmax(), rest.shape)
        order[i] = j
        rest[i], rest[:, j] = -1, -1
    picked = R[np.arange(k), order]
    return found[:, order] * np.sign(picked), np.abs(picked)


def rows_of(S: Array, rng: np.random.Generator) -> dict[str, tuple[Array, Array | None]]:
    """Mix sources at random and take them apart; each entry is a row of the picture."""
    S = (S - S.mean(axis=0)) / S.std(axis=0)
    X = S @ rng.uniform(0.2, 1, (S.shape[1], S.shape[1]))
    found: dict[str, tuple[Array, Array | None]] = {"sources": (S, None), "mixtures": (X, None)}
    for model in (lowland.PCA(whiten=True), lowland.ICA()):
        found[type(model).__name__] = matched(model.fit_transform(X), S)
    return found


def main(folder: str) -> None:
    """Write the picture."""
    rng = np.random.default_rng(1)
    heard = rows_of(signals(2000, rng), rng)
    photos, shape = photographs(rng)
    seen = rows_of(photos, rng)
    figure = Figure(figsize=(13, 6.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.15, 1))
    for row, (name, (Y, match)) in zip(left.subplots(4, 5), heard.items(), strict=True):
        for i, axes in enumerate(row):
            axes.plot(Y[:600, i], color=PALETTE[i], linewidth=0.8)
            axes.set(xticks=[], yticks=[], title="" if match is None else f"{match[i]:.3f}")
        row[0].set_ylabel(name)
    for row, (name, (Y, match)) in zip(right.subplots(4, 3), seen.items(), strict=True):
        for i, axes in enumerate(row):
            axes.imshow(Y[:, i].reshape(shape)[::2, ::2], cmap="gray")
            axes.set(xticks=[], yticks=[], title="" if match is None else f"{match[i]:.3f}")
        row[0].set_ylabel(name)
    for axes in figure.axes:
        axes.title.set_fontsize(8)
    Path(folder).mkdir(parents=True, exist_ok=True)
    figure.savefig(Path(folder, "sources.png"), dpi=110)
    print(Path(folder, "sources.png"))


if __name__ == "__main__":
    main(*sys.argv[1:])
