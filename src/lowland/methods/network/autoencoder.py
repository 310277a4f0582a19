"""Autoencoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from ...contract.parameters import RANDOM_STATE, Boolean, Choice, Integer, Integers, Real, Rule
from ...contract.reducer import Recorder, Reducer
from ...core import arrays, settings
from ...core.cost import DataShape, Plan, check_allocation, dense_seconds
from ...core.random import seed
from ...rows.row_source import RowSource, block_rows
from ...rows.units import Units, scaled_back
from ...spectral import dense, rowspace
from ...spectral.rowspace import RowSpace
from ...spectral.solve import sign_of_columns
from ...spectral.solved import ComponentRule, Scaling
from . import network
from .network import ACTIVATIONS, Coder, Network, Schedule
from .training_batches import HELD, Samples, Split, window_rows

Array = Any

_BUFFERS = 24_000_000  # measured beyond what is asked for: work space of its products, memory it keeps for reuse


class Autoencoder(Reducer):
    """Autoencoder: a network that squeezes rows through a few numbers and rebuilds them (Hinton, Salakhutdinov 2006).

    y = A x + f(x),   x̂ = B y + g(y),   least Σ‖x − x̂‖²;   f and g are networks of ``hidden`` layers.

    A and B begin as principal components and f and g at zero: training sets out from PCA. With ``hidden=()`` there is
    neither f nor g, and the optimum spans the principal components (Baldi, Hornik 1989).

    Parameters
    ----------
    n_components : int
        Numbers that a row is squeezed to.
    hidden : tuple of ints
        Widths of the layers on the way to y; the way back has them in reverse. () is linear.
    activation : str
        "silu" (smooth), "relu" (piecewise flat maps) or "tanh".
    epochs : int
        Passes over the rows at most.
    batch_size : int
        Rows in a step at most.
    learning_rate : float
        Length of the longest steps; they shrink to zero over the epochs.
    weight_decay : float
        Pull of all weights towards zero, as AdamW has it.
    validation : float
        Share of the rows that are held out, at most 50,000 rows: not learned from, but asked when to stop. With 0 all
        rows are learned from, for all epochs.
    patience : int
        Epochs without a better result for held-out rows after which training ends; the best weights are kept.
    scale : bool
        Divide each column by its standard deviation.
    init : str
        A and B at the start: "pca" or "random".
    device : str
        "cpu" or "cuda". Only on the same kind of device are results the same to the bit.
    random_state : int, generator or None
        Draws held-out rows, weights and the order of rows; None is seed 0.

    Attributes
    ----------
    encoder_, decoder_ : dict
        Both ways: "straight" and "bias" of the linear path, "weights" and "biases" of the layers.
    mean_, scale_ : array (D,)
        What is subtracted from rows, and what they are then divided by.
    loss_curve_ : array (epochs,)
        Error of the training rows during each epoch, as a share of the variance.
    validation_curve_ : array (epochs + 1,)
        Error of the held-out rows, before training and after each epoch; empty without such rows.
    best_epoch_, n_iter_, n_components_, n_samples_ : int
        Epoch whose weights are kept (0: the start), epochs run, numbers in y, rows seen.
    activation_ : str
        That of the fit.
    fit_info_ : FitInfo
        What was run; ``evidence`` has the errors, and those of PCA beside them.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> t = np.linspace(0, 3, 600)
    >>> X = np.column_stack([np.cos(t), np.sin(t), t])
    >>> model = lowland.Autoencoder(1, hidden=(32,), epochs=60, batch_size=32).fit(X)
    >>> told = model.fit_info_.evidence
    >>> told["error, held-out rows"] < 0.2 * told["error of PCA, held-out rows"]
    True
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "hidden": Integers(1),
        "activation": Choice(ACTIVATIONS),
        "epochs": Integer(1),
        "batch_size": Integer(1),
        "learning_rate": Real(0),
        "weight_decay": Real(0, 1, closed=True),
        "validation": Real(0, 0.5, closed=True),
        "patience": Integer(1),
        "scale": Boolean(),
        "init": Choice(("pca", "random")),
        "device": Choice(("cpu", "cuda")),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {"mean_": 1, "scale_": 1, "inverse_transform": 1}

    _reads_again: ClassVar[bool] = True

    encoder_: dict[str, Any]
    decoder_: dict[str, Any]
    mean_: Array
    scale_: Array
    loss_curve_: Array
    validation_curve_: Array
    best_epoch_: int
    n_iter_: int
    n_samples_: int
    activation_: str

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden: tuple[int, ...] = (256, 64),
        activation: str = "silu",
        epochs: int = 100,
        batch_size: int = 128,
        learning_rate: float = 2e-3,
        weight_decay: float = 0.01,
        validation: float = 0.1,
        patience: int = 10,
        scale: bool = False,
        init: str = "pca",
        device: str = "cpu",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.activation = activation
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation = validation
        self.patience = patience
        self.scale = scale
        self.init = init
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn both ways from the rows of X."""
        network.require_torch("Autoencoder")  # here, so that its own memory is not taken for the fit's
        return self._run_fit(X)

    def _count(self, n: int, d: int) -> int:
        """Return how many principal components there can be."""
        return min(int(self.n_components), n, d)

    def _plan(self, shape: DataShape) -> Plan:
        n, d, k = shape.n_rows or 1, shape.n_features, int(self.n_components)
        widths = (d, *self.hidden, k)
        weights = 2 * (d * k + sum((a + 1) * b for a, b in pairwise(widths)))
        held = self._held_share(n) * n
        window = window_rows(d)
        wanted = ComponentRule(count=self._count(n, d))
        axes, seconds = rowspace.cost(rowspace.route(shape, wanted), shape, self._count(n, d))
        parts = {
            "rows in training": 4 * min(n, window) * d,
            "held-out rows": int(4 * held * d),
            "order of rows": 24 * min(n, window) + (8 * n if n > window else 0),
            "weights": 4 * 6 * weights,
            "layers": 4 * 6 * min(n, self.batch_size) * sum(widths) + network.chunk_bytes(n, max(widths)),
            "blocks of rows": 8 * min(settings.threads() + 1, 3) * min(n, block_rows(d)) * d,  # read ahead of training
            "buffers of torch": _BUFFERS,
        }
        first = sum(axes.values())  # principal components are found before training begins
        if first > sum(parts.values()):
            parts = axes
        return Plan.of(
            "Autoencoder",
            "AdamW",
            shape,
            parts,
            seconds=seconds + 0.6 * self.epochs * self._epoch_seconds(n, weights),  # most fits stop before the last
            model_bytes=8 * weights + 16 * d,
            remedy="take narrower hidden layers, or smaller batches",
        )

    def _epoch_seconds(self, n: int, weights: int) -> float:
        """Return rough seconds of an epoch: six operations a weight and row, and what each step costs by itself."""
        one_thread = settings.threads() * dense_seconds(6.0 * weights * n, np.dtype(np.float32))
        return one_thread + n / self.batch_size * 5e-4

    def _held_share(self, n: int) -> float:
        return min(float(self.validation), HELD / n)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        torch, rng, n = network.require_torch("Autoencoder"), seed(self.random_state), rows.count()
        network.require_device(torch, self.device, "Autoencoder")
        with record.stage("principal axes"):
            wanted = ComponentRule(count=self._count(n, rows.n_features))
            space = rowspace.decompose(rows, wanted, Scaling(True, self.scale, 0), rng=rng)
        total, D = space.solved.total, rows.n_features
        columns = 1.0 if space.solved.scale is None else space.solved.scale
        # The overall factor makes the mean variance 1: steps then mean the same in any units, and errors are shares.
        mean, scale = space.solved.mean, columns * np.full(D, np.sqrt(total / (n * D)))
        check_allocation(4 * min(n, window_rows(D)) * D, "the rows in training", "reduce fewer columns")
        split = Split(n, self._held_share(n), int(rng.integers(2**62)))
        schedule = Schedule(self.epochs, self.batch_size, self.learning_rate, self.weight_decay, self.patience)
        with network.steady(torch):
            samples = Samples(rows, split, mean, scale, torch, self.device)
            net = Network(*self._start(space, rng), self.activation, torch, self.device)
            with record.stage("training"):
                trained = network.train(net, samples, schedule, rng)
            with record.stage("errors"):
                error, center, covariance = network.summary(net, samples)
                record.evidence.update(self._errors(error, trained.held, trained.best, samples.held(), space))
        record.note(algorithm="AdamW", solver=f"torch on {self.device}", iterations=trained.steps)
        record.evidence["epochs"] = f"{len(trained.losses)} of {self.epochs}, the weights are those of {trained.best}"
        self._learn(trained, center, covariance)
        self.mean_, self.scale_, self.n_samples_, self.activation_ = mean, scale, n, self.activation

    def _start(self, space: RowSpace, rng: np.random.Generator) -> tuple[Coder, Coder]:
        """Return both ways before training."""
        D, k = len(space.solved.mean), int(self.n_components)
        A = np.zeros((k, D))
        if self.init == "random":
            A[:] = rng.standard_normal((k, D)) / np.sqrt(D)
        else:
            A[: space.directions.shape[1]] = space.directions.T
        hidden = tuple(int(width) for width in self.hidden)
        return network.coder(A, hidden, rng), network.coder(A.T.copy(), hidden[::-1], rng)

    def _errors(self, error: float, curve: Array, best: int, held: Any, space: RowSpace) -> dict[str, float]:
        """Return the shares of the variance that are lost: on training and held-out rows, and by PCA on the same."""
        V = space.directions
        out = {"error, training rows": error}
        if len(held):
            squares = 0.0
            for part in held.split(block_rows(len(V))):
                Z = arrays.to_numpy(part).astype(np.float64)
                squares += float(((Z - (Z @ V) @ V.T) ** 2).sum())
            out["error, held-out rows"] = float(curve[best])
            out["error of PCA, held-out rows"] = squares / (len(held) * len(V))
        out["error of PCA, all rows"] = max(0.0, 1 - float((space.values**2).sum()) / space.solved.total)
        return out

    def _learn(self, trained: network.Trained, center: Array, covariance: Array) -> None:
        """Turn y so that its columns are uncorrelated over the training rows, the widest first, and keep the rest."""
        R = dense.eigh(covariance)[1][:, ::-1].T
        signs = sign_of_columns((R @ trained.encoder.straight).T)
        encoder, decoder = network.turned(trained.encoder, trained.decoder, center, R * signs[:, None])
        self.encoder_, self.decoder_ = encoder._asdict(), decoder._asdict()
        self.loss_curve_, self.validation_curve_ = trained.losses, trained.held
        self.best_epoch_, self.n_iter_, self.n_components_ = trained.best, len(trained.losses), len(R)

    def _row_map(self) -> Callable[[Array], Array]:
        encoder, mean, scale, activation = Coder(**self.encoder_), self.mean_, self.scale_, self.activation_

        def encode(block: Array) -> Array:
            Z = arrays.cast(block, np.float64) - arrays.like(mean, block, np.float64)
            return network.forward(encoder, Z / arrays.like(scale, block, np.float64), activation)

        return encode

    @scaled_back("inverse_transform")
    def inverse_transform(self, X: Any) -> Array:
        """Rebuild rows from y: the second half of the network."""
        source = self._reduced(X)
        decoder, mean, scale, activation = Coder(**self.decoder_), self.mean_, self.scale_, self.activation_

        def decode(block: Array) -> Array:
            Z = network.forward(decoder, arrays.cast(block, np.float64), activation)
            return Z * arrays.like(scale, block, np.float64) + arrays.like(mean, block, np.float64)

        return source.map_blocks(decode, self.n_features_in_)
