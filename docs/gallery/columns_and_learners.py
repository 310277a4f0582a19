"""Draw the figures of the pages on columns that move together and on reductions before a learner.

python docs/gallery/columns_and_learners.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from lowland import plots
from lowland.plots.style import theme


def hidden() -> tuple[np.ndarray, np.ndarray]:
    """Two classes that differ along the column of the least variance."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1], 150)
    return np.column_stack([rng.normal(0, 5, (300, 3)), rng.normal(0, 0.1, 300) + 0.8 * kind]), kind


def main(folder: Path) -> None:
    """Write the figures."""
    folder.mkdir(parents=True, exist_ok=True)
    with theme("paper"):
        figures = {
            "downstream": plots.downstream(*hidden(), estimator="linear").figure,
            "correlations": plots.column_groups(load_breast_cancer(as_frame=True).data).figure,
        }
    for name, figure in figures.items():
        figure.patch.set(facecolor="white", alpha=1.0)
        figure.savefig(folder / f"{name}.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
