"""Pipelines of steps and methods."""

from __future__ import annotations

from typing import Any


def preprocessing(model: Any) -> tuple[Any, Any]:
    """Split a Pipeline into its preprocessing, or None, and the rest, which begins with the first method.

    The preprocessing ends in the space in which a map is judged: numbers, filled, encoded and scaled. Methods before
    the last one (``pre``) belong to the rest, because they lose something that the map should be judged by.

    >>> import lowland
    >>> model = lowland.recipe(lowland.Isomap(), scale="standard", pre="pca:50")
    >>> head, rest = preprocessing(model)
    >>> [name for name, _ in head.steps], [name for name, _ in rest.steps]
    (['columns', 'dates', 'scale'], ['pre', 'method'])
    """
    from ...contract.reducer import Reducer

    steps = getattr(model, "steps", None)
    if steps is None:
        return None, model
    first = next((i for i, (_, step) in enumerate(steps) if isinstance(step, Reducer)), len(steps) - 1)
    if first == 0:
        return None, model
    return model[:first], model[first:] if first < len(steps) - 1 else model[first]


def split_at_method(model: Any) -> tuple[Any, Any, Any]:
    """Split a model into the steps before its method, the method, and the `AlignMap` after it; None for those missing.

    >>> import lowland
    >>> head, method, after = split_at_method(lowland.recipe(lowland.PCA(2), scale="standard"))
    >>> [name for name, _ in head.steps], type(method).__name__, after
    (['columns', 'dates', 'scale'], 'PCA', None)
    """
    from .align_map import AlignMap

    steps = getattr(model, "steps", None)
    if steps is None:
        return None, model, None
    aligned = len(steps) > 1 and isinstance(steps[-1][1], AlignMap)
    last = len(steps) - 1 - aligned
    return (model[:last] if last else None), steps[last][1], (steps[-1][1] if aligned else None)
