"""Autoencoder beside PCA: ``python -m benchmarks.reconstruction [digits] [usps] [linear] [epoch] [--device cuda]``.

Rows that no fit has seen are squeezed to 2, 8 and 16 numbers and rebuilt; told is the share of their variance that is
lost. Digits are split at random, 1,440 rows for the fit and 357 new ones; USPS comes with its own split. A plain
network of the same widths, without the straight path and from random weights, stands beside: it is what other programs
train. It has the same steps and one thread, too. Each figure is the median of three seeds, and so are the seconds of a
fit. Then the linear case: the largest angle between the plane of the rebuilt rows and that of the principal components.
Last, the time and the memory of one epoch over many rows.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lowland
from lowland.methods.network import network

Array = Any
Rebuild = Callable[[Array], Array]

USPS = Path(__file__).resolve().parents[2] / "shared" / "data" / "usps" / "usps.npz"


def lost(rebuild: Rebuild, X: Array) -> float:
    """Return the share of the variance that is not rebuilt."""
    return float(((rebuild(X) - X) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum())


def ours(X: Array, k: int, seed: int, device: str) -> Rebuild:
    """Fit an autoencoder with the defaults."""
    model = lowland.Autoencoder(k, random_state=seed, device=device).fit(X)
    return lambda rows: model.inverse_transform(model.transform(rows))


def principal(X: Array, k: int, seed: int, device: str) -> Rebuild:
    """Fit PCA."""
    model = lowland.PCA(k).fit(X)
    return lambda rows: model.inverse_transform(model.transform(rows))


def plain(X: Array, k: int, seed: int, device: str) -> Rebuild:
    """Train the same layers as a usual program does: no straight path, all weights random, the same schedule."""
    import torch

    settings, rng = lowland.Autoencoder(), np.random.default_rng(seed)
    mean, scale = X.mean(axis=0), float(np.sqrt(X.var(axis=0).mean()))
    torch.manual_seed(seed)

    def stack(widths: tuple[int, ...]) -> list[Any]:
        layers: list[Any] = []
        for a, b in itertools.pairwise(widths):
            layers += [torch.nn.Linear(a, b), torch.nn.SiLU()]
        return layers[:-1]

    widths = (X.shape[1], *settings.hidden, k)
    model = torch.nn.Sequential(*stack(widths), *stack(widths[::-1])).to(device)

    def tensor(rows: Array) -> Any:
        return torch.tensor((rows - mean) / scale, dtype=torch.float32, device=device)

    def error(rows: Any) -> Any:
        return torch.nn.functional.mse_loss(model(rows), rows)

    order = rng.permutation(len(X))
    held, rows = tensor(X[order[: len(X) // 10]]), tensor(X[order[len(X) // 10 :]])
    steps = -(-len(rows) // settings.batch_size)
    schedule = network.Schedule(
        settings.epochs, settings.batch_size, settings.learning_rate, settings.weight_decay, settings.patience
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=schedule.rate, weight_decay=schedule.decay, fused=True)
    best, kept, since, step = np.inf, model.state_dict(), 0, 0
    with network.steady(torch):
        for _ in range(schedule.epochs):
            for part in torch.tensor_split(torch.from_numpy(rng.permutation(len(rows))).to(device), steps):
                optimizer.param_groups[0]["lr"] = schedule.step_size(step, schedule.epochs * steps)
                optimizer.zero_grad()
                error(rows[part]).backward()
                optimizer.step()
                step += 1
            with torch.no_grad():
                now = float(error(held))
            since = 0 if now < best else since + 1
            if since == 0:
                best, kept = now, {name: value.clone() for name, value in model.state_dict().items()}
            if since >= schedule.patience:
                break
    model.load_state_dict(kept)

    def rebuild(new: Array) -> Array:
        with torch.no_grad():
            return model(tensor(new)).double().cpu().numpy() * scale + mean

    return rebuild


PROGRAMS = {"PCA": principal, "Autoencoder": ours, "plain network": plain}


def compare(title: str, X: Array, new: Array, device: str) -> None:
    """Print what is lost of new rows, and the seconds of the fits."""
    print(f"\n{title}: {len(X)} rows for the fit, {len(new)} new ones, {X.shape[1]} columns")
    print(f"{'numbers':<10}" + "".join(f"{name:>16}{'s':>8}" for name in PROGRAMS))
    for k in (2, 8, 16):
        line = ""
        for fit in PROGRAMS.values():
            errors, seconds = [], []
            for seed in range(3):
                start = time.perf_counter()
                rebuild = fit(X, k, seed, device)
                seconds.append(time.perf_counter() - start)
                errors.append(lost(rebuild, new))
            line += f"{statistics.median(errors):>16.4f}{statistics.median(seconds):>8.2f}"
        print(f"{k:<10}{line}", flush=True)


def linear(title: str, X: Array, device: str) -> None:
    """Print the angles between linear autoencoders and PCA."""
    from scipy.linalg import subspace_angles

    angles = {}
    for k in (2, 8, 16):
        model = lowland.Autoencoder(k, hidden=(), validation=0.0, device=device).fit(X)
        plane = model.decoder_["straight"] * model.scale_[:, None]
        angles[k] = float(subspace_angles(plane, lowland.PCA(k).fit(X).components_.T).max())
    print(f"{title:<10}" + "".join(f"{angle:>12.1e}" for angle in angles.values()), flush=True)


def epoch(n: int, device: str) -> None:
    """Print what one epoch over many rows takes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8)) @ rng.standard_normal((8, 50)) + 0.3 * rng.standard_normal((n, 50))
    for batch in (128, 1024):
        model = lowland.Autoencoder(2, epochs=1, batch_size=batch, device=device)
        planned = lowland.plan(model, X)
        start = time.perf_counter()
        told = model.fit(X).fit_info_
        print(
            f"{n} × 50, one epoch, batches of {batch}: {time.perf_counter() - start:.1f} s "
            f"(training {told.seconds['training']:.1f}), {(told.peak_bytes or 0) / 1e6:.0f} MB "
            f"({planned.bytes / 1e6:.0f} planned)",
            flush=True,
        )


def main() -> None:
    """Compare on digits and USPS, check the linear case, time one epoch."""
    parts = ("digits", "usps", "linear", "epoch")
    parser = argparse.ArgumentParser(prog="benchmarks.reconstruction", description="Compare the autoencoder with PCA.")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(parts)} (default: all)")
    parser.add_argument("--usps", type=Path, default=USPS, help="npz with X_train and X_test")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the timed epoch")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    given = parser.parse_args()
    if unknown := set(given.parts) - set(parts):
        parser.error(f"no part is called {unknown.pop()!r}; there are {', '.join(parts)}")
    wanted = given.parts or parts
    X = lowland.data.digits()[0].astype(np.float64)
    order = np.random.default_rng(0).permutation(len(X))
    tables = {"digits": (X[order[:1440]], X[order[1440:]])}
    if given.usps.is_file():
        found = np.load(given.usps)
        tables["usps"] = found["X_train"].astype(np.float64), found["X_test"].astype(np.float64)
    else:
        print(f"USPS is left out: there is no {given.usps.name} where --usps points")
    for title, (rows, new) in tables.items():
        if title in wanted:
            compare(title, rows, new, given.device)
    if "linear" in wanted:
        print(f"\nlinear, largest angle to PCA\n{'numbers':<10}{2:>12}{8:>12}{16:>12}")
        for title, (rows, _) in tables.items():
            linear(title, rows, given.device)
    if "epoch" in wanted:
        print()
        epoch(given.rows, given.device)


if __name__ == "__main__":
    main()
