"""Whether a change leaves results as they are, bit for bit: ``python -m benchmarks.bits save|compare FILE``.

Every method is fitted on small tables of several kinds. A digest is kept of each learned array, of `transform` of new
rows and of `inverse_transform`. ``compare`` prints what differs and exits with 1 if anything does. Two runs on one
machine with the same packages agree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import lowland
from lowland import registry

ROWS, NEW_ROWS = 300, 40


def tables() -> dict[str, tuple[Any, Any]]:
    """Training rows and new rows of each kind."""
    rng = np.random.default_rng(0)
    roll = lowland.data.swiss_roll(ROWS + NEW_ROWS, random_state=0)[0]
    mixed = rng.standard_normal((ROWS + NEW_ROWS, 8)) @ rng.standard_normal((8, 20)) + 0.1
    counts = sp.random_array((ROWS + NEW_ROWS, 60), density=0.2, rng=rng, format="csr")
    wide = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 900)) + 0.01 * rng.standard_normal((80, 900))
    equal = np.vstack([roll[:ROWS], roll[: ROWS // 3]])
    apart = np.vstack([roll[:100], roll[100:200] + 500.0, roll[200:ROWS] - 500.0])
    distances = np.abs(mixed[:, None, :] - mixed[None, :ROWS, :]).sum(axis=2)
    return {
        "roll": (roll[:ROWS], roll[ROWS:]),
        "linear": (mixed[:ROWS], mixed[ROWS:]),
        "float32": (mixed[:ROWS].astype(np.float32), mixed[ROWS:].astype(np.float32)),
        "sparse": (counts[:ROWS], counts[ROWS:]),
        "wide": (wide[:60], wide[60:]),
        "equal rows": (equal, roll[ROWS:]),
        "in pieces": (apart, roll[ROWS:]),
        "huge": (mixed[:ROWS] * 2.0**500, mixed[ROWS:] * 2.0**500),
        "precomputed": (distances[:ROWS], distances[ROWS:]),
    }


def settings(name: str, cls: type) -> Iterator[tuple[str, dict[str, Any]]]:
    """Parameters to try, each with a label."""
    taken = cls().get_params()
    yield "default", {}
    if "n_components" in taken:
        yield "three", {"n_components": 3}
    if "landmarks" in taken:
        yield "landmarks", {"landmarks": 60}
    if "disconnected" in taken and registry.method(name).load()._parameters["disconnected"].accepts("separate"):
        yield "separate", {"disconnected": "separate"}
    for solver in ("gram", "covariance", "svd", "krylov", "power"):
        if name == "pca":
            yield solver, {"n_components": 3, "solver": solver}


def digest(value: Any) -> str:
    """Return a short digest of an array, or of anything that prints the same when it is the same."""
    if sp.issparse(value):
        value = value.toarray()
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        data = np.ascontiguousarray(value).tobytes() + str((value.dtype, value.shape)).encode()
    elif isinstance(value, dict):
        data = "".join(f"{key}:{digest(value[key])}" for key in sorted(value)).encode()
    elif isinstance(value, list | tuple):
        data = "".join(map(digest, value)).encode()
    else:
        data = str(value).encode() if isinstance(value, int | float | str | type(None)) else b""
    return hashlib.sha256(data).hexdigest()[:16]


def results(X: Any, Z: Any, cls: type, given: dict[str, Any]) -> dict[str, str]:
    """Return a digest of all that a fit learned, and of new rows and rows rebuilt."""
    try:
        model = cls(**given).fit(X)
    except Exception as error:
        return {"error": type(error).__name__}
    names = [name for name in vars(model) if name.endswith("_") and name not in ("fit_info_", "estimator_")]
    out = {name: digest(getattr(model, name)) for name in sorted(names)}
    info = model.fit_info_
    out["record"] = digest([info.algorithm, info.solver, info.residual, info.approximation_error])
    for name in ("transform", "inverse_transform"):
        work = getattr(model, name, None)
        if work is None:
            continue
        try:
            out[name] = digest(work(Z if name == "transform" else model.transform(Z)))
        except Exception as error:
            out[name] = type(error).__name__
    return out


def main() -> int:
    """Save the digests, or compare with saved ones."""
    parser = argparse.ArgumentParser(prog="benchmarks.bits", description="Digests of the results of all methods.")
    parser.add_argument("action", choices=("save", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("methods", nargs="*", help="all unless some are named")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, str]] = {}
    for name in args.methods or [row.name for row in registry.methods()]:
        cls = registry.method(name).load()
        for table, (X, Z) in tables().items():
            for label, given in settings(name, cls):
                if table == "precomputed":
                    given = {**given, "metric": "precomputed"}
                    if "metric" not in cls().get_params():
                        continue
                found[f"{name} / {table} / {label}"] = results(X, Z, cls, given)
        print(name, file=sys.stderr)
    if args.action == "save":
        args.file.write_text(json.dumps(found, indent=1, sort_keys=True))
        print(f"{len(found)} fits, {sum(map(len, found.values()))} digests")
        return 0
    before = json.loads(args.file.read_text())
    differing = 0
    for key, values in found.items():
        old = before.get(key, {})
        changed = sorted(name for name in {*old, *values} if old.get(name) != values.get(name))
        if changed:
            differing += 1
            print(f"{key}: {', '.join(changed)}")
    print(f"{len(found)} fits compared, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
