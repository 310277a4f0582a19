"""Networks that squeeze rows and rebuild them: trained in torch, run in any array library.

Both ways, x to y and y back to x̂, are a `Coder`: a straight path and a bent one beside it,

    C(x) = S x + c + W_L h_{L−1},   h_i = φ(W_i h_{i−1} + b_i),   h_0 = x.

The straight paths begin as principal components and the last W at zero, so that training sets out from PCA and adds
what PCA cannot bend. Weights are trained by AdamW (Loshchilov, Hutter 2019); its steps shrink along half a cosine to
zero, so that a training ends at rest and not at a random place around its goal.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core import arrays
from ...core.errors import MissingExtraError, SolveError
from ...core.message import Message, Owner, Setting, message
from ...core.settings import report_progress
from .training_batches import Samples, Tell

Array = Any
Tensor = Any

ACTIVATIONS = ("silu", "relu", "tanh")
_VALUES_AT_ONCE = 1 << 18  # values of a layer held at once where nothing is learned: they stay in the cache
_FIRST_WEIGHTS = (
    0.3  # first weights, times the root of their number: 5–17 % less was lost of digits than with the usual √2
)
_WARM = 50  # steps over which the step size grows to its full length: AdamW knows no scales at first
_REPORT = 32  # steps between reports
_training = threading.RLock()  # threads and precision of torch are the process's


class Coder(NamedTuple):
    """One way of a network: straight path S, bias c, and the weights and biases of the layers beside it."""

    straight: Array
    bias: Array
    weights: tuple[Array, ...] = ()
    biases: tuple[Array, ...] = ()

    def arrays(self) -> list[Array]:
        """List all weights and biases."""
        return [self.straight, self.bias, *self.weights, *self.biases]

    def each(self, change: Callable[[Array], Array]) -> Coder:
        """Return a coder of changed arrays."""
        weights, biases = tuple(map(change, self.weights)), tuple(map(change, self.biases))
        return Coder(change(self.straight), change(self.bias), weights, biases)


def coder(straight: Array, hidden: tuple[int, ...], rng: np.random.Generator) -> Coder:
    """Return a coder that is only straight so far: its last weights are zero, those before are small."""
    out, into = straight.shape
    widths = (into, *hidden)
    weights = [rng.standard_normal((b, a)) * (_FIRST_WEIGHTS / math.sqrt(a)) for a, b in itertools.pairwise(widths)]
    last = [np.zeros((out, hidden[-1]))] if hidden else []
    return Coder(straight, np.zeros(out), (*weights, *last), tuple(np.zeros(width) for width in hidden))


def _bend(x: Array, activation: str) -> Array:
    """Apply φ: silu is x/(1 + e⁻ˣ), written without an exponential that could overflow."""
    xp = arrays.namespace(x)
    if activation == "silu":
        return x * (0.5 + 0.5 * xp.tanh(0.5 * x))
    return xp.tanh(x) if activation == "tanh" else xp.where(x > 0, x, 0.0 * x)


def forward(way: Coder, x: Array, activation: str) -> Array:
    """Return C(x) of each row in float64, in the rows' array library: torch is not needed for rows of NumPy.

    >>> forward(Coder(np.eye(2), np.ones(2)), np.array([[1.0, 2.0]]), "silu").tolist()
    [[2.0, 3.0]]
    """
    way = way.each(lambda value: arrays.like(value, x, np.float64))
    out, h = x @ way.straight.T + way.bias, x
    for W, b in zip(way.weights, way.biases, strict=False):
        h = _bend(h @ W.T + b, activation)
    return out + h @ way.weights[-1].T if way.weights else out


def turned(encoder: Coder, decoder: Coder, center: Array, R: Array) -> tuple[Coder, Coder]:
    """Return the same network with y′ = R(y − center) between its two ways, R being orthogonal."""
    first = Coder(
        R @ encoder.straight,
        R @ (encoder.bias - center),
        tuple(R @ W if i == len(encoder.weights) - 1 else W for i, W in enumerate(encoder.weights)),
        encoder.biases,
    )
    second = Coder(
        decoder.straight @ R.T,
        decoder.bias + decoder.straight @ center,
        tuple(W if i else W @ R.T for i, W in enumerate(decoder.weights)),
        tuple(b if i else b + decoder.weights[0] @ center for i, b in enumerate(decoder.biases)),
    )
    return first, second


def chunk_bytes(n: int, widest: int) -> int:
    """Return the memory of the layers where nothing is learned."""
    return 12 * min(n, _chunk(widest)) * widest


def _chunk(widest: int) -> int:
    return max(256, _VALUES_AT_ONCE // widest)


# -- training -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Schedule:
    """How long and how boldly to train."""

    epochs: int
    batch: int
    rate: float
    decay: float
    patience: int

    def step_size(self, step: int, total: int) -> float:
        """Return the length of a step: a short rise, then half a cosine down to zero."""
        return self.rate * min(1.0, (step + 1) / _WARM) * 0.5 * (1 + math.cos(math.pi * step / total))


@dataclass(frozen=True)
class Trained:
    """A trained network, and its mean squared error before training and after each epoch (held-out rows, if any)."""

    encoder: Coder
    decoder: Coder
    losses: Array
    held: Array
    best: int
    steps: int


def require_torch(owner: str) -> Any:
    """Return torch, or say how to install it."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(
            f'{owner} needs torch, which cannot be imported ({error}): pip install "lowland[torch]"'
        ) from None
    return torch


def require_device(torch: Any, device: str, owner: str) -> None:
    """Refuse a GPU that is not there."""
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            Message(
                Owner(owner),
                Setting("device", "cuda"),
                f" needs a GPU and a torch built for it; torch {torch.__version__} finds none here. Use ",
                Setting("device", "cpu"),
                ", or install torch for your version of CUDA",
            )
        )


@contextmanager
def steady(torch: Any) -> Iterator[None]:
    """Keep torch to one thread and full float32 inside: its sums then depend neither on the machine nor on settings.

    Both are the process's, so trainings go one after another.
    """
    with _training:
        threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
        torch.set_num_threads(1)
        torch.set_float32_matmul_precision("highest")
        try:
            with torch.inference_mode(False), torch.enable_grad():
                yield
        finally:
            torch.set_num_threads(threads)
            torch.set_float32_matmul_precision(precision)


class Network:
    """Encoder and decoder as tensors that learn."""

    def __init__(self, encoder: Coder, decoder: Coder, activation: str, torch: Any, device: str) -> None:
        self._torch = torch
        self._function = torch.nn.functional
        self._bend = {"silu": self._function.silu, "relu": torch.relu, "tanh": torch.tanh}[activation]

        def tensor(value: Array) -> Tensor:
            return torch.tensor(value, dtype=torch.float32, device=device).requires_grad_()

        self.encoder, self.decoder = encoder.each(tensor), decoder.each(tensor)
        self.tensors = [*self.encoder.arrays(), *self.decoder.arrays()]

    def loss(self, x: Tensor) -> Tensor:
        """Return the mean squared error of the rebuilt rows."""
        return self._function.mse_loss(self._run(self.decoder, self._run(self.encoder, x)), x)

    def _run(self, way: Coder, x: Tensor) -> Tensor:
        linear, h = self._function.linear, x
        out = linear(x, way.straight, way.bias)
        for W, b in zip(way.weights, way.biases, strict=False):
            h = self._bend(linear(h, W, b))
        return out + linear(h, way.weights[-1]) if way.weights else out

    def error(self, rows: Tensor, tell: Tell) -> float:
        """Return the mean squared error of many rows, and call ``tell`` after a few of them at a time."""
        total = 0.0
        for y, error in self.look(rows):
            total += error * len(y)
            tell()
        return total / len(rows)

    def look(self, rows: Tensor) -> Iterator[tuple[Tensor, float]]:
        """Yield y and the mean squared error of a few rows at a time: what the layers make of them stays small."""
        widest = max(max(value.shape) for value in self.tensors)
        with self._torch.no_grad():
            for x in rows.split(_chunk(widest)):
                y = self._run(self.encoder, x)
                yield y, float(self._function.mse_loss(self._run(self.decoder, y), x))

    def copy(self) -> list[Tensor]:
        """Return a copy of all weights."""
        return [value.detach().clone() for value in self.tensors]

    def restore(self, values: list[Tensor]) -> None:
        """Take weights back."""
        with self._torch.no_grad():
            for mine, value in zip(self.tensors, values, strict=True):
                mine.copy_(value)

    def coders(self) -> tuple[Coder, Coder]:
        """Return both ways as NumPy arrays in float64."""

        def plain(value: Tensor) -> Array:
            return arrays.to_numpy(value).astype(np.float64)

        return self.encoder.each(plain), self.decoder.each(plain)


def train(network: Network, samples: Samples, schedule: Schedule, rng: np.random.Generator) -> Trained:
    """Train until the epochs are over or held-out rows are rebuilt no better for ``patience`` of them.

    The weights of the best epoch for held-out rows are kept; without such rows those of the last.
    """
    held, step = samples.held(), 0
    total = schedule.epochs * samples.steps(schedule.batch)

    def tell() -> None:
        report_progress("training", step, total)

    optimizer = samples.torch.optim.AdamW(network.tensors, lr=schedule.rate, weight_decay=schedule.decay, fused=True)
    losses: list[float] = []
    curve = [network.error(held, tell)] if len(held) else []
    best, kept = 0, network.copy() if len(held) else []
    for epoch in range(1, schedule.epochs + 1):
        seen = samples.torch.zeros((), dtype=samples.torch.float64, device=samples.device)
        for x in samples.batches(schedule.batch, rng, tell):
            optimizer.param_groups[0]["lr"] = schedule.step_size(step, total)
            optimizer.zero_grad()
            loss = network.loss(x)
            loss.backward()
            optimizer.step()
            seen += loss.detach() * len(x)  # stays on the device: a GPU is not made to wait
            step += 1
            if step % _REPORT == 0:
                tell()
        losses.append(_finite(float(seen) / samples.n, epoch, schedule.rate))
        if len(held):
            curve.append(network.error(held, tell))
            if curve[-1] < curve[best]:
                best, kept = epoch, network.copy()
            elif epoch - best >= schedule.patience:
                break
        tell()
    if len(held):
        network.restore(kept)
    return Trained(*network.coders(), np.array(losses), np.array(curve), best if len(held) else len(losses), step)


def _finite(loss: float, epoch: int, rate: float) -> float:
    if not math.isfinite(loss):
        text = f"the training diverged in epoch {epoch}: the loss is {loss}; use less than {{learning_rate}}"
        raise SolveError(message(text, learning_rate=rate))
    return loss


def summary(network: Network, samples: Samples) -> tuple[float, Array, Array]:
    """Return the error of the training rows, and mean and covariance of their y in float64."""
    k, error, done = len(network.encoder.bias), 0.0, 0
    total, squares = np.zeros(k), np.zeros((k, k))

    def tell() -> None:
        report_progress("errors", done, samples.n)

    for window in samples.ordered(tell):
        for y, part in network.look(window):
            Y = arrays.to_numpy(y).astype(np.float64)
            error += part * len(Y)
            total += Y.sum(axis=0)
            squares += Y.T @ Y
            done += len(Y)
            tell()
    center = total / samples.n
    return error / samples.n, center, squares / samples.n - center[:, None] * center
