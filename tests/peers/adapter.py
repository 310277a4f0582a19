"""Lowland's classes under the names of other projects: parameters and attributes are renamed, nothing is computed.

A stand-in has the signature of the class that it replaces; the signature is read, the class never called.
A parameter is passed on, under its own name or another; or left out, where it only chooses how to compute; or has no
counterpart, and then any value but the default raises `NoCounterpart`.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import openTSNE
import openTSNE.sklearn
import sklearn.decomposition
import sklearn.manifold
import sklearn.random_projection
from sklearn.base import BaseEstimator

import lowland
from lowland import quality

LEFT_OUT = object()  # as a value: Lowland's own default is what scikit-learn's default is to it

# These choose how to compute, not what. Lowland chooses by itself.
IGNORED = {
    *("algorithm", "angle", "batch_size", "compute_inverse_components", "copy", "copy_X", "dense_output"),
    *("eigen_solver", "eigen_tol", "iterated_power", "min_grad_norm", "n_init", "n_iter", "n_iter_without_progress"),
    *("n_jobs", "n_oversamples", "neighbors_algorithm", "path_method", "power_iteration_normalizer", "verbose"),
    "whiten_solver",
}

Parameters = dict[str, Any]


class NoCounterpart(Exception):
    """Lowland has no such parameter. Not a ValueError or TypeError: a test that expects one must not pass by this."""


class Calls:
    """Counts calls of Lowland: a case that makes none says nothing about Lowland."""

    count = 0


@dataclass(frozen=True)
class Names:
    """How Lowland spells one scikit-learn class."""

    target: Callable[[Parameters], type]  # the class, by the parameters, which it may respell
    renamed: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    attributes: Mapping[str, str | Callable[[Any, Any], Any]] = field(default_factory=dict)

    def translated(self, parameters: Parameters, defaults: Mapping[str, Any]) -> tuple[type, Parameters]:
        """Return Lowland's class and its parameters."""
        spelled = dict(parameters)
        target = self.target(spelled)
        accepted = inspect.signature(target).parameters
        out: Parameters = {}
        for name, given in spelled.items():
            value = self.values[name].get(given, given) if name in self.values and _is_plain(given) else given
            if value is LEFT_OUT or name in IGNORED or name in self.ignored:
                continue
            ours = self.renamed.get(name, name)
            if ours in accepted:
                out[ours] = value
            elif value is not defaults.get(name) and not (_is_plain(value) and value == defaults.get(name)):
                raise NoCounterpart(f"{target.__name__} has no {name}")
        return target, out


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


class StandIn(BaseEstimator):
    """Base of the stand-ins: scikit-learn's parameters and, once there is need, Lowland's model."""

    _names: Names
    _defaults: Mapping[str, Any]

    def _model(self, **options: Any) -> Any:
        """Return the model, with the parameters of now."""
        Calls.count += 1
        target, parameters = self._names.translated(self.get_params(deep=False) | options, self._defaults)
        model = self.__dict__.get("model_")
        if model is None:
            renamed = type(type(self).__name__, (target,), {"__module__": __name__})  # get_feature_names_out tells it
            return renamed(**parameters)
        return model.set_params(**parameters)

    def _fresh(self, **options: Any) -> Any:
        self._forget()
        self.model_ = self._model(**options)
        return self.model_

    def _forget(self, kept: str = "") -> None:
        for name in [name for name in self.__dict__ if name[-1] == "_" and name != kept]:
            del self.__dict__[name]

    def _show_learned(self) -> None:
        """Set what the model learned here too: scikit-learn's checks look at the instance's own attributes."""
        names = [name for name in vars(self.model_) if name[-1] == "_" and name not in self._names.attributes]
        self.__dict__.update({name: getattr(self.model_, name) for name in names})

    def fit(self, X: Any, y: Any = None, **options: Any) -> Any:
        self._fresh(**options).fit(X, y)
        self._show_learned()
        return self

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        out = self._fresh(**options).fit_transform(X, y)
        self._show_learned()
        return out

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        self._forget(kept="model_")
        self.model_ = self._model()
        self.model_.partial_fit(X, y)
        return self

    def transform(self, X: Any) -> Any:
        return self._model().transform(X)

    def inverse_transform(self, X: Any) -> Any:
        return self._model().inverse_transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        return self._model().get_feature_names_out(input_features)

    def __sklearn_tags__(self) -> Any:
        return self._model().__sklearn_tags__()

    def __getattr__(self, name: str) -> Any:
        model = self.__dict__.get("model_")
        if model is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        ours = self._names.attributes.get(name, name)
        return getattr(model, ours) if isinstance(ours, str) else ours(self, model)


def stand_in(original: type, names: Names) -> type:
    """Return a class with the name and the signature of a scikit-learn class that runs Lowland."""
    signature = inspect.signature(original.__init__)  # type: ignore[misc]
    own = inspect.Signature([p for p in signature.parameters.values() if p.name != "self"])

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        Calls.count += 1
        bound = own.bind(*args, **options)
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    defaults = {p.name: p.default for p in own.parameters.values()}
    body = {"__init__": __init__, "__module__": __name__, "_names": names, "_defaults": defaults}
    return type(original.__name__, (StandIn,), body)


# -- spelling ---------------------------------------------------------------------------------------------

_SOLVERS = {"full": "svd", "covariance_eigh": "covariance", "arpack": "krylov", "randomized": "krylov"}
_LLE = {"standard": lowland.LLE, "hessian": lowland.HessianLLE, "modified": lowland.ModifiedLLE, "ltsa": lowland.LTSA}
_MINKOWSKI = {1: "cityblock", 2: "euclidean"}


def always(target: type) -> Callable[[Parameters], type]:
    """Return the same class for any parameters."""
    return lambda parameters: target


def with_metric(target: type) -> Callable[[Parameters], type]:
    """Return the same class; Minkowski distances get the names that they have in SciPy."""

    def respell(parameters: Parameters) -> type:
        options = dict(parameters.get("metric_params") or {})
        power = options.pop("p", parameters.pop("p", 2))
        if parameters["metric"] == "minkowski" and power in _MINKOWSKI:
            parameters["metric"] = _MINKOWSKI[power]
            parameters["metric_params"] = options or None
        elif isinstance(parameters["metric"], str) and parameters["metric"] == "manhattan":
            parameters["metric"] = "cityblock"
        return target

    return respell


def projection(kind: str) -> Callable[[Parameters], type]:
    """Return the class of random projections; scikit-learn has one for each kind."""

    def respell(parameters: Parameters) -> type:
        parameters["kind"] = kind
        return lowland.RandomProjection

    return respell


def scaling(parameters: Parameters) -> type:
    """Return metric or non-metric scaling; scikit-learn has one class for both."""
    if parameters["dissimilarity"] != "deprecated" or isinstance(parameters["metric"], bool):
        raise NoCounterpart("a spelling that scikit-learn has deprecated")
    return lowland.MetricMDS if parameters["metric_mds"] else lowland.NonmetricMDS


def spectral(parameters: Parameters) -> type:
    """Return Laplacian eigenmaps; scikit-learn's neighbour graph has no lengths, and a width is γ = 1/(2σ²)."""
    gamma = parameters.pop("gamma")
    if parameters["affinity"] == "rbf" and gamma is not None:
        parameters["bandwidth"] = (2 * gamma) ** -0.5
    if isinstance(parameters["affinity"], str) and parameters["affinity"].endswith("nearest_neighbors"):
        distances = parameters.pop("affinity").startswith("precomputed")
        parameters |= {"weights": "binary", **({"metric": "precomputed"} if distances else {})}
    return lowland.LaplacianEigenmaps


def stress(peer: Any, model: Any) -> Any:
    """Return raw stress or stress-1, as `normalized_stress` says."""
    wanted = peer.normalized_stress
    return model.raw_stress_ if wanted is False or (wanted == "auto" and peer.metric_mds) else model.stress_


def evidence(name: str) -> Callable[[Any, Any], Any]:
    """Return what reads an entry of `fit_info_`."""
    return lambda peer, model: model.fit_info_.evidence[name]


CLASSES: dict[str, Names] = {
    "PCA": Names(
        always(lowland.PCA), renamed={"svd_solver": "solver"}, values={"svd_solver": _SOLVERS}, ignored=("tol",)
    ),
    "IncrementalPCA": Names(always(lowland.PCA), attributes={"n_samples_seen_": "n_samples_"}),
    "KernelPCA": Names(
        always(lowland.KernelPCA),
        renamed={"fit_inverse_transform": "preimage"},
        values={"fit_inverse_transform": {True: "auto", False: None}, "gamma": {None: LEFT_OUT}},
        ignored=("alpha", "max_iter", "remove_zero_eig", "tol"),
    ),
    "TruncatedSVD": Names(always(lowland.TruncatedSVD), ignored=("tol",)),
    "FastICA": Names(always(lowland.ICA), renamed={"fun": "contrast"}),
    "Isomap": Names(with_metric(lowland.Isomap), ignored=("max_iter", "tol")),
    "LocallyLinearEmbedding": Names(
        lambda parameters: _LLE[parameters["method"]],
        ignored=("hessian_tol", "max_iter", "method", "modified_tol", "tol"),
    ),
    "MDS": Names(
        scaling,
        renamed={"eps": "tol"},
        values={"init": {"classical_mds": "classical", "warn": "random"}},
        ignored=("dissimilarity", "metric_mds", "normalized_stress"),
        attributes={"stress_": stress},
    ),
    "ClassicalMDS": Names(with_metric(lowland.ClassicalMDS)),
    "SpectralEmbedding": Names(spectral, values={"n_neighbors": {None: LEFT_OUT}}),
    "TSNE": Names(
        with_metric(lowland.TSNE), ignored=("method",), attributes={"kl_divergence_": evidence("KL divergence")}
    ),
    "GaussianRandomProjection": Names(projection("gaussian")),
    "SparseRandomProjection": Names(projection("sparse"), values={"density": {"auto": LEFT_OUT}}),
}


def _original(name: str) -> type:
    homes = (sklearn.decomposition, sklearn.manifold, sklearn.random_projection)
    return next(vars(home)[name] for home in homes if name in vars(home))


REPLACED: dict[str, Any] = {name: stand_in(_original(name), names) for name, names in CLASSES.items()}


# -- functions of scikit-learn that Lowland has as classes or in `quality` ---------------------------------


def fastica(X: Any, n_components: Any = None, **options: Any) -> tuple[Any, ...]:
    """Whitening, rotation, sources; then mean and iterations, where asked for."""
    mean, steps = options.pop("return_X_mean", False), options.pop("return_n_iter", False)
    peer = REPLACED["FastICA"](n_components, **options)
    sources = peer.fit_transform(X)
    out = (peer.whitening_ if peer.whiten else None, peer.rotation_, sources)
    return out + ((peer.mean_,) if mean else ()) + ((peer.n_iter_,) if steps else ())


def smacof(dissimilarities: Any, *, metric: bool = True, init: Any = None, **options: Any) -> tuple[Any, ...]:
    """Points and stress; then iterations, where asked for."""
    steps = options.pop("return_n_iter", False)
    start = "random" if init is None else init
    peer = REPLACED["MDS"](metric="precomputed", metric_mds=metric, init=start, **options)
    points = peer.fit_transform(dissimilarities)
    return (points, peer.stress_) + ((peer.n_iter_,) if steps else ())


def spectral_embedding(adjacency: Any, *, n_components: int = 8, **options: Any) -> Any:
    """Points of a graph whose weights are given."""
    if not (options.pop("norm_laplacian", True) and options.pop("drop_first", True)):
        raise NoCounterpart("Laplacian eigenmaps solve L y = λ D y and leave out the constant")
    return REPLACED["SpectralEmbedding"](n_components, affinity="precomputed", **options).fit_transform(adjacency)


def locally_linear_embedding(X: Any, **options: Any) -> tuple[Any, ...]:
    """Points and reconstruction error."""
    peer = REPLACED["LocallyLinearEmbedding"](**options).fit(X)
    return peer.embedding_, peer.reconstruction_error_


def trustworthiness(X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: str = "euclidean") -> Any:
    """Share of neighbours on the map that are neighbours in the data."""
    Calls.count += 1
    return quality.trustworthiness(X, X_embedded, n_neighbors, metric=metric)


REPLACED |= {
    function.__name__: function
    for function in (fastica, smacof, spectral_embedding, locally_linear_embedding, trustworthiness)
}


# -- openTSNE ---------------------------------------------------------------------------------------------


class Map(np.ndarray):
    """The points that openTSNE's `fit` returns: they transform new rows, with options that are fixed in Lowland."""

    model: Any

    def transform(self, X: Any, **options: Any) -> Any:
        return self.model.transform(X)


def steps(parameters: Parameters) -> type:
    """Return t-SNE; openTSNE counts the steps of its two phases apart."""
    parameters["max_iter"] = parameters.pop("early_exaggeration_iter") + parameters.pop("n_iter")
    return lowland.TSNE


OPENTSNE = Names(
    steps,
    renamed={"initialization": "init"},
    values={"early_exaggeration": {"auto": LEFT_OUT}, "exaggeration": {None: LEFT_OUT}},
    ignored=(
        *("final_momentum", "initial_momentum", "ints_in_interval", "max_step_norm", "min_num_intervals"),
        *("n_interpolation_points", "negative_gradient_method", "neighbors", "theta"),
    ),
)
OPENTSNE_SKLEARN = stand_in(openTSNE.sklearn.TSNE, OPENTSNE)


class OpenTSNE(stand_in(openTSNE.TSNE, OPENTSNE)):  # type: ignore[misc]
    """openTSNE's own class, whose `fit` returns the points."""

    def fit(self, X: Any = None, **options: Any) -> Any:
        if options:
            raise NoCounterpart(f"fit of TSNE takes no {', '.join(options)}")
        points = super().fit(X).embedding_.view(Map)
        points.model = self
        return points


# -- imports of a test module -----------------------------------------------------------------------------

SCIKIT_LEARN = dict.fromkeys(("sklearn.decomposition", "sklearn.manifold", "sklearn.random_projection"), REPLACED)
OPENTSNE_NAMES = {"openTSNE.sklearn": {"TSNE": OPENTSNE_SKLEARN}, "openTSNE": {"TSNE": OpenTSNE}}


class Renamed:
    """A module in which some names are ours; ``tables`` has the names of each package."""

    def __init__(self, module: ModuleType, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self._module, self._tables = module, tables

    def __getattr__(self, name: str) -> Any:
        own = next((table for package, table in self._tables.items() if self._module.__name__.startswith(package)), {})
        if name in own:
            return own[name]
        value = getattr(self._module, name)
        return Renamed(value, self._tables) if isinstance(value, ModuleType) else value


def importer(tables: Mapping[str, Mapping[str, Any]]) -> Callable[..., Any]:
    """Return what stands for the built-in `__import__` in a test module."""
    projects = {package.partition(".")[0] for package in tables}

    def import_renamed(name: str, *args: Any) -> Any:
        module = builtins.__import__(name, *args)
        return Renamed(module, tables) if module.__name__.partition(".")[0] in projects else module

    return import_renamed
