"""PCA of rows that arrive in batches: their sums are kept, and solved when a result is first read."""

from __future__ import annotations

import warnings
from typing import Any

from ...contract.parameters import check
from ...contract.reducer import Recorder
from ...core.cost import check_allocation
from ...core.errors import LowlandWarning
from ...core.message import message
from ...core.random import seed
from ...rows.moments import Moments, RFactor
from ...rows.units import fit_view, scaled
from ...spectral import rowspace
from ...spectral.solved import Scaling
from . import gaussian_model


def results(model: Any) -> tuple[str, ...]:
    """Return the learned attributes that are solved from the sums; a summary of the rows is not."""
    return (*(name for name in model._state if name not in ("accumulator_", "row_tails_")), "fit_info_")


def result(model: Any, name: str) -> Any:
    """Return a learned attribute that is not solved yet, after solving; AttributeError for others."""
    if "accumulator_" in vars(model) and name in results(model):
        solve(model)
        return getattr(model, name)
    if name == "noise_variance_" and "total_variance_" in vars(model):  # an older version saved the model without it
        return gaussian_model.noise_of_spectrum(model)
    raise AttributeError(f"{type(model).__name__!r} object has no attribute {name!r}")


def add_rows(model: Any, X: Any, sample_weight: Any) -> None:
    """Add rows to the sums and drop the results of earlier ones."""
    first = "accumulator_" not in vars(model)
    if first:
        _check(model)
        model._forget()
    rows = model._rows(X, reset=first).weighted(sample_weight)
    if first:
        d = rows.n_features
        check_allocation(
            2 * 8 * d * d,
            f"exact partial_fit on {d} columns",
            message("use fit with {solver}, or fewer columns", solver="krylov"),
        )
        model.accumulator_ = RFactor(d) if model.solver == "svd" else Moments(d, precise=True)
        model._keep_unit(model._exponent_of(rows))
    try:
        model.accumulator_.update(scaled(rows, -vars(model).get("exponent_", 0)))
    except BaseException:
        if first:
            model._forget()
        raise
    for name in results(model):
        model.__dict__.pop(name, None)


def _check(model: Any) -> None:
    """Check the parameters before the first rows, and warn if they would replace the model of a `fit`."""
    if "components_" in vars(model):
        warnings.warn(
            "PCA: fit keeps no sums that partial_fit could add to, so partial_fit starts again with these rows alone; "
            "to add rows later, give the first ones to partial_fit too",
            LowlandWarning,
            stacklevel=4,
        )
    check(type(model).__name__, model._parameters, model.get_params(deep=False))
    if model.solver in ("gram", "krylov"):
        raise ValueError(
            message(
                "PCA: partial_fit keeps sums over rows, which {solver} does not use; "
                "use 'auto', 'covariance', 'svd' or 'power'",
                solver=model.solver,
            )
        )


def solve(model: Any) -> None:
    """Learn from the sums, in the unit of the fit."""
    view = fit_view(model)
    record = Recorder(type(model).__name__)
    with record.stage("solve"):
        space = rowspace.from_accumulator(
            view.accumulator_,
            view._rule(),
            Scaling(view.center, view.scale, view.ddof),
            rng=seed(view.random_state),
            solver="power" if view.solver == "power" else "auto",
        )
    view._learn(space, record, view.accumulator_.dtype)
    view.fit_info_ = record.info(None)
    model.__dict__.update({name: vars(view)[name] for name in results(model)})
