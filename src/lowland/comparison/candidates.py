"""Which methods are tried on which data, in which order, with which settings."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..contract import registry
from ..core.message import Message, Owner

# Cheap and different first, so that a small budget still gives a useful answer: a linear map, geodesics, the two
# embeddings of neighbours, then the rest by cost. The first table suits rows, the second a square of distances.
_ROWS = (
    *("pca", "isomap", "tsne", "laplacian_eigenmaps", "umap", "ltsa", "kernel_pca", "metric_mds", "diffusion_maps"),
    *("modified_lle", "lle", "hessian_lle", "lpp", "npe", "som", "nonmetric_mds", "autoencoder", "mvu"),
)
_DISTANCES = (
    *("classical_mds", "isomap", "tsne", "laplacian_eigenmaps", "umap", "metric_mds", "nonmetric_mds", "ltsa"),
    *("diffusion_maps", "modified_lle", "lle", "hessian_lle", "mvu"),
)
ORDER = {
    "rows": _ROWS,
    "sparse": ("truncated_svd", "isomap", "pca", *_ROWS[2:]),
    "distances": _DISTANCES,
    "categories": ("famd", *_ROWS),
}

# Why a method that could run is not among the automatic ones; by name it always is.
LEFT_OUT = {
    "classical_mds": "on rows it is the same as PCA",
    "probabilistic_pca": "without missing values it finds the plane of PCA",
    "ica": "of few components it is the plane of PCA, turned and scaled",
    "random_projection": "it keeps distances in many dimensions, not in a picture",
    "truncated_svd": "on dense rows it is PCA around the origin instead of the mean",
    "famd": "of numbers alone it is PCA of scaled columns",
}

EXCLUDED = "excluded"  # the kind of what is left out from the start, for no fault of the budget

_STRAIGHT = ("pca", "famd")  # tried under any metric, for principal components are what others are compared with

_SHARED = ("n_components", "random_state")  # parameters that all candidates have alike

# Settings that the search tries beside the default.
_NEIGHBORS = (5, 20, 40)
_PERPLEXITY = (10.0, 50.0, 100.0)
_GAMMA = (0.25, 4.0)  # times the median rule's


@dataclass(frozen=True)
class Candidate:
    """A method with the parameters that are set; the others keep their defaults."""

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "default"  # or "search", "given", EXCLUDED

    @property
    def key(self) -> str:
        """The name under which it is listed.

        >>> Candidate("isomap", {"n_components": 2, "n_neighbors": 20}).key
        'isomap(n_neighbors=20)'
        """
        told = {name: value for name, value in self.parameters.items() if name not in _SHARED}
        if told.get("metric") in ("euclidean", "precomputed"):
            del told["metric"]
        inner = ", ".join(f"{name}={_short(value)}" for name, value in told.items())
        return f"{self.method}({inner})" if inner else self.method

    @property
    def title(self) -> str:
        """The name as text has it.

        >>> Candidate("isomap", {"n_components": 2, "n_neighbors": 20}).title
        'Isomap (n_neighbors=20)'
        """
        known = next((row.title for row in registry.methods() if row.name == self.method), self.method)
        settings = self.key.removeprefix(self.method)
        return f"{known} {settings}" if settings else known

    def build(self) -> Any:
        """Make the unfitted model."""
        return registry.method(self.method).load()(**self.parameters)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def automatic(kind: str) -> tuple[list[str], dict[str, str]]:
    """Return the names of the methods that suit a kind of data, in their order, and why others are left out."""
    ordered, left = [], {}
    known = {row.name: row for row in registry.methods()}
    for name in (*ORDER[kind], *known):
        reason = unsuited(known[name], kind)
        if reason is None and name not in ORDER[kind] and name in LEFT_OUT:
            reason = LEFT_OUT[name]
        if reason is not None:
            left[name] = reason
        elif name not in ordered:
            ordered.append(name)
    return ordered, left


def unsuited(row: registry.Method, kind: str) -> str | None:
    """Say why a method cannot take a kind of data, or None."""
    if kind == "sparse" and "sparse" not in row.abilities:
        return "it does not take sparse rows"
    if kind == "distances" and "distances" not in row.needs:
        return "it needs rows, and these are distances"
    return None


def first_of(
    names: Iterable[str], kind: str, n_components: int, metric: str, random_state: int
) -> tuple[list[Candidate], dict[str, str]]:
    """Return a candidate with default settings for each method, and why a method gives none."""
    made, left = [], {}
    for name in names:
        cls = registry.method(name).load()
        common, reason = _common(name, cls, kind, n_components, metric, random_state)
        if reason is None:
            made.append(Candidate(registry.method(name).name, common))
        else:
            left[registry.method(name).name] = reason
    return made, left


def _common(
    name: str, cls: Any, kind: str, n_components: int, metric: str, random_state: int
) -> tuple[dict[str, Any], str | None]:
    """Return the parameters that all candidates share, as far as a class has them.

    Rows that others compare by "seuclidean" are scaled for methods that can do that. PCA of a table with text is that
    of its columns of numbers, scaled as FAMD scales them.
    """
    has, values = cls._parameters, dict[str, Any]()
    if "n_components" in has:
        values["n_components"] = n_components
    elif n_components != 2 and "grid" in has:
        return values, "its grid has 2 dimensions"
    if "metric" in has:
        values["metric"] = metric
    elif (metric == "seuclidean" and "scale" in has) or (kind == "categories" and name == "pca"):
        values["scale"] = True
    elif metric not in ("euclidean", "precomputed") and name not in _STRAIGHT:
        if metric == "seuclidean":
            return values, "it compares rows by Euclidean distances of the columns as given, not of scaled ones"
        return values, f"it compares rows by Euclidean distances, not by {metric}"
    if "random_state" in has:
        values["random_state"] = random_state
    return values, None


def with_scaled_pca(queue: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates with PCA of scaled columns after PCA: for columns of different units."""
    out: list[Candidate] = []
    for candidate in queue:
        out.append(candidate)
        if candidate.method == "pca" and "scale" not in candidate.parameters:
            out.append(Candidate("pca", {**candidate.parameters, "scale": True}))
    return out


def requested_candidates(
    methods: Sequence[Any], kind: str, n_components: int, metric: str, random_state: int
) -> list[Candidate]:
    """Return the candidates that a user names: methods, (method, parameters) pairs, or models."""
    out: list[Candidate] = []
    for item in methods:
        name, own = _named(item)
        row = registry.method(name)
        reason = unsuited(row, kind) or _coded(row, own, kind)
        if reason is not None:
            raise ValueError(Message(Owner("compare"), f"{row.name} cannot be tried: {reason}"))
        common, reason = _common(row.name, row.load(), kind, n_components, metric, random_state)
        if reason is not None and "metric" not in own:
            raise ValueError(Message(Owner("compare"), f"{row.name} cannot be tried: {reason}"))
        if unknown := sorted(set(own) - set(row.load()._parameters)):
            raise ValueError(Message(Owner("compare"), f"{row.class_name} has no parameter {unknown[0]!r}"))
        for name in _SHARED:
            if own.get(name, common.get(name)) != common.get(name):
                raise ValueError(
                    Message(
                        Owner("compare"),
                        f"{name} is the same for all candidates; {row.name} has {own[name]!r} and the comparison "
                        f"{common.get(name)!r}: give {name}=… to compare itself",
                    )
                )
        special = {name for name in own if name not in _SHARED}
        made = Candidate(row.name, {**common, **own}, "given" if special else "default")
        if made.key in {other.key for other in out}:
            raise ValueError(Message(Owner("compare"), f"{made.key} is given twice"))
        out.append(made)
    if not out:
        raise ValueError(
            Message(Owner("compare"), "methods names no method; give 'auto' or names such as ['pca', 'isomap']")
        )
    return out


def _coded(row: registry.Method, own: Mapping[str, Any], kind: str) -> str | None:
    """Say why FAMD cannot have parameters of its own on columns of text, or None."""
    if kind != "categories" or row.name != "famd" or not (special := sorted(set(own) - {*_SHARED})):
        return None
    return f"all candidates get the rows that FAMD codes with its defaults, so it cannot have {special[0]} of its own"


def _named(item: Any) -> tuple[str, dict[str, Any]]:
    """Return the method and the parameters that an item of the user's list means, as the record holds them."""
    if isinstance(item, str):
        return item, {}
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], Mapping):
        name, own = item[0], dict(item[1])
    elif hasattr(item, "get_params") and not isinstance(item, type):
        name, defaults = _method_of(type(item))
        own = {key: v for key, v in item.get_params(deep=False).items() if not _same(v, defaults.get(key))}
    else:
        raise ValueError(Message(Owner("compare"), f"a method is a name, (name, parameters) or a model; got {item!r}"))
    plain = {}
    for key, value in own.items():
        single = hasattr(value, "item") and not hasattr(value, "__len__")
        try:
            plain[key] = json.loads(json.dumps(value.item() if single else value, allow_nan=False))
        except (TypeError, ValueError):
            raise ValueError(
                Message(
                    Owner("compare"),
                    f"{key} of {name} must be a number, a text or a list of them, for it is sent to another "
                    f"process and kept in the record; got {type(value).__name__}",
                )
            ) from None
    return name, plain


def _method_of(cls: type) -> tuple[str, dict[str, Any]]:
    """Return the method that a model's class is, and its defaults.

    The class itself, or the one that `lowland.register` was given, not one of the same name: scikit-learn's PCA is not
    Lowland's.
    """
    for row in registry.methods():
        if not isinstance(row, registry.PluginMethod) and (
            row.class_name != cls.__name__ or row.module != cls.__module__
        ):
            continue  # no need to load it
        own = row.load()
        if cls in (own, getattr(own, "_wrapped", None)):
            return row.name, {p.name: p.default for p in inspect.signature(own).parameters.values()}
    raise ValueError(
        Message(
            Owner("compare"),
            f"{cls.__module__}.{cls.__qualname__} is not a method of Lowland; lowland.register('name', "
            f"{cls.__name__}) makes it one",
        )
    )


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(np.all(a == b))


def searched(candidate: Candidate, n_rows: int, learned: Mapping[str, Any]) -> list[Candidate]:
    """Return the other settings of a method that ran with its defaults.

    Neighbours of 5, 20 and 40, perplexities of 10, 50 and 100, and for kernels a gamma of a quarter and four times what
    the median of distances gave.
    """
    if candidate.kind != "default":
        return []
    has = registry.method(candidate.method).load()._parameters
    values: dict[str, Sequence[Any]] = {}
    if "n_neighbors" in has:
        values["n_neighbors"] = [k for k in _NEIGHBORS if 4 * k <= n_rows]
    elif "perplexity" in has:
        values["perplexity"] = [p for p in _PERPLEXITY if 4 * p <= n_rows]
    elif "gamma" in has and learned.get("gamma"):
        values["gamma"] = [factor * float(learned["gamma"]) for factor in _GAMMA]
    return [
        Candidate(candidate.method, {**candidate.parameters, name: value}, "search")
        for name, options in values.items()
        for value in options
    ]
