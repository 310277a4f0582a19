"""The process in which candidates run, one after the other: ``python -m lowland.comparison.worker FOLDER``.

Jobs come as lines of JSON on stdin, answers go as lines of JSON to what was stdout; whatever a method prints goes to
stderr. The data lie in the folder, and the maps are left there. When the other side is gone, the process ends.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

Say = Callable[[dict[str, Any]], None]

_PAUSE = 0.2  # seconds between two lines of progress
_WARM_UP_ROWS = 100  # rows that a method is fitted on to load what it needs


def main(words: list[str]) -> None:
    """Serve until stdin ends."""
    folder = Path(words[0])
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    orders = os.fdopen(os.dup(sys.stdin.fileno()), encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)  # what a method starts reads this, and not our jobs
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    jobs: queue.Queue[dict[str, Any]] = queue.Queue()
    lock = threading.Lock()

    def say(answer: dict[str, Any]) -> None:
        with lock:
            channel.write(json.dumps(answer) + "\n")
            channel.flush()

    def listen() -> None:
        for line in orders:
            jobs.put(json.loads(line))
        shutil.rmtree(folder, ignore_errors=True)  # whoever made it was killed: it ends us before it closes the pipe
        os._exit(0)  # also in the middle of a job, whose answer is not read any more

    threading.Thread(target=listen, daemon=True).start()
    _tell_compiling(say)
    bench = Bench(folder, say)
    _warm()
    say({"ready": True})
    while True:
        say(bench.serve(jobs.get()))


def _tell_compiling(say: Say) -> None:
    """Tell when code is compiled and when that is done: it happens once on a machine, and is no candidate's time."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            self._lock, self._depth = threading.Lock(), 0

        def on_start(self, _: Any) -> None:
            self._count(1)

        def on_end(self, _: Any) -> None:
            self._count(-1)

        def _count(self, change: int) -> None:
            with self._lock:  # functions that a function calls are compiled within it
                before, self._depth = self._depth, self._depth + change
                if (before == 0) != (self._depth == 0):
                    say({"compiling": self._depth > 0})

    event.register("numba:compile", Listener())


class Bench:
    """Holds the data between jobs."""

    def __init__(self, folder: Path, say: Say) -> None:
        from .dataset import Dataset

        self.folder, self._say, self._last = folder, say, 0.0
        self.given = Dataset.restore(folder)
        self._truth: Any = None
        self._train: dict[bool, Any] = {}
        self._loaded: set[str] = set()
        self._absent = _register(folder / "plugins.pickle")

    def serve(self, job: dict[str, Any]) -> dict[str, Any]:
        """Do one job; whatever goes wrong becomes an answer."""
        from ..core.settings import config

        work = {"look": self._look, "dimensions": self._dimensions, "fit": self._fit}[job["do"]]
        with warnings.catch_warnings(record=True) as told, config(progress=self._progress):
            warnings.simplefilter("always")
            try:
                answer = work(job)
            except Exception as error:  # one candidate must not take the others along
                answer = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        answer["warnings"] = list(dict.fromkeys(" ".join(str(item.message).split()) for item in told))
        return answer

    def _progress(self, stage: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._last >= _PAUSE:
            self._last = now
            self._say({"progress": [stage, done, total]})

    def _look(self, job: dict[str, Any]) -> dict[str, Any]:
        """Look at the data once and leave the distances that maps are judged by in the folder."""
        import numpy as np

        from .structure import look

        evidence, truth = look(self.given, job["n_neighbors"], job["random_state"])
        for name in ("direct", "geodesic"):  # under another name first: we may be ended in the middle
            np.savez(self.folder / "unfinished.npz", **getattr(truth, name))
            os.replace(self.folder / "unfinished.npz", self.folder / f"{name}.npz")
        return {"status": "done", "evidence": evidence.to_dict()}

    def _dimensions(self, job: dict[str, Any]) -> dict[str, Any]:
        from .structure import dimensions

        return {"status": "done", "dimensions": dimensions(self.given, job["random_state"])}

    def _fit(self, job: dict[str, Any]) -> dict[str, Any]:
        """Fit a candidate, place the held-out rows, measure, and leave the map in the folder."""
        import numpy as np

        from .measuring import criteria

        model = self._build(job)
        self._load(job["method"])
        start = time.perf_counter()
        Y = model.fit_transform(self._training(job["method"]))
        fitted = time.perf_counter()
        placed = self._place(model, np.asarray(Y), job["method"])
        mapped = time.perf_counter()
        found = criteria(self.given, self._stored(), placed, job["n_neighbors"], job["geodesic"])
        measured = time.perf_counter()
        np.savez(self.folder / f"map{job['number']}.npz", Y=placed.Y, there=placed.there)
        learned = getattr(model, "gamma_", None)
        return {
            "status": "done",
            "criteria": found,
            "seconds": {"fit": fitted - start, "place": mapped - fitted, "measure": measured - mapped},
            "approximate": bool(model.fit_info_.approximate),
            "n_components": int(model.n_components_),
            "learned": {} if learned is None else {"gamma": float(learned)},
        }

    def _build(self, job: dict[str, Any]) -> Any:
        from .candidates import Candidate

        if job["method"] in self._absent:
            raise ImportError(self._absent[job["method"]])
        if self.given.kind == "categories" and job["method"] == "famd":  # PCA of its coded rows, which these are
            shared = {name: job["parameters"][name] for name in ("n_components", "random_state")}
            return Candidate("pca", shared).build()
        return Candidate(job["method"], job["parameters"]).build()

    def _load(self, name: str) -> None:
        """Fit a few rows by a method that loads other packages, so that their loading does not count as its time."""
        from ..contract import registry
        from .candidates import Candidate

        row = next((row for row in registry.METHODS if row.name == name), None)
        if row is None or not (row.extra or row.family == "embedding") or name in self._loaded:
            return
        self._loaded.add(name)
        rows = self._training(name)[:_WARM_UP_ROWS]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metric = {"metric": "precomputed"} if self.given.kind == "distances" else {}
            few = rows[:, : rows.shape[0]] if metric else rows
            with suppress(Exception):  # whatever goes wrong shows in the fit itself
                Candidate(name, metric).build().fit(few)

    def _training(self, method: str) -> Any:
        """Return what a method is fitted on."""
        import numpy as np

        rows, held = self.given.seen_by(method), self.given.held
        own = rows is not self.given.rows
        if own not in self._train:
            rows = rows[~held] if held.any() else rows
            self._train[own] = rows if hasattr(rows, "tocsr") else np.array(rows)
        return self._train[own]

    def _place(self, model: Any, Y: Any, method: str) -> Any:
        """Put fitted and held-out rows into one map, in the order of the table."""
        import numpy as np

        from .measuring import Placed

        held = self.given.held
        if not held.any():
            return Placed(Y, np.arange(self.given.n))
        if not hasattr(getattr(model, "estimator_", model), "transform"):  # of another package
            warnings.warn("held-out rows are not placed: it has no transform", stacklevel=2)
            return Placed(Y, np.flatnonzero(~held))
        new = np.asarray(model.transform(self.given.seen_by(method)[held]))
        whole = np.empty((self.given.n, Y.shape[1]))
        whole[~held], whole[held] = Y, new
        return Placed(whole, np.arange(self.given.n))

    def _stored(self) -> Any:
        """Return the distances of the paired rows, which `_look` left, or those as the metric tells them."""
        import numpy as np

        from .structure import Truth, direct_distances

        if self._truth is None:
            if (self.folder / "geodesic.npz").exists():
                self._truth = Truth(*(dict(np.load(self.folder / f"{name}.npz")) for name in ("direct", "geodesic")))
            else:  # there was no time to look
                self._truth = Truth(direct_distances(self.given), {})
        return self._truth


def _warm() -> None:
    """Measure a small map, so that no candidate pays for loading what all of them need."""
    import numpy as np

    from .dataset import read
    from .measuring import Placed, criteria
    from .structure import look

    given, _ = read(np.random.default_rng(0).standard_normal((60, 3)), None, "euclidean", None, 0.2, 0)
    _, truth = look(given, 5, 0)
    criteria(given, truth, Placed(np.array(given.rows[:, :2]), np.arange(given.n)), 5, False)


def _register(file: Path) -> dict[str, str]:
    """Bring in the methods that the other side registered; return why one cannot be."""
    failed: dict[str, str] = {}
    if not file.exists():
        return failed
    from ..contract import registry

    for name, text in pickle.loads(file.read_bytes()):
        try:
            if name not in {row.name for row in registry.methods()}:
                registry.register(**pickle.loads(text))
        except Exception as error:  # its module is not to be found here, or does not load
            failed[name] = f"its class cannot be loaded in another process: {error}"
    return failed


if __name__ == "__main__":
    main(sys.argv[1:])
