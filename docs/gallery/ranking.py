"""Draw the pictures of rankings: PageRank and HITS of an invented web of hosts.

python docs/gallery/ranking.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from lowland import plots
from lowland.ranking import hits, pagerank


def web(n_hosts: int = 40, n_pages: int = 50, seed: int = 0) -> list[tuple[str, str]]:
    """Return links between pages: most within a host, to its first pages, the others to a few well-known hosts."""
    rng = np.random.default_rng(seed)
    links = []
    for _ in range(20_000):
        host, page = rng.integers(n_hosts), rng.integers(n_pages)
        other = host if rng.random() < 0.8 else int(n_hosts * rng.random() ** 3)
        links.append((f"host{host}.org/{page}", f"host{other}.org/{int(n_pages * rng.random() ** 3)}"))
    return links


def main(folder: str) -> None:
    """Write both pictures."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    links = web()
    for name, found in (("pagerank", pagerank(links)), ("hits", hits(links))):
        figure = plots.ranking(found)[0].figure
        path = Path(folder, f"ranking_{name}.png")
        figure.savefig(path, dpi=110, facecolor="white")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1])
